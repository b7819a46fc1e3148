"""Token buckets."""

import asyncio

import pytest

from karpenter.runtime.backoff import Backoff
from karpenter.runtime.ratelimit import TokenBucket


@pytest.fixture
def bucket(clock):
    return lambda: TokenBucket(rate_per_s=5, burst=10, now=clock.now)


async def test_a_burst_is_free_and_what_follows_waits_for_the_rate(bucket) -> None:
    bucket = bucket()
    assert [bucket.try_take() for _ in range(12)] == [True] * 10 + [False] * 2
    await asyncio.sleep(0.4)
    assert [bucket.try_take() for _ in range(3)] == [True, True, False]


async def test_reservations_stand_in_line(bucket) -> None:
    bucket = bucket()
    waits = [bucket.reserve_s() for _ in range(13)]
    assert waits == pytest.approx([0] * 10 + [0.2, 0.4, 0.6])


async def test_idle_time_is_not_saved_up_beyond_the_burst(bucket) -> None:
    bucket = bucket()
    await asyncio.sleep(3600)
    assert [bucket.try_take() for _ in range(12)].count(True) == 10


class Highest:
    """A random source that always says almost one: the shortest delays."""

    def random(self) -> float:
        return 0.999999999


class Lowest:
    def random(self) -> float:
        return 0.0


def test_back_off_doubles_up_to_its_cap_and_jitter_takes_at_most_half() -> None:
    longest = Backoff(Lowest(), base_s=1, cap_s=10)
    shortest = Backoff(Highest(), base_s=1, cap_s=10)
    assert [longest.next_s() for _ in range(6)] == [1, 2, 4, 8, 10, 10]
    assert [shortest.next_s() for _ in range(6)] == pytest.approx([0.5, 1, 2, 4, 5, 5])


def test_back_off_starts_again_after_success_and_can_be_told_to_wait_longer() -> None:
    backoff = Backoff(Lowest(), base_s=1, cap_s=10)
    backoff.next_s()
    backoff.reset()
    assert (backoff.next_s(), backoff.next_s(at_least_s=30)) == (1, 30)
