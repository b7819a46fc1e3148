"""How long a Job waits before it replaces a failed pod: 10 s, doubled with each failure in a row, 10 min at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from karpenter.model.core import Pod
from karpenter.model.meta import find_condition
from karpenter.model.units import UnixSeconds

_FIRST_S, _LONGEST_S = 10.0, 600.0


@dataclass(frozen=True, slots=True)
class Record:
    """The failures since the last success."""

    failures: int = 0
    last: float = 0.0
    """When the last one was, in Unix seconds."""

    def after(self, *, well: Sequence[Pod], badly: Sequence[Pod]) -> Record:
        """Return the record with pods that ended since."""
        successes, failures = [ended_at(pod) for pod in well], [ended_at(pod) for pod in badly]
        before = Record() if successes else self
        later = [moment for moment in failures if not successes or moment > max(successes)]
        return Record(before.failures + len(later), max(later)) if later else before

    def wait_s(self, now: UnixSeconds) -> float:
        """Return how long the next pod has to wait; 0 when it need not."""
        if not self.failures:
            return 0.0
        delay_s = min(_FIRST_S * 2.0 ** (self.failures - 1), _LONGEST_S)
        return max(0.0, self.last + delay_s - now)


def ended_at(pod: Pod) -> UnixSeconds:
    """Return when a pod ended, as far as it says: when it was no longer ready, was told to go, or came to be."""
    ready = find_condition(pod.status.conditions, "Ready")
    if ready is not None and not ready.is_true and ready.since is not None:
        return ready.since
    if pod.metadata.deleted_at is not None:
        return UnixSeconds(pod.metadata.deleted_at - (pod.metadata.deletion_grace_period_seconds or 0))
    return pod.metadata.created_at or UnixSeconds(0.0)
