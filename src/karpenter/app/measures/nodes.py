"""What each node holds and has to give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from prometheus_client import Gauge

from karpenter.model import labels
from karpenter.model.core import Container, Node, Pod
from karpenter.model.pods import is_daemon, pod_requests
from karpenter.model.resources import CPU, Resources, parse_resources, subtract, total
from karpenter.model.units import UnixSeconds
from karpenter.runtime.instruments import refresh
from karpenter.runtime.metrics import WELL_KNOWN, Metrics, label_name

Series = dict[tuple[str, ...], float]

_KEYS: Final = {label_name(key): key for key in labels.WELL_KNOWN}


class NodeLoad(NamedTuple):
    """A node with the pods that use it."""

    node: Node
    pods: tuple[Pod, ...]
    is_managed: bool


def publish_nodes(loads: Iterable[NodeLoad], metrics: Metrics, now: UnixSeconds) -> None:
    """Set the gauges that have a sample for each node; nodes that are gone lose theirs (MET-2)."""
    families: dict[str, tuple[Gauge, Series]] = {
        "allocatable": (metrics.nodes_allocatable, {}),
        "requests": (metrics.nodes_total_pod_requests, {}),
        "limits": (metrics.nodes_total_pod_limits, {}),
        "daemon requests": (metrics.nodes_total_daemon_requests, {}),
        "daemon limits": (metrics.nodes_total_daemon_limits, {}),
        "overhead": (metrics.nodes_system_overhead, {}),
    }
    ages: Series = {}
    for load in loads:
        where = _labels_of(load)
        for name, amounts in amounts_of(load).items():
            families[name][1].update(
                {(resource, *where): _shown(resource, at) for resource, at in amounts.items() if at}
            )
        created = load.node.metadata.created_at
        if created is not None:
            ages[where] = now - created
    for gauge, series in families.values():
        refresh(gauge, series)
    refresh(metrics.nodes_current_lifetime_seconds, ages)


def publish_utilization(loads: Iterable[NodeLoad], metrics: Metrics) -> None:
    """Set how much of what nodes have is asked for, in percent."""
    listed = list(loads)
    has = total(parse_resources(load.node.status.allocatable) for load in listed)
    asked = total(_requests(pod) for load in listed for pod in load.pods)
    shares = {(name,): 100.0 * asked.get(name, 0) / amount for name, amount in has.items() if amount}
    refresh(metrics.cluster_utilization_percent, shares)


def amounts_of(load: NodeLoad) -> Mapping[str, Resources]:
    """Return the amounts of a node by what they are."""
    allocatable = parse_resources(load.node.status.allocatable)
    daemons = [pod for pod in load.pods if is_daemon(pod)]
    overhead = subtract(parse_resources(load.node.status.capacity), allocatable)
    return {
        "allocatable": allocatable,
        "requests": total(_requests(pod) for pod in load.pods),
        "limits": total(_limits(pod) for pod in load.pods),
        "daemon requests": total(_requests(pod) for pod in daemons),
        "daemon limits": total(_limits(pod) for pod in daemons),
        "overhead": {name: amount for name, amount in overhead.items() if amount > 0},
    }


def _requests(pod: Pod) -> Resources:
    try:
        return pod_requests(pod)
    except ValueError:
        # What is no quantity is refused by the API server; a pod that has one all the same is no reason to show none.
        return {}


def _limits(pod: Pod) -> Resources:
    return total(_limit(container) for container in pod.spec.containers)


def _limit(container: Container) -> Resources:
    try:
        return parse_resources(container.resources.limits)
    except ValueError:
        return {}


def _labels_of(load: NodeLoad) -> tuple[str, ...]:
    given = load.node.metadata.labels
    own = (load.node.metadata.name, "", "true" if load.is_managed else "false")
    return (*own, *(given.get(_KEYS[name], "") for name in WELL_KNOWN))


def _shown(resource: str, amount: int) -> float:
    """Cores instead of millicores, as Kubernetes counts in metrics."""
    return amount / 1000 if resource == CPU else float(amount)
