"""A queue of keys to look at: each key at most once in it, never handled twice at once, retried ever more slowly."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Final, Generic, Protocol, TypeVar

from karpenter.runtime.clock import Clock

K = TypeVar("K", bound=Hashable)

DEFAULT_BASE_DELAY_S: Final = 0.1
DEFAULT_MAX_DELAY_S: Final = 60.0


class QueueObserver(Protocol):
    """Who counts what a queue does."""

    def added(self) -> None:
        """A key began to wait."""
        ...

    def handed_out(self, waited_s: float) -> None:
        """A key that had been waiting for `waited_s` is being handled."""
        ...


class WorkQueue(Generic[K]):
    """Keys in the order in which they were added; a key that is already waiting is not added again.

    `get` hands out a key, `done` returns it. Added meanwhile, it comes round once more after `done`. A retry waits
    `base_delay_s` × 2ⁿ, at most `max_delay_s`, where n counts the retries since the last `forget`.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        base_delay_s: float = DEFAULT_BASE_DELAY_S,
        max_delay_s: float = DEFAULT_MAX_DELAY_S,
        observer: QueueObserver | None = None,
    ) -> None:
        self._clock = clock
        self._observer = observer
        self._base_delay_s = base_delay_s
        self._max_delay_s = max_delay_s
        self._ready: asyncio.Queue[K] = asyncio.Queue()
        self._waiting_since: dict[K, float] = {}
        self._handled: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}

    def __len__(self) -> int:
        """Return how many keys wait, those that come round again included; delayed ones are not due yet."""
        return len(self._waiting_since)

    def add(self, key: K) -> None:
        """Let `key` be handled as soon as possible."""
        if key in self._waiting_since:
            return
        self._waiting_since[key] = self._clock.now()
        if self._observer is not None:
            self._observer.added()
        if key not in self._handled:
            self._ready.put_nowait(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Let `key` be handled in `seconds`; of several such wishes the earliest counts."""
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= due:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(due, self._due, key)

    def add_rate_limited(self, key: K, *, at_least_s: float = 0.0) -> float:
        """Let `key` be handled again after its back-off, or `at_least_s` if that is longer; return the seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay_s = max(min(self._base_delay_s * 2.0 ** min(failures, 64), self._max_delay_s), at_least_s)
        self.add_after(key, delay_s)
        return delay_s

    def forget(self, key: K) -> None:
        """Start the back-off of `key` from the beginning next time."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Return how often `key` was retried since it was last forgotten."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """Return the key that has waited longest, once there is one. It must be given back with `done`."""
        key = await self._ready.get()
        self._handled.add(key)
        waited_s = self._clock.now() - self._waiting_since.pop(key)
        if self._observer is not None:
            self._observer.handed_out(waited_s)
        return key

    def done(self, key: K) -> None:
        """Give back a key. If it was added meanwhile it is handed out again."""
        self._handled.discard(key)
        if key in self._waiting_since:
            self._ready.put_nowait(key)

    def close(self) -> None:
        """Drop the delayed keys, so that no timer outlives the queue's owner."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _due(self, key: K) -> None:
        del self._timers[key]
        self.add(key)
