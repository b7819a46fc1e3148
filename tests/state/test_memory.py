"""What is learned outlives the process: issue 6, point 8."""

import asyncio
import random

import pytest

from karpenter.runtime.backoff import Backoff
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import CONFIG_MAPS, KubeError, Unavailable
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.state.memory import CONFIG_MAP, Memory
from tests.scenarios.trouble import Trouble, TroubledClient


@pytest.fixture
async def kube(clock: LoopClock) -> MemoryKubeClient:
    return MemoryKubeClient(MemoryStore(clock))


def a_memory(client: object, clock: LoopClock) -> Memory:
    backoff = Backoff(random.Random(0), base_s=1, cap_s=5)
    return Memory(client, clock=clock, namespace="kube-system", backoff=backoff)


async def lived(memory: Memory, clock: LoopClock, seconds: float = 10) -> None:
    """Let the memory read and write for so long."""
    task = asyncio.create_task(memory.run())
    await clock.sleep(seconds)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_value_is_there_at_once_and_after_a_restart(kube: MemoryKubeClient, clock: LoopClock) -> None:
    memory = a_memory(kube, clock)
    memory.put("sizes", {"x": 7})
    assert memory.get("sizes", dict[str, int], {}) == {"x": 7}
    await lived(memory, clock)
    later = a_memory(kube, clock)
    assert (later.is_loaded, later.get("sizes", dict[str, int], {})) == (False, {})
    await lived(later, clock)
    assert (later.is_loaded, later.get("sizes", dict[str, int], {})) == (True, {"x": 7})


async def test_what_is_learned_before_the_old_was_read_wins_over_it(kube: MemoryKubeClient, clock: LoopClock) -> None:
    first = a_memory(kube, clock)
    first.put("a", 1)
    first.put("b", 1)
    await lived(first, clock)
    second = a_memory(kube, clock)
    second.put("a", 2)
    await lived(second, clock)
    third = a_memory(kube, clock)
    await lived(third, clock)
    assert (third.get("a", int, 0), third.get("b", int, 0)) == (2, 1)


async def test_a_value_that_cannot_be_read_is_learned_anew(kube: MemoryKubeClient, clock: LoopClock) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIG_MAP}, "data": {"a": "{"}}
    await kube.create(CONFIG_MAPS, body, namespace="kube-system")
    memory = a_memory(kube, clock)
    await lived(memory, clock)
    assert memory.get("a", int, 5) == 5


class Flaky(Trouble):
    """Every third call fails."""

    def __init__(self) -> None:
        self._calls = 0

    def before(self, verb: str, resource: str) -> KubeError | None:
        self._calls += 1
        return Unavailable("not now") if self._calls % 3 == 1 else None


async def test_errors_only_delay_it(kube: MemoryKubeClient, clock: LoopClock) -> None:
    memory = a_memory(TroubledClient(kube, clock, Flaky()), clock)
    memory.put("a", 1)
    await lived(memory, clock, 60)
    stored = await kube.get(CONFIG_MAPS, CONFIG_MAP, namespace="kube-system")
    assert stored["data"] == {"a": "1"}


async def test_an_unchanged_value_is_not_written_again(kube: MemoryKubeClient, clock: LoopClock) -> None:
    memory = a_memory(kube, clock)
    memory.put("a", 1)
    await lived(memory, clock)
    before = await kube.get(CONFIG_MAPS, CONFIG_MAP, namespace="kube-system")
    memory.put("a", 1)
    await lived(memory, clock)
    assert await kube.get(CONFIG_MAPS, CONFIG_MAP, namespace="kube-system") == before
