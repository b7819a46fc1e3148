"""Where each pod is, and for how long it has waited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karpenter.model import labels
from karpenter.model.core import Node, Pod
from karpenter.model.meta import find_condition
from karpenter.model.pods import is_terminal
from karpenter.model.units import UnixSeconds
from karpenter.runtime.instruments import refresh
from karpenter.runtime.metrics import Metrics


def publish_pods(pods: Iterable[Pod], nodes: Mapping[str, Node], metrics: Metrics, *, now: UnixSeconds) -> None:
    """Set the gauges that have a sample for each pod, and drop those of pods that are gone."""
    states: dict[tuple[str, ...], float] = {}
    unbound: dict[tuple[str, ...], float] = {}
    unstarted: dict[tuple[str, ...], float] = {}
    for pod in pods:
        states[_state(pod, nodes.get(pod.spec.node_name))] = 1.0
        created, name = pod.metadata.created_at, (pod.metadata.name, pod.metadata.namespace)
        if created is None or is_terminal(pod):
            continue
        if not pod.spec.node_name:
            unbound[name] = now - created
        if pod.status.phase != "Running":
            unstarted[name] = now - created
    refresh(metrics.pods_state, states)
    refresh(metrics.pods_unbound_time_seconds, unbound)
    refresh(metrics.pods_unstarted_time_seconds, unstarted)


def _state(pod: Pod, node: Node | None) -> tuple[str, ...]:
    """The label values of `karpenter_pods_state`, in its order."""
    of_node = node.metadata.labels if node else {}
    owner = pod.metadata.controller()
    pool = of_node.get(labels.NODEPOOL) or of_node.get(labels.PROVISIONER, "")
    return (
        pod.metadata.name,
        pod.metadata.namespace,
        f"{owner.kind}/{owner.name}" if owner else "",
        pod.spec.node_name,
        pool,
        of_node.get(labels.ZONE, ""),
        of_node.get(labels.ARCH, ""),
        of_node.get(labels.CAPACITY_TYPE, ""),
        of_node.get(labels.INSTANCE_TYPE, ""),
        pod.status.phase,
        _truth(pod, "PodScheduled"),
        _truth(pod, "Ready"),
        "true" if pool else "false",
    )


def _truth(pod: Pod, condition: str) -> str:
    found = find_condition(pod.status.conditions, condition)
    return "true" if found is not None and found.is_true else "false"
