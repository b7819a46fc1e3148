"""Many callers, one call: what is asked for within a short while is asked for together.

Source: spec v1alpha5 AWS-47, spec v1 §4.12.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

from karpenter.runtime.clock import Clock

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Window(NamedTuple):
    """How long a batch stays open."""

    idle_s: float
    """Without another caller it is sent after this."""
    max_s: float
    """However many come, it is sent after this."""
    most: int
    """So many callers fill it."""


CREATE: Final = Window(0.035, 1.0, 1000)
DESCRIBE: Final = Window(0.1, 1.0, 500)
TERMINATE: Final = Window(0.1, 1.0, 500)


@dataclass(slots=True)
class _Batch(Generic[Item, Answer]):
    items: list[Item] = field(default_factory=list)
    answers: list[asyncio.Future[Answer]] = field(default_factory=list)
    full: asyncio.Event = field(default_factory=asyncio.Event)


class Batches(Generic[Key, Item, Answer]):
    """Collects items by key; each caller gets the answer to its own item."""

    def __init__(
        self,
        send: Callable[[Key, Sequence[Item]], Awaitable[Sequence[Answer | Exception]]],
        clock: Clock,
        window: Window,
    ) -> None:
        """`send` returns an answer for each item, in their order; an exception is for that item's caller alone."""
        self._send = send
        self._clock = clock
        self._window = window
        self._open: dict[Key, _Batch[Item, Answer]] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def ask(self, key: Key, item: Item) -> Answer:
        """Return the answer to one item. Raises what `send` raises or returns for it.

        A caller that is cancelled does not take the item out of the batch.
        """
        batch = self._open.get(key)
        if batch is None:
            batch = self._open[key] = _Batch()
            task = asyncio.get_running_loop().create_task(self._deliver(key, batch), name="aws batch")
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        batch.items.append(item)
        batch.answers.append(answer)
        if len(batch.items) >= self._window.most:
            del self._open[key]
            batch.full.set()
        return await answer

    async def _deliver(self, key: Key, batch: _Batch[Item, Answer]) -> None:
        await self._fill(batch)
        if self._open.get(key) is batch:
            del self._open[key]
        try:
            outcomes = await self._send(key, batch.items)
        except Exception as error:  # whatever it is, it is the callers' to handle
            outcomes = [error] * len(batch.items)
        for answer, outcome in zip(batch.answers, outcomes, strict=True):
            if answer.done():
                continue
            if isinstance(outcome, Exception):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

    async def _fill(self, batch: _Batch[Item, Answer]) -> None:
        ends_at = self._clock.now() + self._window.max_s
        while not batch.full.is_set() and self._clock.now() < ends_at:
            before = len(batch.items)
            await self._clock.sleep(min(self._window.idle_s, ends_at - self._clock.now()))
            if len(batch.items) == before:
                return
