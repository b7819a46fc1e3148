"""Keeps the book of consolidation in the cluster, and says on pools when commands did not save what they promised."""

from __future__ import annotations

from typing import Final

from karpenter.disruption.book import Book, read_on, watching
from karpenter.disruption.past import Past
from karpenter.disruption.verdict import Verdict
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.runtime import logs
from karpenter.runtime.events import EventRecorder
from karpenter.scheduling import Policy
from karpenter.scheduling.snapshot import Snapshot
from karpenter.state.memory import Memory
from karpenter.state.refs import pool_ref

KEY: Final = "consolidation"
log = logs.get("disruption")


class Ledger:
    """The book, and where it is kept."""

    def __init__(self, memory: Memory, recorder: EventRecorder, policy: Policy) -> None:
        self._memory = memory
        self._recorder = recorder
        self._policy = policy

    def past(self) -> Past:
        """Return what was moved lately."""
        return self._book.past()

    def judged_next_at(self) -> UnixSeconds | None:
        """Return when to look again for the sake of a promise; None when none waits to be judged."""
        return self._book.judged_next_at()

    def look(self, snapshot: Snapshot) -> None:
        """Take in what the cluster shows of commands."""
        before = self._book
        after = read_on(before, snapshot, self._policy)
        if after != before:
            self._memory.put(KEY, after)
        if after.rests_until is not None and after.rests_until != before.rests_until:
            self._tell(snapshot, UnixSeconds(after.rests_until))

    def watch(self, verdict: Verdict, now: UnixSeconds) -> None:
        """Take in which spot nodes wait for a fallen price to last."""
        before = self._book
        if verdict.outlook is None or not (verdict.watched or before.cheaper_since):
            return
        # Beside commands single nodes were not looked at: those that were watched still are.
        names = {*verdict.watched, *(before.cheaper_since if verdict.commands else ())}
        self._memory.put(KEY, watching(before, sorted(names), now))

    @property
    def _book(self) -> Book:
        return self._memory.get(KEY, Book, Book())

    def _tell(self, snapshot: Snapshot, until: UnixSeconds) -> None:
        churn = self._policy.churn
        log.warning("commands did not save what they promised, nothing is moved for its price", until=until)
        text = (
            f"the last {churn.broken_promises} commands saved less than {churn.kept_share:.0%} of what they promised; "
            f"no node is consolidated until {to_rfc3339(until)}"
        )
        for view in snapshot.pools:
            self._recorder.record(pool_ref(view.pool), "Warning", "ConsolidationResting", text)
