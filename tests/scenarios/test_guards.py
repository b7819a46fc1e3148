"""Guards against loops and herds: issue 6, point 8; cases ALLOC-GUESS, REPAIR (D-37)."""

from dataclasses import replace
from typing import Any

from karpenter.app.settings import Settings
from karpenter.model import labels
from karpenter.model.units import to_rfc3339
from karpenter.provisioning.governor import LaunchLimits
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.sim.market.state import MarketSettings
from tests.scenarios.test_rolling import KEEP_EMPTY, a_fleet
from tests.scenarios.toys import CATALOG, a_pool_manifest
from tests.scenarios.world import World, a_world

SHORT = MarketSettings(memory_shortfall=0.05)
"""A type of 8 GiB gives 7.6."""


def types_of(nodes: list[Any]) -> list[str]:
    return sorted(node.metadata.labels[labels.INSTANCE_TYPE] for node in nodes)


async def test_case_alloc_guess_the_second_launch_knows_what_the_first_one_gave(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG, market=SHORT) as world:
        await world.apply(a_pool_manifest(types=("c.4", "m.4"), disruption=KEEP_EMPTY))
        await world.deploy("web", 1, cpu="1", memory="7800Mi")
        await world.all_running(1)
        assert types_of(await world.nodes()) == ["c.4", "m.4"]
        (event,) = [one for one in await world.events("LessAllocatable") if one["message"].startswith("c.4")]
        assert event["message"].startswith("c.4 promised 8Gi memory, gave 81604378")


async def test_case_alloc_guess_what_was_learned_survives_a_restart(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG, market=SHORT) as world:
        await world.apply(a_pool_manifest(types=("c.4", "m.4"), disruption=KEEP_EMPTY))
        await world.deploy("web", 1, cpu="1", memory="7800Mi")
        await world.all_running(1)
        await clock.sleep(5)
        await world.crash_operator()
        await world.deploy("other", 1, cpu="4", memory="7800Mi")
        await world.all_running(2)
        # Another 4 cpu do not fit on the m.4 beside the first pod; c.4 is known to be too small.
        assert types_of(await world.nodes()) == ["c.4", "m.4", "m.4"]


def silence_kubelets(world: World) -> None:
    """Let machines that are launched from now on never join: they boot for a year."""
    world.market.settings = replace(world.market.settings, ready_p50_s=3e8, ready_p90_s=3e8 + 1)


async def test_five_machines_in_a_row_that_never_join_stop_further_launches_for_a_minute_and_longer(
    clock: LoopClock,
) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        await world.apply(a_pool_manifest(disruption=KEEP_EMPTY))
        await clock.sleep(2)
        silence_kubelets(world)
        await world.deploy("web", 5, cpu="3")
        await clock.sleep(905)
        # All five were given up after fifteen minutes; for a minute nothing is launched instead.
        assert world.state.claims == {} or all(claim.metadata.is_deleting for claim in world.state.claims.values())
        messages = [event["message"] for event in await world.events("FailedScheduling")]
        assert any("in a row did not become nodes" in message for message in messages)
        # Then one is tried, and only one.
        await clock.sleep(120)
        living = [claim for claim in world.state.claims.values() if not claim.metadata.is_deleting]
        assert len(living) == 1


async def test_a_machine_that_joins_closes_the_breaker(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        await world.apply(a_pool_manifest(disruption=KEEP_EMPTY))
        await clock.sleep(2)
        usual = world.market.settings
        silence_kubelets(world)
        await world.deploy("web", 5, cpu="3")
        await clock.sleep(902)
        world.market.settings = usual
        await world.all_running(5)


async def test_no_more_than_twenty_machines_are_launched_within_a_minute_by_a_small_fleet(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        await world.apply(a_pool_manifest(disruption=KEEP_EMPTY))
        await world.deploy("web", 25, cpu="3")
        await clock.sleep(55)
        assert len(await world.claims()) == 20
        messages = [event["message"] for event in await world.events("FailedScheduling")]
        assert any("20 machines were launched within a minute, the limit is 20" in message for message in messages)
        await world.all_running(25)


async def test_a_cap_on_the_hourly_price_holds(clock: LoopClock) -> None:
    settings = Settings(launch=LaunchLimits(price_per_hour=0.5))
    async with a_world(clock, catalog=CATALOG, settings=settings) as world:
        await world.apply(a_pool_manifest(disruption=KEEP_EMPTY))
        await world.deploy("web", 5, cpu="3")
        await clock.sleep(120)
        # Three machines at 0.16 $/h are 0.48.
        assert len(await world.claims()) == 3
        messages = [event["message"] for event in await world.events("FailedScheduling")]
        assert any("would exceed the cap of 0.5 $/h" in message for message in messages)


async def test_a_node_that_is_never_initialized_goes_after_an_hour_if_it_holds_no_pods(clock: LoopClock) -> None:
    startup = [{"key": "example.com/wait", "effect": "NoSchedule"}]
    async with a_world(clock, catalog=CATALOG, startup_taints="manual") as world:
        await world.apply(a_pool_manifest(template={"startupTaints": startup}, disruption=KEEP_EMPTY))
        await world.deploy("web", 1, cpu="3")
        await clock.sleep(3500)
        (node,) = await world.nodes()
        await clock.sleep(200)
        assert node.metadata.name not in {one.metadata.name for one in await world.nodes()}


async def spoil(world: World, name: str) -> None:
    """Let a node say from now on that its storage is broken, which its kubelet does not take back."""
    now = to_rfc3339(world.clock.now())
    broken = {"type": "StorageReady", "status": "False", "lastTransitionTime": now}
    patch = {"status": {"conditions": [broken]}}
    await world.kube.patch(api.NODES, name, patch, subresource="status", patch_type="strategic")


async def test_case_repair_a_node_that_has_not_been_ready_for_half_an_hour_is_replaced(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        names = sorted(await a_fleet(world, 3, a_pool_manifest(disruption=KEEP_EMPTY)))
        await spoil(world, names[0])
        await clock.sleep(1700)
        assert names[0] not in await world.leaving()
        await clock.sleep(300)
        assert names[0] not in {node.metadata.name for node in await world.nodes()}
        await world.all_running(3)


async def test_case_repair_two_of_three_broken_nodes_are_left_alone(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        names = sorted(await a_fleet(world, 3, a_pool_manifest(disruption=KEEP_EMPTY)))
        await spoil(world, names[0])
        await spoil(world, names[1])
        await clock.sleep(2400)
        assert await world.leaving() == set()
        messages = {event["message"] for event in await world.events("NodeRepairBlocked")}
        assert messages == {"2 nodes of NodePool default are unhealthy, more than 1 (20%)"}
