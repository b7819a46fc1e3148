"""How pods stand, as workload controllers ask it."""

from __future__ import annotations

from functools import lru_cache

from karpenter.model.core import Pod
from karpenter.model.pods import is_terminal
from karpenter.model.units import UnixSeconds, from_rfc3339


def is_active(pod: Pod) -> bool:
    """Return whether a pod counts as one of a workload's replicas: neither ended nor being deleted."""
    return not is_terminal(pod) and not pod.metadata.is_deleting


def ready_since(pod: Pod) -> UnixSeconds | None:
    """Return since when a pod is ready; None when it is not. One that does not say since when always was."""
    for condition in pod.status.conditions:
        if condition.type == "Ready":
            if condition.status != "True":
                return None
            return _moment(condition.last_transition_time) if condition.last_transition_time else UnixSeconds(0.0)
    return None


@lru_cache(maxsize=4096)
def _moment(text: str) -> UnixSeconds:
    return from_rfc3339(text)


def is_ready(pod: Pod) -> bool:
    """Return whether a pod is ready."""
    return ready_since(pod) is not None


def available_at(pod: Pod, min_ready_s: int) -> UnixSeconds | None:
    """Return from when on a pod counts as available: it has been ready for so long; None while it is not ready."""
    since = ready_since(pod)
    return None if since is None else UnixSeconds(since + min_ready_s)
