"""Leader election by a Lease of a real API server."""

import asyncio

import pytest

from karpenter.runtime.clock import WallClock
from karpenter.runtime.kube import LEASES
from karpenter.runtime.kubehttp import HttpKubeClient
from karpenter.runtime.lease import LeaderElection, LeadershipLost, Timing
from tests.e2e.plane import ControlPlane

pytestmark = pytest.mark.real_time

QUICK = Timing(lease_s=4, renew_deadline_s=2.0, retry_s=0.2)


def a_candidate(kube: HttpKubeClient, namespace: str, identity: str) -> LeaderElection:
    return LeaderElection(kube, WallClock(), name="karpenter", namespace=namespace, identity=identity, timing=QUICK)


async def holder(kube: HttpKubeClient, namespace: str) -> str:
    lease = await kube.get(LEASES, "karpenter", namespace=namespace)
    return lease["spec"].get("holderIdentity", "")


async def test_one_candidate_leads_and_the_next_one_follows(lone_kube: HttpKubeClient, lone_namespace: str) -> None:
    led: list[str] = []
    first_leads, first_may_end = asyncio.Event(), asyncio.Event()

    async def first_works() -> None:
        led.append(await holder(lone_kube, lone_namespace))
        first_leads.set()
        await first_may_end.wait()

    async def second_works() -> None:
        led.append(await holder(lone_kube, lone_namespace))

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(a_candidate(lone_kube, lone_namespace, "first").lead(first_works))
        await first_leads.wait()
        tasks.create_task(a_candidate(lone_kube, lone_namespace, "second").lead(second_works))
        await asyncio.sleep(2 * QUICK.lease_s)  # a lease that is renewed is not taken over
        assert led == ["first"]
        first_may_end.set()
    assert led == ["first", "second"]


async def test_a_leader_that_the_server_does_not_answer_stops_in_time(
    lone_server: ControlPlane, lone_kube: HttpKubeClient, lone_namespace: str
) -> None:
    leads = asyncio.Event()

    async def works() -> None:
        leads.set()
        await asyncio.Event().wait()

    leading = asyncio.create_task(a_candidate(lone_kube, lone_namespace, "only").lead(works))
    await leads.wait()
    await asyncio.to_thread(lone_server.api_server.kill)
    try:
        async with asyncio.timeout(QUICK.lease_s):
            with pytest.raises(LeadershipLost):
                await leading
    finally:
        await asyncio.to_thread(lone_server.start_api_server)
