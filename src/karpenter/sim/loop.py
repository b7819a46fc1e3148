"""Virtual time: an asyncio loop whose clock jumps to the next timer instead of waiting for it.

Everything that asks the loop for time works unchanged: `asyncio.sleep`, `asyncio.timeout`, queues, task groups. Hours
of controllers pass in milliseconds, equal runs are equal to the nanosecond, and waiting for what cannot happen is an
error instead of a hang.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import selectors
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, TypeVarTuple

from karpenter.model.errors import KarpenterError
from karpenter.model.units import UnixSeconds
from karpenter.runtime.clock import Clock, LoopClock

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from _typeshed import FileDescriptorLike

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

SIMULATION_START: Final = UnixSeconds(1_700_000_000.0)
"""Where simulated time begins unless told otherwise: 2023-11-14T22:13:20Z."""

_NO_OUTSIDE = "{} is not possible in virtual time: use the in-memory twin, or run this on a real loop"


class SimulationError(KarpenterError):
    """Something was asked of virtual time that it cannot do."""


class SimulationDeadlock(SimulationError):
    """Every task waits and no timer is left, so nothing can ever happen again. Names the tasks and where they wait."""


def run_simulation(main: Callable[[Clock], Coroutine[Any, Any, T]], *, start: UnixSeconds = SIMULATION_START) -> T:
    """Run `main(clock)` in virtual time that begins at `start`; return its result.

    Raises:
        SimulationDeadlock: main waits for something that cannot happen.
    """
    with asyncio.Runner(loop_factory=SimLoop) as runner:
        return runner.run(main(LoopClock(start)))


class SimLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time. Its `time()` starts at 0 and stands still while anything is ready to run."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_JumpingSelector(self._jump))

    def time(self) -> float:
        """Return the virtual seconds since the loop was made."""
        return self._now

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Arguments], T], *args: *Arguments
    ) -> asyncio.Future[T]:
        """Call `func` at once and return its outcome: while a thread computed, virtual time would jump ahead of it."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # the outcome, good or bad, belongs to whoever awaits the future
            future.set_exception(error)
        return future

    async def create_connection(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: raises SimulationError."""
        raise SimulationError(_NO_OUTSIDE.format("a network connection"))

    async def create_server(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: raises SimulationError."""
        raise SimulationError(_NO_OUTSIDE.format("a network server"))

    async def create_datagram_endpoint(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: raises SimulationError."""
        raise SimulationError(_NO_OUTSIDE.format("a datagram socket"))

    async def getaddrinfo(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: raises SimulationError."""
        raise SimulationError(_NO_OUTSIDE.format("a name lookup"))

    async def subprocess_exec(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: raises SimulationError."""
        raise SimulationError(_NO_OUTSIDE.format("a subprocess"))

    async def subprocess_shell(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: raises SimulationError."""
        raise SimulationError(_NO_OUTSIDE.format("a subprocess"))

    def _jump(self, seconds: float | None) -> None:
        if seconds is None:
            raise SimulationDeadlock(_describe_waiting(self))
        # Nanoseconds are the grid: 0.1 s ten times is 1 s, and a timer's rounding error never makes the loop spin.
        landed = round(self._now + seconds, 9)
        self._now = landed if landed > self._now else math.nextafter(self._now, math.inf)


class _JumpingSelector(selectors.BaseSelector):
    """Watches nothing but the loop's own wake-up pipe, and jumps where a real selector would wait."""

    def __init__(self, jump: Callable[[float | None], None]) -> None:
        self._jump = jump
        self._keys: dict[FileDescriptorLike, selectors.SelectorKey] = {}

    def register(self, fileobj: FileDescriptorLike, events: int, data: object = None) -> selectors.SelectorKey:
        if self._keys:  # the first registration is the loop's wake-up pipe
            raise SimulationError(_NO_OUTSIDE.format("waiting for a socket or a pipe"))
        descriptor = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        key = selectors.SelectorKey(fileobj, descriptor, events, data)
        self._keys[fileobj] = key
        return key

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            self._jump(timeout)
        return []

    def get_map(self) -> Mapping[FileDescriptorLike, selectors.SelectorKey]:
        return self._keys


def _describe_waiting(loop: asyncio.AbstractEventLoop) -> str:
    tasks = sorted(f"{task.get_name()} at {_where(task.get_coro())}" for task in asyncio.all_tasks(loop))
    return f"simulation deadlock: no timer is left and {len(tasks)} task(s) wait for ever: " + "; ".join(tasks)


def _where(awaited: object) -> str:
    """Return file and line of the innermost coroutine that a task is suspended in."""
    place = "an unknown place"
    while inspect.iscoroutine(awaited):
        if awaited.cr_frame is not None:
            place = f"{Path(awaited.cr_frame.f_code.co_filename).name}:{awaited.cr_frame.f_lineno}"
        awaited = awaited.cr_await
    return place
