"""Whether looking again could find anything new: a decision is a function of the snapshot and the hour. Pure.

A cluster in which nothing happens is the usual one. There the next look would only spend processor time, until one of
the timers ends that the last one met.
"""

from __future__ import annotations

from typing import Final

from karpenter.disruption.expiration import moments
from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.verdict import BlockCode, Verdict
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.snapshot import Snapshot

LONGEST_S: Final = 3600.0
"""Looked again after this long at the latest, whatever anybody thinks can change."""
WINDOW_S: Final = 60.0
"""The same where budgets have windows, which begin and end by the minute."""
_UNTIMED: Final[frozenset[BlockCode]] = frozenset({"Nominated", "BackOff"})
"""Ends by time alone; where such an obstacle does not say when, it is looked at again at the usual pace."""


class Stillness:
    """Remembers what the last look saw."""

    def __init__(self, options: DisruptionOptions) -> None:
        self._options = options
        self._generation = -1
        self._until = UnixSeconds(0.0)

    def left_s(self, generation: int, now: UnixSeconds) -> float:
        """Return for how long a look at this generation of the state would end as the last one did; 0 for not now."""
        return max(0.0, self._until - now) if generation == self._generation else 0.0

    def looked(self, snapshot: Snapshot, verdict: Verdict) -> None:
        """Take in what a look at all methods saw and decided."""
        timeless = all(one.until is not None or one.code not in _UNTIMED for one in verdict.blocked)
        if verdict.commands or snapshot.pending or not timeless:
            self._generation = -1
            return
        self._generation = snapshot.generation
        self._until = self._next_moment(snapshot, verdict)

    def _next_moment(self, snapshot: Snapshot, verdict: Verdict) -> UnixSeconds:
        now = snapshot.taken_at
        has_windows = any(budget.schedule for view in snapshot.pools for budget in view.pool.disruption.budgets)
        ends = [one.until for one in verdict.blocked if one.until is not None]
        ahead = [moment for moment in (*ends, *moments(snapshot, self._options)) if moment > now]
        return min([UnixSeconds(now + (WINDOW_S if has_windows else LONGEST_S)), *ahead])
