"""What the cloud announces: issue 6, point 9; spec v1alpha5 §5.7, INT-6; case SPOT-DRAIN, in virtual time."""

from typing import Any

import pytest

from karpenter.app.settings import Settings
from karpenter.disruption.options import InterruptionSettings
from karpenter.model.instance import InterruptionKind
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.sim.market.state import MarketSettings
from tests.scenarios.test_rolling import a_budget
from tests.scenarios.toys import CATALOG, a_pool_manifest
from tests.scenarios.world import World, a_world

SPOT = a_pool_manifest(types=("c.4", "m.4"), capacity_types=("spot",), disruption={"consolidateAfter": "Never"})
SLOW = MarketSettings(speed=1.0, launch_s=1.0, ready_p50_s=55.0, ready_p90_s=55.0)
"""A replacement takes 55 s and a little until it is ready."""


async def a_spot_node(world: World, **pod: Any) -> Any:
    await world.apply(SPOT)
    await world.deploy("web", 1, cpu="3", **pod)
    await world.all_running(1)
    (node,) = await world.nodes()
    return node


async def is_gone(world: World, name: str) -> bool:
    return name not in {node.metadata.name for node in await world.nodes()}


async def test_case_spot_drain_a_replacement_is_asked_for_within_a_second_and_downtime_is_short(
    clock: LoopClock,
) -> None:
    async with a_world(clock, catalog=CATALOG, market=SLOW) as world:
        node = await a_spot_node(world)
        noticed = clock.now()
        world.market.interrupt(node.spec.provider_id)

        async def asked() -> bool:
            return len(await world.claims()) == 2

        await world.until(asked, within_s=5, step_s=0.1)
        assert clock.now() - noticed <= 1.0
        down_s, first_down_at = 0.0, None
        while not await is_gone(world, node.metadata.name):
            await clock.sleep(0.5)
            if not any(pod.status.phase == "Running" and not pod.metadata.is_deleting for pod in await world.pods()):
                down_s += 0.5
                first_down_at = first_down_at or clock.now() - noticed
        assert first_down_at is not None
        assert 55 <= first_down_at <= 91
        assert down_s <= 10
        assert clock.now() - noticed <= 120 + SLOW.termination_s
        await world.all_running(1)


async def test_case_spot_drain_without_a_place_the_drain_begins_after_ninety_seconds(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        node = await a_spot_node(world)
        await world.kube.create(api.PDBS, a_budget("web", min_available=1), namespace="default")
        world.market.exhaust()
        noticed = clock.now()
        world.market.interrupt(node.spec.provider_id)

        async def draining() -> bool:
            return node.metadata.name in await world.leaving()

        await world.until(draining, within_s=100)
        assert 89 <= clock.now() - noticed <= 92
        # The budget refuses for ever, so that the pod is deleted with what grace the machine has left.
        await clock.sleep(10)
        assert not [pod for pod in await world.pods() if pod.spec.node_name and not pod.metadata.is_deleting]


async def test_case_spot_drain_upstreams_mode_drains_at_once(clock: LoopClock) -> None:
    settings = Settings(interruption=InterruptionSettings(mode="drain-at-once"))
    async with a_world(clock, catalog=CATALOG, settings=settings) as world:
        node = await a_spot_node(world)
        world.market.interrupt(node.spec.provider_id)
        await clock.sleep(1)
        assert await world.leaving() == {node.metadata.name}


async def test_a_protected_pod_is_evicted_all_the_same(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        node = await a_spot_node(world, annotations={"karpenter.sh/do-not-evict": "true"})
        world.market.interrupt(node.spec.provider_id)

        async def moved() -> bool:
            return await is_gone(world, node.metadata.name) and await world.running() == 1

        await world.until(moved)
        assert await world.events("Evicted")


async def test_tv136_a_rebalance_recommendation_is_an_event_and_nothing_else(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        node = await a_spot_node(world)
        world.market.announce(node.spec.provider_id, InterruptionKind.REBALANCE_RECOMMENDATION)
        await clock.sleep(60)
        assert (await world.tainted(), len(await world.claims())) == (set(), 1)
        assert await world.events("SpotRebalanceRecommendation")


async def test_a_setting_lets_a_rebalance_recommendation_replace_the_node(clock: LoopClock) -> None:
    settings = Settings(interruption=InterruptionSettings(rebalance="replace"))
    async with a_world(clock, catalog=CATALOG, settings=settings) as world:
        node = await a_spot_node(world)
        world.market.announce(node.spec.provider_id, InterruptionKind.REBALANCE_RECOMMENDATION)

        async def replaced() -> bool:
            return await is_gone(world, node.metadata.name) and await world.running() == 1

        await world.until(replaced)


async def test_tv137_announced_maintenance_replaces_the_node_first(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        node = await a_spot_node(world)
        world.market.announce(node.spec.provider_id, InterruptionKind.SCHEDULED_CHANGE)
        await clock.sleep(1.5)
        assert (await world.tainted(), await world.leaving()) == ({node.metadata.name}, set())

        async def replaced() -> bool:
            return await is_gone(world, node.metadata.name) and await world.running() == 1

        await world.until(replaced)


@pytest.mark.parametrize("kind", [InterruptionKind.STOPPING, InterruptionKind.TERMINATING])
async def test_tv139_a_machine_that_ends_takes_its_claim_along(clock: LoopClock, kind: InterruptionKind) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        node = await a_spot_node(world)
        world.market.announce(node.spec.provider_id, kind)
        await clock.sleep(1)
        assert await world.leaving() == {node.metadata.name}


@pytest.mark.parametrize("after_s", [0.0, 0.5, 2.0, 5.0])
async def test_a_restart_after_the_notice_sees_the_interruption_through(clock: LoopClock, after_s: float) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        node = await a_spot_node(world)
        world.market.interrupt(node.spec.provider_id)
        await clock.sleep(after_s)
        await world.crash_operator()

        async def replaced() -> bool:
            return await is_gone(world, node.metadata.name) and await world.running() == 1

        await world.until(replaced, within_s=150)
        assert len(await world.claims()) == len(world.instances()) == 1
