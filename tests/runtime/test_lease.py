"""Leader election: one leads, another takes over, never two at once (spec v1 §5.6)."""

import asyncio
from typing import Any

import pytest

from karpenter.runtime.kube import LEASES, Unavailable
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.runtime.lease import LeaderElection, LeadershipLost
from karpenter.runtime.metrics import Metrics


class Network(MemoryKubeClient):
    """A client whose connection can be cut."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.is_cut = False

    async def get(self, *args: Any, **kwargs: Any) -> Any:
        if self.is_cut:
            raise Unavailable("no route to host")
        return await super().get(*args, **kwargs)


class Candidate:
    """A process that notes when it leads."""

    def __init__(self, store: MemoryStore, clock, identity: str) -> None:
        self.network = Network(store)
        self.metrics = Metrics(clock)
        self.election = LeaderElection(
            self.network, clock, name="karpenter", namespace="kube-system", identity=identity, metrics=self.metrics
        )
        self.spans: list[tuple[float, float]] = []
        self.task = asyncio.create_task(self.election.lead(self.work))

    async def work(self) -> None:
        started = asyncio.get_running_loop().time()
        try:
            await asyncio.Event().wait()
        finally:
            self.spans.append((started, asyncio.get_running_loop().time()))

    def leads(self) -> bool:
        return self.metrics.registry.get_sample_value("leader_election_master_status", {"name": "karpenter"}) == 1

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@pytest.fixture
async def store(clock) -> MemoryStore:
    return MemoryStore(clock)


async def test_the_first_leads_and_the_second_waits(store, clock) -> None:
    first, second = Candidate(store, clock, "a"), Candidate(store, clock, "b")
    await asyncio.sleep(600)
    assert (first.leads(), second.leads()) == (True, False)
    await first.stop()
    await second.stop()


async def test_a_leader_that_stops_hands_over_at_once(store, clock) -> None:
    first, second = Candidate(store, clock, "a"), Candidate(store, clock, "b")
    await asyncio.sleep(60)
    await first.stop()
    await asyncio.sleep(2.5)
    assert (first.leads(), second.leads()) == (False, True)
    await second.stop()


async def test_a_leader_that_is_cut_off_stops_before_another_takes_over(store, clock) -> None:
    first, second = Candidate(store, clock, "a"), Candidate(store, clock, "b")
    await asyncio.sleep(60)
    first.network.is_cut = True
    await asyncio.sleep(60)
    with pytest.raises(LeadershipLost, match="could not be renewed: no route to host"):
        await first.task
    await second.stop()
    (_, ended), (began, _) = first.spans[0], second.spans[0]
    assert 68 <= ended <= 72
    assert ended < began <= 80


async def test_a_leader_whose_lease_was_taken_stops(store, clock) -> None:
    candidate = Candidate(store, clock, "a")
    await asyncio.sleep(60)
    thief = MemoryKubeClient(store)
    await thief.patch(LEASES, "karpenter", {"spec": {"holderIdentity": "thief"}}, namespace="kube-system")
    await asyncio.sleep(5)
    with pytest.raises(LeadershipLost, match="is held by another process"):
        await candidate.task


async def test_the_lease_reads_as_others_write_it(store, clock) -> None:
    """Contract C-3: the holder's name begins with its pod's."""
    first = Candidate(store, clock, "karpenter-0_1234")
    await asyncio.sleep(1)
    lease = await MemoryKubeClient(store).get(LEASES, "karpenter", namespace="kube-system")
    assert lease["spec"] == {
        "holderIdentity": "karpenter-0_1234",
        "leaseDurationSeconds": 15,
        "acquireTime": "2023-11-14T22:13:20.000000Z",
        "renewTime": "2023-11-14T22:13:20.000000Z",
        "leaseTransitions": 0,
    }
    await first.stop()
    second = Candidate(store, clock, "karpenter-1_5678")
    await asyncio.sleep(1)
    lease = await MemoryKubeClient(store).get(LEASES, "karpenter", namespace="kube-system")
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("karpenter-1_5678", 1)
    await second.stop()


async def test_leading_ends_with_the_work_and_its_error_is_raised(store, clock) -> None:
    async def broken() -> None:
        await asyncio.sleep(5)
        raise ValueError("bug")

    kube = MemoryKubeClient(store)
    election = LeaderElection(kube, clock, name="karpenter", namespace="kube-system", identity="a")
    with pytest.raises(ExceptionGroup) as caught:
        await election.lead(broken)
    assert [str(error) for error in caught.value.exceptions] == ["bug"]
    lease = await kube.get(LEASES, "karpenter", namespace="kube-system")
    assert lease["spec"]["holderIdentity"] == ""


async def test_an_unreachable_server_is_waited_for(store, clock) -> None:
    candidate = Candidate(store, clock, "a")
    candidate.network.is_cut = True
    await asyncio.sleep(600)
    assert not candidate.leads()
    candidate.network.is_cut = False
    await asyncio.sleep(2.5)
    assert candidate.leads()
    await candidate.stop()
