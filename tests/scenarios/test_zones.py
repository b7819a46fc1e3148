"""Zones of a fleet after launch: the cloud, left alone, would put everything of one price into one zone."""

from collections import Counter

from karpenter.app.settings import Settings
from karpenter.model import labels
from karpenter.provisioning.governor import LaunchLimits
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import RawObject
from tests.scenarios.world import NODE_TEMPLATE, World, a_world

ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
AT_ONCE = Settings(launch=LaunchLimits(per_minute=1000))


def a_plain_pool(*capacity_types: str) -> RawObject:
    """Return a pool of machines with 4 vCPU in three zones."""
    wanted = {
        labels.ZONE: ZONES,
        labels.CAPACITY_TYPE: capacity_types,
        labels.INSTANCE_CATEGORY: ("c", "m"),
        labels.INSTANCE_CPU: ("4",),
    }
    requirements = [{"key": key, "operator": "In", "values": list(values)} for key, values in wanted.items()]
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "plain"},
        "spec": {"providerRef": {"name": "default"}, "requirements": requirements},
    }


async def zones(world: World) -> Counter[str]:
    return Counter(node.metadata.labels[labels.ZONE] for node in await world.nodes())


async def test_a_hundred_plain_machines_are_25_to_45_in_each_of_three_zones(clock: LoopClock) -> None:
    async with a_world(clock, settings=AT_ONCE) as world:
        await world.apply(NODE_TEMPLATE, a_plain_pool("on-demand"))
        await world.deploy("web", 100, cpu="3")

        async def launched() -> bool:
            return len(world.instances()) == 100

        await world.until(launched)
        found = Counter(instance.offering.zone for instance in world.instances())
        assert all(25 <= found[zone] <= 45 for zone in ZONES)


async def test_nodes_that_come_one_after_another_are_levelled_too(clock: LoopClock) -> None:
    async with a_world(clock, settings=AT_ONCE) as world:
        await world.apply(NODE_TEMPLATE, a_plain_pool("on-demand"))
        for replicas in range(1, 7):
            await (world.deploy("web", 1, cpu="3") if replicas == 1 else world.scale("web", replicas))
            await world.all_running(replicas)
        assert await zones(world) == dict.fromkeys(ZONES, 2)


async def test_a_zone_without_capacity_costs_no_pod_its_place(clock: LoopClock) -> None:
    async with a_world(clock, settings=AT_ONCE) as world:
        world.market.exhaust(zone="us-west-2b")
        await world.apply(NODE_TEMPLATE, a_plain_pool("spot", "on-demand"))
        await world.deploy("web", 12, cpu="3")
        await world.all_running(12)
        found = await zones(world)
        assert found.total() == 12
        assert "us-west-2b" not in found
