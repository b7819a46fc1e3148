"""A cluster has settled once nothing has been under way for five seconds on end."""

import asyncio

from karpenter.app.embedded.settled import is_settled, wait_settled
from karpenter.runtime.clock import LoopClock
from karpenter.state.cluster import ClusterState
from tests.builders import a_claim, a_pod


def test_a_pod_that_waits_for_a_node_unsettles() -> None:
    state = ClusterState()
    state.set_pod(a_pod("waits"))
    assert not is_settled(state)
    state.set_pod(a_pod("waits", node="n1"))
    assert is_settled(state)


def test_a_claim_in_flight_unsettles_until_its_node_is_initialized() -> None:
    state = ClusterState()
    state.set_claim(a_claim(conditions=["Launched", "Registered"]))
    assert not is_settled(state)
    state.set_claim(a_claim(conditions=["Launched", "Registered", "Initialized"]))
    assert is_settled(state)


async def test_a_quiet_cluster_has_settled_after_five_seconds(clock: LoopClock) -> None:
    started = clock.now()
    assert await wait_settled(ClusterState(), clock)
    assert clock.now() - started == 5.0


async def test_whatever_happens_meanwhile_starts_the_five_seconds_anew(clock: LoopClock) -> None:
    state, started = ClusterState(), clock.now()

    async def disturb() -> None:
        await clock.sleep(4.1)
        state.set_pod(a_pod("a"))
        await clock.sleep(1)
        state.set_pod(a_pod("a", node="n1"))

    settled, _ = await asyncio.gather(wait_settled(state, clock), disturb())
    assert (settled, clock.now() - started) == (True, 10.25)


async def test_a_cluster_that_never_comes_to_rest_is_given_up_after_five_minutes(clock: LoopClock) -> None:
    state, started = ClusterState(), clock.now()
    state.set_pod(a_pod("hopeless"))
    assert not await wait_settled(state, clock)
    assert clock.now() - started == 300.0
