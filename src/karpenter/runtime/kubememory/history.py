"""What changed lately, for watches: bounded, so that a watcher that falls behind has to list again."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final, Literal

from karpenter.runtime.kube import Gone
from karpenter.runtime.kubememory.records import Record
from karpenter.runtime.kubememory.selectors import Selection

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
KEPT: Final = 4096
"""Changes of one kind that are kept at least; twice as many at most."""


@dataclass(frozen=True, slots=True)
class Change:
    """One write: the object before (None when new) and after. After a deletion, `after` is its last state."""

    type: ChangeType
    before: Record | None
    after: Record

    @property
    def revision(self) -> int:
        """The version of the whole store that this write made."""
        return self.after.revision

    def seen_by(self, selection: Selection) -> tuple[ChangeType, Record] | None:
        """Return what a watcher with a selection sees: an object may enter or leave it. None when nothing."""
        had = self.before is not None and selection.matches(self.before)
        has = self.type != "DELETED" and selection.matches(self.after)
        if has:
            return ("MODIFIED" if had else "ADDED"), self.after
        if had:
            assert self.before is not None
            return "DELETED", (self.after if self.type == "DELETED" else self.before.at(self.revision))
        return None


class History:
    """The changes of one kind and those who wait for the next one."""

    def __init__(self, floor: int) -> None:
        self._changes: list[Change] = []
        self._floor = floor
        self._waiting: set[asyncio.Event] = set()
        self._cuts = 0

    def append(self, change: Change) -> None:
        """Remember a change and wake the watchers."""
        self._changes.append(change)
        if len(self._changes) > 2 * KEPT:
            self.forget(self._changes[-KEPT - 1].revision)
        self._wake()

    def forget(self, revision: int) -> None:
        """Drop all changes up to a revision: watches that start before it are Gone."""
        self._changes = self._changes[self._position(revision) :]
        self._floor = max(self._floor, revision)
        self._wake()

    def cut(self) -> None:
        """End every watch, as a server does that goes away."""
        self._cuts += 1
        self._wake()

    def since(self, revision: int) -> list[Change]:
        """Return all changes after a revision, oldest first. Raises Gone when some were dropped."""
        if revision < self._floor:
            raise Gone(f"too old resource version: {revision} ({self._floor})")
        return self._changes[self._position(revision) :]

    async def follow(self, revision: int) -> AsyncIterator[Change]:
        """Yield changes after a revision as they come, until the watch is cut. Raises Gone."""
        news, cuts = asyncio.Event(), self._cuts
        self._waiting.add(news)
        try:
            while cuts == self._cuts:
                news.clear()
                for change in self.since(revision):
                    yield change
                    revision = change.revision
                if not news.is_set():
                    await news.wait()
        finally:
            self._waiting.discard(news)

    def _position(self, revision: int) -> int:
        return bisect_right(self._changes, revision, key=lambda change: change.revision)

    def _wake(self) -> None:
        for news in self._waiting:
            news.set()
