"""A restart at any moment converges: nothing is leaked, nothing is launched twice, every pod runs (L-4, D-2)."""

import pytest

from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kubememory import MemoryKubeClient
from tests.scenarios.test_rolling import a_fleet, rolled
from tests.scenarios.toys import CATALOG, a_toy_provisioner
from tests.scenarios.trouble import Trouble, TroubledClient
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, a_world

MOMENTS_S = [0.3, 1.0, 1.01, 1.05, 1.1, 1.15, 1.2, 1.5, 3.0, 6.0]
"""Around the end of the batch window, where claims are written and machines launched, and while nodes boot."""


@pytest.mark.parametrize("moment_s", MOMENTS_S)
async def test_a_crash_during_a_scale_up_launches_nothing_twice_and_leaks_nothing(
    clock: LoopClock, moment_s: float
) -> None:
    async with a_world(clock) as world:
        await world.apply(NODE_TEMPLATE, PROVISIONER)
        await clock.sleep(3)
        await world.deploy("web", 40)
        await clock.sleep(moment_s)
        await world.crash_operator()
        await world.all_running(40)
        claims = {claim["status"]["providerID"] for claim in await world.claims()}
        nodes = {node.spec.provider_id for node in await world.nodes()}
        assert claims == nodes == {instance.provider_id for instance in world.instances()}
        # What the same scale-up needs without a crash: 15 + 15 + 7 + 3 pods.
        assert len(nodes) == 4
        await world.scale("web", 0)
        await world.nothing_left()


@pytest.mark.parametrize("moment_s", [0.1, 1.0, 2.0, 5.0, 5.5, 6.0, 8.0])
async def test_a_crash_during_a_drain_ends_the_drain_all_the_same(clock: LoopClock, moment_s: float) -> None:
    async with a_world(clock) as world:
        await world.apply(NODE_TEMPLATE, PROVISIONER)
        await world.deploy("web", 10)
        await world.all_running(10)
        await world.scale("web", 0)
        await clock.sleep(30 + moment_s)
        await world.crash_operator()
        await world.nothing_left()


MOMENTS = range(1, 41, 3)
"""Writes of ours, as they begin and as they have had their effect, from the change of the template on."""


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_crash_at_any_write_of_a_roll_neither_stops_it_nor_replaces_a_node_twice(
    clock: LoopClock, moment: int
) -> None:
    clients: list[TroubledClient] = []

    def through(kube: MemoryKubeClient) -> TroubledClient:
        clients.append(TroubledClient(kube, clock, Trouble()))
        return clients[-1]

    async with a_world(clock, catalog=CATALOG, through=through) as world:
        old = await a_fleet(world, 1, a_toy_provisioner(consolidation={"enabled": True}))
        await clock.sleep(5)
        reaper = clients[0].reaper
        reaper.come_after(moment)
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": {"team": "b"}}})
        await reaper.has_come.wait()
        reaper.leave()
        await world.crash_operator()
        seen = await rolled(world, old, pods=1)
        assert seen.most_nodes <= 2
        await clock.sleep(60)
        assert await world.tainted() == set()
        assert len(await world.claims()) == len(world.instances()) == 1


@pytest.mark.parametrize("moment", range(1, 9))
async def test_a_crash_at_any_write_of_a_removal_leaves_no_node_half_gone(clock: LoopClock, moment: int) -> None:
    clients: list[TroubledClient] = []

    def through(kube: MemoryKubeClient) -> TroubledClient:
        clients.append(TroubledClient(kube, clock, Trouble()))
        return clients[-1]

    async with a_world(clock, catalog=CATALOG, through=through) as world:
        await a_fleet(world, 1, a_toy_provisioner(ttlSecondsAfterEmpty=30))
        await world.scale("web", 0)

        async def seen_empty() -> bool:
            (claim,) = await world.claims()
            return any(one["type"] == "Empty" for one in claim["status"]["conditions"])

        await world.until(seen_empty, step_s=0.1)
        reaper = clients[0].reaper
        reaper.come_after(moment)
        await reaper.has_come.wait()
        reaper.leave()
        # Before the next look at empty nodes a pod comes: a taint that was left behind would keep it away.
        await world.scale("web", 1)
        await world.crash_operator()
        await world.all_running(1)
        await clock.sleep(90)
        assert await world.tainted() == set()
        assert len(await world.claims()) == len(world.instances()) == 1
