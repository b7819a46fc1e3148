"""The pause switch stops everything within seconds, also what is under way: issue 6, point 8, in virtual time."""

import pytest

from karpenter.app.pause import change, pausing, resuming
from karpenter.model.pause import Level
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from tests.scenarios.test_rolling import a_fleet, rolled
from tests.scenarios.toys import CATALOG, a_toy_provisioner
from tests.scenarios.world import World, a_world

POOL = a_toy_provisioner(consolidation={"enabled": True})


async def drift_all(world: World) -> None:
    await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": {"team": "b"}}})


async def set_pause(world: World, level: Level, pool: str | None = None) -> None:
    await change(world.kube, "kube-system", pausing(pool, level))


async def end_pause(world: World, pool: str | None = None) -> None:
    await change(world.kube, "kube-system", resuming(pool, only_disruption=False))


@pytest.mark.parametrize("pool", [None, "default"])
async def test_a_paused_roll_does_not_begin_and_goes_on_when_resumed(clock: LoopClock, pool: str | None) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 2, POOL)
        await set_pause(world, "disruption", pool)
        await drift_all(world)
        await clock.sleep(300)
        assert ({node.metadata.name for node in await world.nodes()}, await world.tainted()) == (old, set())
        await end_pause(world, pool)
        await rolled(world, old, pods=2)


async def test_a_pause_takes_a_command_back_within_five_seconds(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 1, POOL)
        await drift_all(world)

        async def replacing() -> bool:
            return len(await world.claims()) == 2

        await world.until(replacing, step_s=0.1)
        await set_pause(world, "disruption")
        await clock.sleep(5)
        assert await world.tainted() == set()
        await clock.sleep(120)
        assert {node.metadata.name for node in await world.nodes()} == old


async def test_with_disruption_paused_pods_still_get_nodes_and_deleted_nodes_still_drain(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        (node,) = await a_fleet(world, 1, POOL)
        await set_pause(world, "disruption")
        await world.scale("web", 2)
        await world.all_running(2)
        await world.kube.delete(api.NODES, node)

        async def gone() -> bool:
            return node not in {one.metadata.name for one in await world.nodes()}

        await world.until(gone)
        await world.all_running(2)


async def test_with_everything_paused_nothing_is_launched_and_nothing_drained(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 1, POOL)
        await set_pause(world, "everything")
        await clock.sleep(5)
        await world.scale("web", 3)
        await world.kube.delete(api.NODES, *old)
        await clock.sleep(120)
        assert (await world.running(), len(await world.claims())) == (1, 1)
        await end_pause(world)
        await rolled(world, old, pods=3)


async def test_a_pause_survives_a_restart(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 1, POOL)
        await set_pause(world, "everything")
        await world.crash_operator()
        await drift_all(world)
        await world.scale("web", 2)
        await clock.sleep(120)
        assert {node.metadata.name for node in await world.nodes()} == old
