"""How pods stand, as workload controllers ask it."""

from __future__ import annotations

from karpenter.model.core import Pod
from karpenter.model.meta import find_condition
from karpenter.model.pods import is_terminal
from karpenter.model.units import UnixSeconds


def is_active(pod: Pod) -> bool:
    """Return whether a pod counts as one of a workload's replicas: neither ended nor being deleted."""
    return not is_terminal(pod) and not pod.metadata.is_deleting


def ready_since(pod: Pod) -> UnixSeconds | None:
    """Return since when a pod is ready; None when it is not. One that does not say since when always was."""
    ready = find_condition(pod.status.conditions, "Ready")
    if ready is None or not ready.is_true:
        return None
    return ready.since if ready.since is not None else UnixSeconds(0.0)


def is_ready(pod: Pod) -> bool:
    """Return whether a pod is ready."""
    return ready_since(pod) is not None


def available_at(pod: Pod, min_ready_s: int) -> UnixSeconds | None:
    """Return from when on a pod counts as available: it has been ready for so long; None while it is not ready."""
    since = ready_since(pod)
    return None if since is None else UnixSeconds(since + min_ready_s)
