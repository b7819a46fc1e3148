"""Telling others what changes: instances as they change state, notices as they come."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable, Iterable
from typing import NamedTuple

from karpenter.model.units import UnixSeconds
from karpenter.runtime.clock import Clock
from karpenter.sim.market.instances import InstanceState, MarketInstance


class InstanceChange(NamedTuple):
    """An instance, and the state that it has just entered."""

    instance: MarketInstance
    state: InstanceState


class Mailbox:
    """Ids of instances that something was done to, for one reader."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}
        self._arrived = asyncio.Event()

    def post(self, ids: Iterable[str]) -> None:
        """Add ids and wake the reader."""
        self._ids.update(dict.fromkeys(ids))
        self._arrived.set()

    def take(self) -> tuple[str, ...]:
        """Return what came since the last call, in order, and forget it."""
        taken = tuple(self._ids)
        self._ids.clear()
        self._arrived.clear()
        return taken

    async def wait(self, seconds: float | None) -> None:
        """Return once something has come, or after so many seconds; None waits for ever."""
        try:
            async with asyncio.timeout(None if seconds is None else max(0.0, seconds)):
                await self._arrived.wait()
        except TimeoutError:
            return


async def changes(
    mailbox: Mailbox, find: Callable[[str], MarketInstance | None], clock: Clock
) -> AsyncIterator[InstanceChange]:
    """Yield instances whose ids come in the mailbox, and each again when its state changes by itself."""
    told: dict[str, InstanceState] = {}
    timers: list[tuple[UnixSeconds, str]] = []
    while True:
        due = list(mailbox.take())
        while timers and timers[0][0] <= clock.now():
            due.append(heapq.heappop(timers)[1])
        for identity in due:
            instance = find(identity)
            if instance is None:
                told.pop(identity, None)
                continue
            now = clock.now()
            following = instance.next_change(now)
            if following is not None:
                heapq.heappush(timers, (following, identity))
            state = instance.state(now)
            if told.get(identity) is not state:
                told[identity] = state
                yield InstanceChange(instance, state)
        await mailbox.wait(timers[0][0] - clock.now() if timers else None)
