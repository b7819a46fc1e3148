"""Virtual time: jumps, exactness, and errors instead of hangs."""

import asyncio
import time

import pytest

from karpenter.model.units import UnixSeconds
from karpenter.runtime.clock import Clock
from karpenter.sim.loop import SIMULATION_START, SimLoop, SimulationDeadlock, SimulationError, run_simulation


async def test_an_idle_loop_jumps_to_the_next_timer() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    assert loop.time() == 0.0
    await asyncio.sleep(3 * 3600)
    assert loop.time() == 10_800.0


async def test_many_small_sleeps_add_up_exactly() -> None:
    for _ in range(1_000):
        await asyncio.sleep(0.1)
    assert asyncio.get_running_loop().time() == 100.0


async def test_a_sleep_of_days_is_one_jump_after_another() -> None:
    await asyncio.sleep(30 * 86_400)  # asyncio itself never waits for more than a day at a time
    assert asyncio.get_running_loop().time() == 2_592_000.0


async def test_a_batch_closes_exactly_one_second_after_its_last_pod_or_ten_after_its_first() -> None:
    """Architecture §8: the window of 1 s idle, 10 s at most, holds to the nanosecond."""
    loop = asyncio.get_running_loop()

    async def close_of_window(arrivals: asyncio.Queue[None], opened: float) -> float:
        while (left := min(1.0, opened + 10.0 - loop.time())) > 0:
            try:
                async with asyncio.timeout(left):
                    await arrivals.get()
            except TimeoutError:
                break
        return loop.time() - opened

    async def feed(arrivals: asyncio.Queue[None]) -> None:
        while True:
            await asyncio.sleep(0.3)
            arrivals.put_nowait(None)

    assert await close_of_window(asyncio.Queue(), loop.time()) == 1.0
    steady: asyncio.Queue[None] = asyncio.Queue()
    feeder = asyncio.create_task(feed(steady))
    assert await close_of_window(steady, loop.time()) == 10.0
    feeder.cancel()


async def test_timeouts_fire_in_virtual_time() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(900):
            await asyncio.Event().wait()
    assert asyncio.get_running_loop().time() == 900.0


async def test_a_task_group_runs_in_virtual_time() -> None:
    order: list[str] = []

    async def finish(name: str, after_s: float) -> None:
        await asyncio.sleep(after_s)
        order.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(finish("late", 20))
        group.create_task(finish("early", 10))
    assert (order, asyncio.get_running_loop().time()) == (["early", "late"], 20.0)


async def test_threads_run_inline_so_that_time_stands_still() -> None:
    ticking = asyncio.create_task(asyncio.sleep(1))
    assert await asyncio.to_thread(sum, [1, 2, 3]) == 6
    assert asyncio.get_running_loop().time() == 0.0
    await ticking


async def test_an_error_in_a_thread_reaches_whoever_awaits_it() -> None:
    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(lambda: 1 / 0)


def test_waiting_for_what_cannot_happen_is_an_error_that_names_the_task() -> None:
    async def wait_forever(clock: Clock) -> None:
        await asyncio.Event().wait()

    with pytest.raises(SimulationDeadlock, match=r"1 task\(s\) wait for ever: Task-\d+ at locks.py:\d+"):
        run_simulation(wait_forever)


def test_tasks_are_cancelled_after_a_deadlock() -> None:
    seen: list[str] = []

    async def wait_forever(clock: Clock) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("cleaned up")

    with pytest.raises(SimulationDeadlock):
        run_simulation(wait_forever)
    assert seen == ["cleaned up"]


def test_a_simulation_has_the_clock_it_was_started_with_and_returns_its_result() -> None:
    async def main(clock: Clock) -> tuple[UnixSeconds, UnixSeconds]:
        before = clock.now()
        await clock.sleep(60)
        return before, clock.now()

    assert run_simulation(main) == (SIMULATION_START, SIMULATION_START + 60)
    assert run_simulation(main, start=UnixSeconds(5.0)) == (5.0, 65.0)


async def refuse_connection() -> None:
    await asyncio.open_connection("127.0.0.1", 9)


async def refuse_name() -> None:
    await asyncio.get_running_loop().getaddrinfo("localhost", 80)


async def refuse_server() -> None:
    await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)


async def refuse_datagram() -> None:
    await asyncio.get_running_loop().create_datagram_endpoint(asyncio.DatagramProtocol, local_addr=("127.0.0.1", 0))


async def refuse_process() -> None:
    await asyncio.create_subprocess_exec("true")


async def refuse_shell() -> None:
    await asyncio.create_subprocess_shell("true")


@pytest.mark.parametrize(
    "outside", [refuse_connection, refuse_name, refuse_server, refuse_datagram, refuse_process, refuse_shell]
)
async def test_the_outside_world_is_refused_in_words(outside) -> None:
    with pytest.raises(SimulationError, match="is not possible in virtual time: use the in-memory twin"):
        await outside()


async def test_a_file_descriptor_cannot_be_waited_for() -> None:
    with pytest.raises(SimulationError, match="waiting for a socket or a pipe"):
        asyncio.get_running_loop().add_reader(0, lambda: None)


def test_three_hours_of_two_controllers_pass_in_a_blink() -> None:
    """Architecture §8: 0.07 s in the spike; the bound leaves room for a busy machine."""

    async def tick(clock: Clock, period_s: float) -> None:
        while True:
            await clock.sleep(period_s)

    async def main(clock: Clock) -> None:
        controllers = [asyncio.create_task(tick(clock, 10)), asyncio.create_task(tick(clock, 2))]
        await clock.sleep(3 * 3600)
        for controller in controllers:
            controller.cancel()

    started = time.process_time()
    run_simulation(main)
    assert time.process_time() - started < 1.0


@pytest.mark.real_time
async def test_a_test_marked_real_time_has_an_ordinary_loop() -> None:
    assert not isinstance(asyncio.get_running_loop(), SimLoop)
