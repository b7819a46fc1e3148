"""Which pods of a leaving node are evicted next, and which are deleted because time is up. Pure.

Source: spec v1 §3.2 (T-5, T-6, T-8). Protected pods (do-not-evict, do-not-disrupt) go last instead of holding the node
for ever where the deletion was asked for by someone who may, or the machine is taken away (LIF-35); where we chose to
disrupt the node they stay until its deadline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from karpenter.model.core import Pod
from karpenter.model.pods import CRITICAL_PRIORITY_CLASSES, is_daemon, is_static, is_terminal
from karpenter.model.protection import protection
from karpenter.model.taints import DISRUPTED, untolerated
from karpenter.model.units import UnixSeconds

STUCK_AFTER_S: Final = 60.0
"""A pod this long past its deletion deadline does not hold the drain."""
DEFAULT_GRACE_S: Final = 30


@dataclass(frozen=True, slots=True)
class ForcedDeletion:
    """A pod to delete now, because the node's own deadline leaves it just this much grace."""

    pod: Pod
    grace_s: int


@dataclass(frozen=True, slots=True)
class DrainStep:
    """What the drain does now."""

    evict: tuple[Pod, ...] = ()
    delete: tuple[ForcedDeletion, ...] = ()
    waiting: tuple[Pod, ...] = ()
    """Every pod that still holds the node, those to evict and those already terminating."""

    @property
    def is_done(self) -> bool:
        """Whether nothing holds the node any more."""
        return not self.waiting


def drain_step(
    pods: Sequence[Pod], now: UnixSeconds, *, deadline: UnixSeconds | None = None, keeps_protected: bool = False
) -> DrainStep:
    """Return the next step for the pods on a node.

    `deadline` is when the node goes regardless (terminationGracePeriod); None means that the drain takes its time.
    `keeps_protected` says that protected pods are not evicted at all (T-6).
    """
    holding = tuple(pod for pod in pods if _holds(pod, now))
    evictable = [pod for pod in holding if not pod.metadata.is_deleting]
    first_tier = min((_tier(pod, now) for pod in holding), default=None)
    if keeps_protected:
        evictable = [pod for pod in evictable if protection(pod, now) is None]
    return DrainStep(
        evict=tuple(pod for pod in evictable if _tier(pod, now) == first_tier),
        delete=_overdue(holding, now, deadline),
        waiting=holding,
    )


def is_drained(pod: Pod) -> bool:
    """Return whether a drain waits for the pod: not for finished or static ones, nor for those that stay by choice."""
    return not is_terminal(pod) and not is_static(pod) and bool(untolerated((DISRUPTED,), pod.spec.tolerations))


def _holds(pod: Pod, now: UnixSeconds) -> bool:
    if not is_drained(pod):
        return False
    gone_by = pod.metadata.deleted_at
    return gone_by is None or now <= gone_by + STUCK_AFTER_S


def _tier(pod: Pod, now: UnixSeconds) -> tuple[bool, bool, bool]:
    critical = pod.spec.priority_class_name in CRITICAL_PRIORITY_CLASSES
    return protection(pod, now) is not None, critical, is_daemon(pod)


def _overdue(pods: Sequence[Pod], now: UnixSeconds, deadline: UnixSeconds | None) -> tuple[ForcedDeletion, ...]:
    """Pods whose own grace would not fit before the deadline any more (T-8), with the grace that is left."""
    if deadline is None:
        return ()
    forced = []
    for pod in pods:
        grace_s = pod.spec.termination_grace_period_seconds
        needed_s = DEFAULT_GRACE_S if grace_s is None else grace_s
        already_in_time = pod.metadata.deleted_at is not None and pod.metadata.deleted_at <= deadline
        if now > deadline - needed_s and not already_in_time:
            forced.append(ForcedDeletion(pod, max(int(deadline - now), 1)))
    return tuple(forced)
