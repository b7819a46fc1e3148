"""A long-running command ends cleanly, and its user is told the error, not the task group around it."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from karpenter.app.errors import SettingsError
from karpenter.app.process import run_process


def test_what_the_command_returns_is_returned() -> None:
    async def main() -> int:
        return 3

    assert run_process(main()) == 3


def test_an_error_of_ours_comes_out_of_its_task_groups() -> None:
    async def fail() -> None:
        raise SettingsError("--port 1: the port is taken")

    async def main() -> None:
        async with asyncio.TaskGroup() as outer, asyncio.TaskGroup() as inner:
            outer.create_task(asyncio.sleep(60))
            inner.create_task(fail())

    with pytest.raises(SettingsError, match="the port is taken"):
        run_process(main())


def test_a_bug_beside_an_error_of_ours_is_not_hidden() -> None:
    async def main() -> None:
        raise BaseExceptionGroup("both", [SettingsError("ours"), KeyError("bug")])

    with pytest.raises(BaseExceptionGroup):
        run_process(main())


def test_sigterm_cancels_cleans_up_and_returns() -> None:
    cleaned = []

    async def main() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(True)

    assert run_process(main()) is None
    assert cleaned == [True]


@pytest.fixture
def listening_to_ctrl_c() -> Iterator[None]:
    """Hear SIGINT also where a shell started the tests in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening_to_ctrl_c")
def test_ctrl_c_cancels_cleans_up_and_is_told_as_such() -> None:
    cleaned = []

    async def main() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_process(main())
    assert cleaned == [True]
