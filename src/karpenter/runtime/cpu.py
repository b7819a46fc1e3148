"""Computing without stopping the loop, and the measure of how well that goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from karpenter.runtime.clock import Clock
from karpenter.runtime.metrics import Metrics

P = ParamSpec("P")
T = TypeVar("T")

LAG_CHECK_S: Final = 0.5


async def run_cpu(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return `fn(*args, **kwargs)`, computed in a thread so that watches and the lease go on; for anything over ~10 ms.

    Cancelling the caller does not stop the thread: give `fn` a `stop` check of its own if it may take long. In virtual
    time it runs at once, and no time passes.
    """
    return await asyncio.to_thread(fn, *args, **kwargs)


class LoopLag:
    """Observes how late the event loop wakes up: the time that a lease renewal or a watch has to wait in line."""

    name: Final = "loop-lag"

    def __init__(self, clock: Clock, metrics: Metrics) -> None:
        self._clock = clock
        self._lag = metrics.event_loop_lag_seconds

    async def run(self) -> None:
        """Measure until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LAG_CHECK_S
            await self._clock.sleep(LAG_CHECK_S)
            self._lag.observe(max(0.0, loop.time() - due))
