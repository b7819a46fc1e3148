"""Settings for every test: how hypothesis searches, and virtual time for all that is async.

An async test runs on the simulated loop: it never waits, and waiting for what cannot happen fails at once. One that
needs sockets, subprocesses or real threads says so with `@pytest.mark.real_time` (or `pytestmark` for a whole file).
"""

import asyncio
import os
from collections.abc import Callable

import pytest
from hypothesis import settings

from karpenter.runtime.clock import LoopClock
from karpenter.sim.loop import SIMULATION_START, SimLoop

settings.register_profile("everyday", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=2_000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_time: run this async test on an ordinary loop, not in virtual time")


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    if item.get_closest_marker("real_time"):
        return {"real": asyncio.new_event_loop}
    return {"virtual": SimLoop}


@pytest.fixture
def clock() -> LoopClock:
    """The clock of an async test: `SIMULATION_START` at its first instant, in virtual time unless marked otherwise."""
    return LoopClock(SIMULATION_START)
