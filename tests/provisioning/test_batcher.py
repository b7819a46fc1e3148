"""When a batch closes: vectors TV-65 … TV-67, S-3."""

import asyncio

from karpenter.provisioning.batcher import Batcher
from karpenter.runtime.clock import LoopClock


async def closings(clock: LoopClock, triggers: list[tuple[float, str]], windows: int) -> list[float]:
    """Return when `windows` windows close, in seconds after the start, given triggers at such times."""
    batcher = Batcher(clock)
    start = clock.now()

    async def trigger() -> None:
        for at, uid in triggers:
            await clock.sleep(start + at - clock.now())
            batcher.trigger(uid)

    feeding = asyncio.create_task(trigger())
    closed = []
    for _ in range(windows):
        await batcher.wait()
        closed.append(round(clock.now() - start, 6))
    feeding.cancel()
    return closed


async def test_tv65_the_window_closes_a_second_after_the_last_new_pod(clock: LoopClock) -> None:
    assert await closings(clock, [(0, "a"), (0.4, "b"), (0.9, "c")], 1) == [1.9]


async def test_tv66_a_steady_stream_is_planned_for_after_ten_seconds(clock: LoopClock) -> None:
    stream = [(0.5 * number, f"pod-{number}") for number in range(40)]
    assert await closings(clock, stream, 1) == [10.0]


async def test_tv67_a_later_pod_opens_the_next_window(clock: LoopClock) -> None:
    assert await closings(clock, [(0, "a"), (1.2, "b")], 2) == [1.0, 2.2]


async def test_a_pod_seen_in_this_window_does_not_keep_it_open(clock: LoopClock) -> None:
    assert await closings(clock, [(0, "a"), (0.5, "a"), (0.9, "a")], 1) == [1.0]


async def test_the_same_pod_opens_a_new_window_later(clock: LoopClock) -> None:
    assert await closings(clock, [(0, "a"), (5, "a")], 2) == [1.0, 6.0]
