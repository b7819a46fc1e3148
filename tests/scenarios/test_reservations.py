"""Capacity reservations, from the node class that selects them to the labels of nodes (spec v1 §2.8, A-10, A-28)."""

from typing import Any

from karpenter.model import labels
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import CONFIG_MAPS
from tests.builders import a_node_pool, an_ec2_node_class
from tests.scenarios.world import World, a_world

MAP = "simulated-cloud"


async def hold(world: World, lines: str) -> None:
    data = {"reservations": lines}
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": MAP, "namespace": "kube-system"},
        "data": data,
    }
    await world.kube.create(CONFIG_MAPS, body, namespace="kube-system")


async def with_reservations(world: World, lines: str, **spec: Any) -> None:
    await hold(world, lines)
    await world.apply(an_ec2_node_class(capacityReservationSelectorTerms=[{"id": "cr-1"}]), a_node_pool(**spec))
    await world.clock.sleep(90)


async def test_nodes_fill_the_reservation_first_and_say_so_in_their_labels(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await with_reservations(world, "cr-1 m5.2xlarge us-west-2a 2\ncr-9 m5.24xlarge us-west-2a 9")
        await world.deploy("web", 3, cpu="6")
        await world.all_running(3)
        nodes = await world.nodes()
        kinds = sorted(node.metadata.labels[labels.CAPACITY_TYPE] for node in nodes)
        assert kinds.count("reserved") == 2
        held = [node for node in nodes if node.metadata.labels[labels.CAPACITY_TYPE] == "reserved"]
        for node in held:
            found = node.metadata.labels
            assert (found[labels.INSTANCE_TYPE], found[labels.ZONE]) == ("m5.2xlarge", "us-west-2a")
            assert (found[labels.RESERVATION_ID], found[labels.RESERVATION_TYPE]) == ("cr-1", "default")
        others = [node for node in nodes if node not in held]
        assert not any(labels.RESERVATION_ID in node.metadata.labels for node in others)
        status = (await world.kube.get(api.EC2_NODE_CLASSES, "default"))["status"]
        assert [(one["id"], one["instanceType"]) for one in status["capacityReservations"]] == [("cr-1", "m5.2xlarge")]


async def test_a_place_that_becomes_free_is_used_again(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await with_reservations(world, "cr-1 m5.2xlarge us-west-2a 1")
        await world.deploy("web", 1, cpu="6")
        await world.all_running(1)
        assert world.market.reserved_left("cr-1") == 0
        await world.scale("web", 0)
        await clock.sleep(300)
        assert world.market.reserved_left("cr-1") == 1
        await world.scale("web", 1)
        await world.all_running(1)
        assert world.market.reserved_left("cr-1") == 0


async def test_a_reservation_that_ends_leaves_its_machines_running(clock: LoopClock) -> None:
    """D-27: a reserved claim is matched as reserved or on-demand."""
    async with a_world(clock) as world:
        await with_reservations(world, "cr-1 m5.2xlarge us-west-2a 1")
        await world.deploy("web", 1, cpu="6")
        await world.all_running(1)
        before = [node.metadata.name for node in await world.nodes()]
        await world.kube.patch(CONFIG_MAPS, MAP, {"data": {"reservations": ""}}, namespace="kube-system")
        await clock.sleep(2 * 3600)
        assert [node.metadata.name for node in await world.nodes()] == before
