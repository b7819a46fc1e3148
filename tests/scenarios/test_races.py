"""Pods that come at the wrong moment keep their node: case DND-RACE, in virtual time."""

from typing import Any

import pytest

from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kubememory import MemoryKubeClient
from tests.scenarios.test_rolling import a_fleet
from tests.scenarios.toys import CATALOG, a_toy_provisioner
from tests.scenarios.trouble import Trouble, TroubledClient
from tests.scenarios.world import World, a_pod_manifest, a_world

PROTECTED = {"karpenter.sh/do-not-disrupt": "true"}


def a_protected_pod(name: str, **spec: Any) -> dict[str, Any]:
    manifest = a_pod_manifest(name, cpu="100m", memory="64Mi", **spec)
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": PROTECTED}}


class LatePods(Trouble):
    """Changes of pods are told 20 s late, from when that is switched on."""

    def __init__(self) -> None:
        self.is_on = False

    def delay_s(self, resource: str) -> float:
        return 20.0 if self.is_on and resource == "pods" else 0.0


async def an_empty_node(world: World) -> str:
    """Return a node that was just seen empty, and goes in a minute."""
    await world.apply(a_toy_provisioner(ttlSecondsAfterEmpty=60))
    await world.deploy("web", 1, cpu="3")
    await world.all_running(1)
    await world.scale("web", 0)

    async def seen_empty() -> bool:
        (claim,) = await world.claims()
        return any(one["type"] == "Empty" for one in claim["status"]["conditions"])

    await world.until(seen_empty, step_s=0.1)
    (node,) = await world.nodes()
    return str(node.metadata.name)


@pytest.mark.parametrize("is_late", [False, True])
async def test_case_dnd_race_protected_pods_that_are_bound_before_the_taint_keep_their_node(
    clock: LoopClock, is_late: bool
) -> None:
    late = LatePods()

    def through(kube: MemoryKubeClient) -> TroubledClient:
        return TroubledClient(kube, clock, late)

    async with a_world(clock, catalog=CATALOG, through=through) as world:
        node = await an_empty_node(world)
        await clock.sleep(50)
        late.is_on = is_late
        await world.create_pods(*(a_protected_pod(f"guard-{number}", nodeName=node) for number in range(8)))
        await clock.sleep(3600)
        assert {pod.metadata.name for pod in await world.pods()} == {f"guard-{number}" for number in range(8)}
        assert await world.running() == 8
        assert (await world.tainted(), len(await world.claims())) == (set(), 1)


async def test_case_dnd_race_b_a_pod_that_still_initializes_keeps_its_node(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        node = await an_empty_node(world)
        slow = [{"name": "wait", "image": "registry.example.com/app:1"}]
        await world.create_pods(a_protected_pod("guard", nodeName=node, initContainers=slow))
        await clock.sleep(300)
        assert [pod.metadata.name for pod in await world.pods()] == ["guard"]
        assert {one.metadata.name for one in await world.nodes()} == {node}


async def test_a_protected_pod_that_comes_while_the_replacement_boots_ends_the_command(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        (node,) = await a_fleet(world, 1, a_toy_provisioner(consolidation={"enabled": True}))
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": {"team": "b"}}})

        async def replacing() -> bool:
            return len(await world.claims()) == 2

        await world.until(replacing, step_s=0.1)
        await world.create_pods(a_protected_pod("guard", nodeName=node))
        await clock.sleep(120)
        assert await world.tainted() == set()
        assert node in {one.metadata.name for one in await world.nodes()}
        assert {pod.status.phase for pod in await world.pods()} == {"Running"}
        # The replacement is not needed and goes again.
        assert len(await world.claims()) == 1
