"""The pause switch as the commands write it: issue 6, point 8."""

import pytest

from karpenter.app.errors import BadInputError, SettingsError
from karpenter.app.pause import change, pause, pausing, resume, resuming, words
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore

SYSTEM = "kube-system"


@pytest.fixture
async def kube(clock: LoopClock) -> MemoryKubeClient:
    return MemoryKubeClient(MemoryStore(clock))


async def test_a_pause_is_written_and_ended(kube: MemoryKubeClient) -> None:
    assert await change(kube, SYSTEM, pausing(None, "everything")) == {"cluster": "everything"}
    assert await change(kube, SYSTEM, resuming(None, only_disruption=False)) == {}


async def test_pauses_of_pools_and_of_the_cluster_stand_beside_each_other(kube: MemoryKubeClient) -> None:
    await change(kube, SYSTEM, pausing("batch", "disruption"))
    data = await change(kube, SYSTEM, pausing(None, "disruption"))
    assert words(data) == "paused: disruption of the cluster, disruption of pool batch"
    data = await change(kube, SYSTEM, resuming(None, only_disruption=True))
    assert words(data) == "paused: disruption of pool batch"
    assert words(await change(kube, SYSTEM, dict.fromkeys)) == "nothing is paused"


async def test_ending_a_pause_that_is_not_there_says_what_is_paused(kube: MemoryKubeClient) -> None:
    await change(kube, SYSTEM, pausing("batch", "disruption"))
    with pytest.raises(BadInputError, match="the cluster is not paused; now: paused: disruption of pool batch"):
        await change(kube, SYSTEM, resuming(None, only_disruption=False))


async def test_a_pause_of_everything_is_not_ended_by_half(kube: MemoryKubeClient) -> None:
    await change(kube, SYSTEM, pausing(None, "everything"))
    with pytest.raises(BadInputError, match="leave --disruption out"):
        await change(kube, SYSTEM, resuming(None, only_disruption=True))


def test_flags_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(SettingsError, match="give one of them"):
        pause(disruption=True, all_=True)
    with pytest.raises(SettingsError, match="leave --pool and --disruption out"):
        resume(pool="batch", all_=True)
