"""Computing beside the loop."""

import asyncio
import threading

import pytest

from karpenter.runtime.cpu import LoopLag, run_cpu
from karpenter.runtime.metrics import Metrics


async def test_in_virtual_time_work_runs_at_once_and_no_time_passes() -> None:
    ticking = asyncio.create_task(asyncio.sleep(1))
    assert await run_cpu(lambda first, *, second: (first, second, threading.current_thread()), 1, second=2) == (
        1, 2, threading.main_thread(),
    )  # fmt: skip
    assert asyncio.get_running_loop().time() == 0.0
    await ticking


@pytest.mark.real_time
async def test_on_a_real_loop_work_runs_in_a_thread_and_the_loop_goes_on() -> None:
    go_on = threading.Event()

    def compute() -> threading.Thread:
        assert go_on.wait(10), "the loop stood still"
        return threading.current_thread()

    working = asyncio.create_task(run_cpu(compute))
    await asyncio.sleep(0)
    go_on.set()
    assert await working is not threading.main_thread()


async def test_an_error_in_the_work_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await run_cpu(lambda: 1 / 0)


async def test_an_undisturbed_loop_has_no_lag(clock) -> None:
    metrics = Metrics(clock)
    measuring = asyncio.create_task(LoopLag(clock, metrics).run())
    await asyncio.sleep(60.25)
    measuring.cancel()
    value = metrics.registry.get_sample_value
    assert value("karpenter_event_loop_lag_seconds_count") == 120
    assert value("karpenter_event_loop_lag_seconds_sum") == pytest.approx(0)


@pytest.mark.real_time
async def test_work_on_the_loop_itself_shows_as_lag(clock, monkeypatch) -> None:
    metrics = Metrics(clock)
    monkeypatch.setattr("karpenter.runtime.cpu.LAG_CHECK_S", 0.01)
    measuring = asyncio.create_task(LoopLag(clock, metrics).run())
    await asyncio.sleep(0)
    threading.Event().wait(0.1)  # the loop is stopped
    await asyncio.sleep(0.02)
    measuring.cancel()
    assert metrics.registry.get_sample_value("karpenter_event_loop_lag_seconds_sum") >= 0.08
