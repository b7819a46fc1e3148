"""What a pod asks for and which state it is in: pure questions about `core.Pod`.

Source: spec v1alpha5 §2.1, §2.4; spec v1 S-1, S-21, B-4; cases SIDECAR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpenter.model import labels
from karpenter.model.core import Container, Pod, ResourceRequirements
from karpenter.model.meta import find_condition
from karpenter.model.resources import PODS, Resources, add, maximum, parse_resources

CRITICAL_PRIORITY_CLASSES: Final = frozenset({"system-cluster-critical", "system-node-critical"})


def is_terminal(pod: Pod) -> bool:
    """Return whether the pod has run to its end."""
    return pod.status.phase in {"Succeeded", "Failed"}


def is_terminating(pod: Pod) -> bool:
    """Return whether the pod's deletion was requested."""
    return pod.metadata.is_deleting


def is_daemon(pod: Pod) -> bool:
    """Return whether a DaemonSet owns the pod."""
    return pod.metadata.is_owned_by("DaemonSet")


def is_static(pod: Pod) -> bool:
    """Return whether the pod is a mirror of one that the node's kubelet runs by itself."""
    return pod.metadata.is_owned_by("Node")


def is_reschedulable(pod: Pod) -> bool:
    """Return whether the pod has to find another node when its node goes (B-4)."""
    active = not is_terminal(pod) and (not is_terminating(pod) or pod.metadata.is_owned_by("StatefulSet"))
    return active and not is_daemon(pod) and not is_static(pod)


def is_provisionable(pod: Pod) -> bool:
    """Return whether a new node could help the pod: unbound, judged unschedulable, not tied to a node (POD-1)."""
    if pod.spec.node_name or is_terminal(pod) or is_terminating(pod) or is_daemon(pod) or is_static(pod):
        return False
    scheduled = find_condition(pod.status.conditions, "PodScheduled")
    return scheduled is not None and scheduled.reason == "Unschedulable"


def is_do_not_disrupt(pod: Pod) -> bool:
    """Return whether an annotation forbids to move the pod for good; timed protection is judged in `disruption`."""
    annotations = pod.metadata.annotations
    return annotations.get(labels.DO_NOT_EVICT) == "true" or annotations.get(labels.DO_NOT_DISRUPT) == "true"


def _requests(requirements: ResourceRequirements) -> dict[str, int]:
    """Requests, filled from limits where only a limit is given (SCH-10)."""
    return parse_resources({**requirements.limits, **requirements.requests})


def pod_requests(pod: Pod) -> dict[str, int]:
    """Return what the pod needs on a node, `pods: 1` included.

    The largest of: containers plus sidecars, and each ordinary init container beside the sidecars started before it;
    pod overhead is added, pod-level requests replace the sum where set, and while a resize is under way the larger of
    spec and allocated amounts counts (S-21, SIDECAR).

    Raises:
        ValueError: an amount is not a quantity; the message names the resource.
    """
    running: Resources = add(*(_container_requests(pod, container) for container in pod.spec.containers))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in pod.spec.init_containers:
        request = _requests(container.resources)
        if container.restart_policy == "Always":
            sidecars = add(sidecars, request)
            peak = maximum(peak, sidecars)
        else:
            peak = maximum(peak, add(sidecars, request))
    needed = maximum(add(running, sidecars), peak)
    if pod.spec.resources is not None:
        # A limit for the whole pod counts as a request only where no container asks for anything.
        limits, requests = (parse_resources(part) for part in (pod.spec.resources.limits, pod.spec.resources.requests))
        needed = {**limits, **needed, **requests}
    return add(needed, parse_resources(pod.spec.overhead), {PODS: 1})


def _container_requests(pod: Pod, container: Container) -> dict[str, int]:
    request = _requests(container.resources)
    status = next((status for status in pod.status.container_statuses if status.name == container.name), None)
    if status is None or not (status.allocated_resources or status.resources):
        return request
    running = parse_resources(status.resources.requests) if status.resources else {}
    return maximum(request, parse_resources(status.allocated_resources), running)


def host_ports(containers: Sequence[Container]) -> tuple[tuple[str, int, str], ...]:
    """Return (ip, port, protocol) of every host port, with `0.0.0.0` for an unspecified address (SCH-60)."""
    return tuple(
        (port.host_ip or "0.0.0.0", port.host_port, port.protocol or "TCP")  # noqa: S104 - compared, never bound
        for container in containers
        for port in container.ports
        if port.host_port
    )
