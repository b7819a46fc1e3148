"""What NodePools say about themselves (spec v1 §1.4.2, §1.4.3)."""

from typing import Any

from karpenter.model import labels
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from tests.builders import a_node_pool, an_ec2_node_class
from tests.scenarios.world import World, a_world


async def _pool(world: World) -> Any:
    return await world.kube.get(api.NODE_POOLS, "default")


async def _condition(world: World, kind: str) -> tuple[str, str]:
    conditions = (await _pool(world)).get("status", {}).get("conditions", [])
    found = next((each for each in conditions if each["type"] == kind), None)
    return (found["status"], found["reason"]) if found else ("", "")


async def _says(world: World, kind: str, status: str, reason: str) -> None:
    async def said() -> bool:
        return await _condition(world, kind) == (status, reason)

    await world.until(said, within_s=60)


async def test_readiness_follows_the_node_class(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(a_node_pool())
        await _says(world, "NodeClassReady", "False", "NodeClassNotFound")
        await _says(world, "Ready", "False", "NodeClassNotFound")
        await world.apply(an_ec2_node_class())
        await _says(world, "Ready", "True", "Ready")
        await _says(world, "ValidationSucceeded", "True", "ValidationSucceeded")
        assert (await _pool(world))["status"]["nodeClassObservedGeneration"] == 1


async def test_the_hash_of_the_template_stands_on_the_pool_and_on_its_claims(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(a_node_pool(), an_ec2_node_class())
        await world.deploy("web", 1)
        await world.all_running(1)
        annotations = (await _pool(world))["metadata"]["annotations"]
        (claim,) = await world.claims()
        assert annotations[labels.NODEPOOL_HASH] == claim["metadata"]["annotations"][labels.NODEPOOL_HASH]
        assert annotations[labels.NODEPOOL_HASH_VERSION] == "v3"
        await _says(world, "NodeRegistrationHealthy", "True", "NodeRegistrationHealthy")


async def test_claims_of_an_older_way_of_hashing_follow_and_do_not_drift(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(a_node_pool(), an_ec2_node_class())
        await world.deploy("web", 1)
        await world.all_running(1)
        old = {"metadata": {"annotations": {labels.NODEPOOL_HASH: "1", labels.NODEPOOL_HASH_VERSION: "v2"}}}
        (claim,) = await world.claims()
        await world.kube.patch(api.NODE_CLAIMS, claim["metadata"]["name"], old)
        await world.kube.patch(api.NODE_POOLS, "default", old)

        async def moved() -> bool:
            (claim,) = await world.claims()
            return bool(claim["metadata"]["annotations"][labels.NODEPOOL_HASH_VERSION] == "v3")

        await world.until(moved, within_s=60)
        await clock.sleep(120)
        assert len(await world.claims()) == 1
