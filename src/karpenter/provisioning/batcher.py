"""When a batch of pending pods is complete.

Source: spec v1 S-3, spec v1alpha5 POD-10: the window closes after a quiet time without a *new* pod, and after a
maximum.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from karpenter.model.units import UnixSeconds
from karpenter.runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class BatchWindow:
    """How long to gather pods, in seconds."""

    idle_s: float = 1.0
    max_s: float = 10.0


class Batcher:
    """Gathers triggers and says when to plan. A pod seen in this window already does not keep it open."""

    def __init__(self, clock: Clock, window: BatchWindow = BatchWindow()) -> None:
        self._clock = clock
        self._window = window
        self._seen: set[str] = set()
        self._first: UnixSeconds | None = None
        self._last: UnixSeconds | None = None
        self._changed = asyncio.Event()

    def trigger(self, uid: str) -> None:
        """Ask for a plan because of one pod (by uid) or node (by name)."""
        if uid in self._seen:
            return
        self._seen.add(uid)
        self._last = self._clock.now()
        if self._first is None:
            self._first = self._last
        self._changed.set()

    async def wait(self) -> int:
        """Return the number of triggers once a window has closed; the next window starts empty."""
        while True:
            self._changed.clear()
            if self._first is None or self._last is None:
                await self._changed.wait()
                continue
            closes_at = min(self._last + self._window.idle_s, self._first + self._window.max_s)
            left = closes_at - self._clock.now()
            if left <= 0:
                return self._close()
            await self._pause(left)

    async def _pause(self, seconds: float) -> None:
        """Wait for a new trigger, at most so long."""
        waiters = [asyncio.ensure_future(self._clock.sleep(seconds)), asyncio.ensure_future(self._changed.wait())]
        try:
            await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiter in waiters:
                waiter.cancel()

    def _close(self) -> int:
        count = len(self._seen)
        self._seen = set()
        self._first = self._last = None
        return count
