"""What every long-running command does the same way: its loop, its signals, its end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from karpenter.model.errors import KarpenterError

if sys.platform == "win32":  # uvloop is not there
    from asyncio import new_event_loop
else:
    from uvloop import new_event_loop

T = TypeVar("T")


def run_process(main: Coroutine[Any, Any, T]) -> T | None:
    """Run a command on an event loop until it returns; None when SIGTERM asked it to end.

    Raises:
        KeyboardInterrupt: Ctrl-C, after everything was cancelled and cleaned up.
        KarpenterError: what `main` raised, also when it came out of a task group.
    """
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_until_terminated(main))


async def _until_terminated(main: Coroutine[Any, Any, T]) -> T | None:
    task = asyncio.current_task()
    assert task is not None
    terminated = False

    def terminate() -> None:
        nonlocal terminated
        terminated = True
        task.cancel()

    with contextlib.suppress(NotImplementedError):  # Windows has no such signal
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
    try:
        return await main
    except asyncio.CancelledError:
        if not terminated:
            raise
        return None
    except BaseExceptionGroup as group:
        # A task group wraps what its tasks raise; a command's user is told the error itself.
        error = _only(group)
        if error is None:
            raise
        raise error from group


def _only(group: BaseExceptionGroup[BaseException]) -> KarpenterError | None:
    """Return the first error of ours in a group; None when it holds anything else, which is a bug to be seen."""
    _, others = group.split(KarpenterError)
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if others is None and isinstance(error, KarpenterError) else None
