"""Time by hand, for tests over real HTTP."""

import asyncio

from karpenter.model.units import UnixSeconds
from karpenter.sim.loop import SIMULATION_START


class HandClock:
    """A clock that stands until it is moved, so that nothing waits for what expires."""

    def __init__(self, time: float = SIMULATION_START) -> None:
        self.time = time

    def now(self) -> UnixSeconds:
        return UnixSeconds(self.time)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
