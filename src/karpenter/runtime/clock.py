"""Time, as a parameter. The only module that reads the wall clock."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from karpenter.model.units import UnixSeconds


class Clock(Protocol):
    """Where now comes from."""

    def now(self) -> UnixSeconds:
        """Return the current moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return once `seconds` have passed on this clock; zero or less yields to the loop once."""
        ...


class WallClock:
    """The clock of a real process."""

    def now(self) -> UnixSeconds:
        """Return the system's time."""
        return UnixSeconds(time.time())

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running loop."""
        await asyncio.sleep(max(0.0, seconds))


class LoopClock:
    """A clock that follows the running loop's own time, for virtual time: `epoch` is the moment at loop time zero."""

    def __init__(self, epoch: UnixSeconds) -> None:
        self._epoch = epoch

    def now(self) -> UnixSeconds:
        """Return the epoch plus the loop's time."""
        return UnixSeconds(self._epoch + asyncio.get_running_loop().time())

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running loop; a virtual-time loop jumps there."""
        await asyncio.sleep(max(0.0, seconds))
