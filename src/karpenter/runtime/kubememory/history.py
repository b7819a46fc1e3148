"""What changed lately, for watches: bounded, so that a watcher that falls behind has to list again."""

from __future__ import annotations

import asyncio
import contextlib
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

from karpenter.runtime.kube import Gone
from karpenter.runtime.kubememory.records import Record
from karpenter.runtime.kubememory.selectors import Selection

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
KEPT: Final = 2048
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
        self._waiting: dict[asyncio.Event, None] = {}
        """In the order in which they came, which is that in which they are woken: a set's order differs by process."""
        self.cuts = 0
        """How often all watches were ended."""

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
        self.cuts += 1
        self._wake()

    def since(self, revision: int) -> list[Change]:
        """Return all changes after a revision, oldest first. Raises Gone when some were dropped."""
        if revision < self._floor:
            raise Gone(f"too old resource version: {revision} ({self._floor})")
        return self._changes[self._position(revision) :]

    @contextmanager
    def follow(self, revision: int) -> Iterator[Follower]:
        """Return a reader of the changes after a revision, for as long as the block lasts."""
        news = asyncio.Event()
        self._waiting[news] = None
        try:
            yield Follower(self, revision, news)
        finally:
            self._waiting.pop(news, None)

    def _position(self, revision: int) -> int:
        return bisect_right(self._changes, revision, key=lambda change: change.revision)

    def _wake(self) -> None:
        for news in self._waiting:
            news.set()


class Follower:
    """Reads the changes of one kind as they come."""

    def __init__(self, history: History, revision: int, news: asyncio.Event) -> None:
        self._history = history
        self._revision = revision
        self._news = news
        self._cuts = history.cuts
        self._is_stopped = False

    def stop(self) -> None:
        """Let `next` return None from now on."""
        self._is_stopped = True
        self._news.set()

    async def next(self, *, within_s: float | None = None) -> list[Change] | None:
        """Return the next changes, none if there are none within some seconds; None when the watch was cut
        or stopped.

        Raises Gone when changes were dropped before they could be read.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while True:
                    self._news.clear()
                    if self._is_stopped or self._cuts != self._history.cuts:
                        return None
                    if changes := self._history.since(self._revision):
                        self._revision = changes[-1].revision
                        return changes
                    await self._news.wait()
        return []
