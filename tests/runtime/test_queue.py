"""The work queue: each key once, in order, never twice at once, retried ever more slowly."""

import asyncio

import pytest

from karpenter.runtime.queue import WorkQueue


@pytest.fixture
def queue(clock) -> WorkQueue[str]:
    return WorkQueue(clock, base_delay_s=0.1, max_delay_s=10)


def now() -> float:
    return asyncio.get_running_loop().time()


async def take(queue: WorkQueue[str]) -> tuple[str, float]:
    """Return the next key and when it came."""
    key = await queue.get()
    queue.done(key)
    return key, now()


async def test_keys_come_in_the_order_in_which_they_were_added(queue) -> None:
    for key in "abc":
        queue.add(key)
    assert [(await take(queue))[0] for _ in range(3)] == ["a", "b", "c"]


async def test_a_waiting_key_is_not_added_again(queue) -> None:
    queue.add("a")
    queue.add("a")
    await take(queue)
    assert len(queue) == 0


async def test_a_key_added_while_it_is_handled_comes_round_once_more_and_only_after_done(queue) -> None:
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    queue.add("a")
    queue.add("b")
    assert await queue.get() == "b"
    queue.done("a")
    assert await take(queue) == ("a", 0.0)
    assert len(queue) == 0


async def test_a_delayed_key_comes_when_it_is_due(queue) -> None:
    queue.add_after("late", 5)
    queue.add_after("soon", 2.5)
    assert [await take(queue), await take(queue)] == [("soon", 2.5), ("late", 5.0)]


async def test_of_several_delays_the_earliest_counts(queue) -> None:
    queue.add_after("a", 60)
    queue.add_after("a", 5)
    queue.add_after("a", 30)
    assert await take(queue) == ("a", 5.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3600):
            await queue.get()


async def test_a_delay_of_zero_is_at_once(queue) -> None:
    queue.add_after("a", 0)
    assert await take(queue) == ("a", 0.0)


async def test_retries_wait_twice_as_long_each_time_up_to_the_longest(queue) -> None:
    """TV-128: an eviction answered 429 is retried after 0.1, 0.2, 0.4 s …, at most 10 s (LIF-34)."""
    delays = [queue.add_rate_limited("pod") for _ in range(9)]
    assert delays == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10])


async def test_a_thousand_retries_do_not_overflow(queue) -> None:
    assert [queue.add_rate_limited("pod") for _ in range(2_000)][-1] == 10


async def test_a_forgotten_key_starts_its_back_off_again(queue) -> None:
    queue.add_rate_limited("a")
    queue.add_rate_limited("a")
    assert queue.failures("a") == 2
    queue.forget("a")
    assert queue.add_rate_limited("a") == 0.1


async def test_back_off_can_be_told_to_wait_longer(queue) -> None:
    assert queue.add_rate_limited("a", at_least_s=7) == 7
    assert await take(queue) == ("a", 7.0)


async def test_a_cancelled_wait_loses_no_key(queue) -> None:
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(1)
    waiting.cancel()
    queue.add("a")
    assert (await take(queue))[0] == "a"


async def test_a_closed_queue_leaves_no_timer_behind(queue) -> None:
    queue.add_after("a", 5)
    queue.close()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await queue.get()


async def test_an_observer_hears_of_keys_and_how_long_they_waited(clock) -> None:
    class Observer:
        def __init__(self) -> None:
            self.heard: list[object] = []

        def added(self) -> None:
            self.heard.append("added")

        def handed_out(self, waited_s: float) -> None:
            self.heard.append(waited_s)

    observer = Observer()
    queue: WorkQueue[str] = WorkQueue(clock, observer=observer)
    queue.add("a")
    queue.add("a")
    await asyncio.sleep(2)
    await queue.get()
    assert observer.heard == ["added", 2.0]
