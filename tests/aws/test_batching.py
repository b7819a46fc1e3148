"""Callers are served together. Source: spec v1alpha5 AWS-47, spec v1 §4.12."""

import asyncio
from collections.abc import Sequence

import pytest

from karpenter.aws.batching import Batches, Window
from karpenter.cloud.errors import CloudError
from karpenter.runtime.clock import Clock


class Post:
    """Answers each item with ten times itself, and refuses nought; remembers what was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, list[int]]] = []

    async def send(self, key: str, items: Sequence[int]) -> Sequence[int | Exception]:
        self.sent.append((key, list(items)))
        return [item * 10 if item else CloudError("nought") for item in items]


async def test_callers_with_one_key_share_a_call_and_each_gets_its_own_answer(clock: Clock) -> None:
    post = Post()
    batches = Batches(post.send, clock, Window(0.1, 1.0, 500))
    answers = await asyncio.gather(batches.ask("a", 1), batches.ask("a", 2), batches.ask("b", 3))
    assert (answers, sorted(post.sent)) == ([10, 20, 30], [("a", [1, 2]), ("b", [3])])


async def test_a_refused_item_does_not_hurt_its_neighbours(clock: Clock) -> None:
    batches = Batches(Post().send, clock, Window(0.1, 1.0, 500))
    one, other = await asyncio.gather(batches.ask("a", 0), batches.ask("a", 2), return_exceptions=True)
    assert isinstance(one, CloudError)
    assert other == 20


async def test_a_full_batch_is_sent_and_the_next_caller_opens_another(clock: Clock) -> None:
    post = Post()
    batches = Batches(post.send, clock, Window(0.1, 1.0, 2))
    await asyncio.gather(*(batches.ask("a", item) for item in (1, 2, 3)))
    assert [items for _, items in post.sent] == [[1, 2], [3]]


async def test_a_steady_stream_of_callers_waits_no_longer_than_a_second(clock: Clock) -> None:
    post = Post()
    batches = Batches(post.send, clock, Window(0.1, 1.0, 500))
    began = clock.now()

    async def late(number: int) -> int:
        await clock.sleep(number * 0.09)
        return await batches.ask("a", number + 1)

    await asyncio.gather(*(late(number) for number in range(30)))
    assert [len(items) for _, items in post.sent] == [12, 12, 6]
    assert clock.now() - began == pytest.approx(29 * 0.09 + 0.1, abs=0.2)
