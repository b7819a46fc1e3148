"""A node whose replacement never gets ready is given back (spec v1 §6.4 C-12), in virtual time."""

from dataclasses import replace
from typing import Any

from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from tests.scenarios.test_rolling import KEEP_EMPTY, a_fleet
from tests.scenarios.toys import CATALOG, a_pool_manifest
from tests.scenarios.world import World, a_world

UNTAINTED_WITHIN_S = 11 * 60
DELETED_WITHIN_S = 17 * 60


async def drift(world: World, template: Any) -> str:
    """Change what nodes are made from, and return the first of them that is about to be replaced."""
    await world.kube.patch(api.NODE_POOLS, "default", {"spec": {"template": template}})

    async def is_tainted() -> bool:
        return bool(await world.tainted())

    await world.until(is_tainted)
    (first,) = await world.tainted()
    return first


async def is_given_back(world: World, node: str, old: set[str]) -> None:
    """Wait until a node is not tainted any more; all pods run where they ran. Another may be tried by then."""

    async def is_untainted() -> bool:
        return node not in await world.tainted()

    await world.until(is_untainted, within_s=UNTAINTED_WITHIN_S)
    assert old <= {node.metadata.name for node in await world.nodes()}
    assert await world.running() == len(old)


async def test_c12_a_node_whose_replacement_never_initializes_is_given_back(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG, startup_taints="manual") as world:
        old = await a_fleet(world, 2, a_pool_manifest(disruption=KEEP_EMPTY))
        first = await drift(world, {"spec": {"startupTaints": [{"key": "example.com/wait", "effect": "NoSchedule"}]}})
        await is_given_back(world, first, old)


async def test_c12_a_machine_that_never_registers_is_given_back_and_so_is_the_node_it_was_for(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 2, a_pool_manifest(disruption=KEEP_EMPTY))
        before = {one["metadata"]["name"] for one in await world.claims()}
        world.market.settings = replace(world.market.settings, ready_p50_s=3e8, ready_p90_s=3e8 + 1)
        first = await drift(world, {"metadata": {"labels": {"team": "b"}}})
        (silent,) = {one["metadata"]["name"] for one in await world.claims()} - before
        began = clock.now()
        await is_given_back(world, first, old)

        async def is_gone() -> bool:
            return silent not in {one["metadata"]["name"] for one in await world.claims()}

        await world.until(is_gone, within_s=DELETED_WITHIN_S - (clock.now() - began))
