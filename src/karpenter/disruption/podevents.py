"""When pods last came to a node, ended there or began to leave it. Pure. Source: spec v1 L-10."""

from __future__ import annotations

from collections.abc import Iterable

from karpenter.model.core import Pod
from karpenter.model.meta import find_condition
from karpenter.model.pods import is_daemon, is_static, is_terminal
from karpenter.model.units import UnixSeconds


def last_pod_event(pods: Iterable[Pod]) -> UnixSeconds | None:
    """Return the latest moment at which one of the pods was bound, ended, or was asked to leave; None without any.

    It is read off the pods themselves, so that it does not matter who saw them change.
    """
    moments = [moment for pod in pods if not is_daemon(pod) and not is_static(pod) for moment in _moments(pod)]
    return max(moments, default=None)


def _moments(pod: Pod) -> list[UnixSeconds]:
    scheduled = find_condition(pod.status.conditions, "PodScheduled")
    moments = [scheduled.since if scheduled is not None and scheduled.is_true else None]
    if is_terminal(pod):
        # The kubelet says that a finished pod is no longer ready.
        ready = find_condition(pod.status.conditions, "Ready")
        moments.append(ready.since if ready is not None and not ready.is_true else None)
    if pod.metadata.deleted_at is not None:
        grace_s = pod.metadata.deletion_grace_period_seconds or 0
        moments.append(UnixSeconds(pod.metadata.deleted_at - grace_s))
    return [moment for moment in moments if moment is not None]
