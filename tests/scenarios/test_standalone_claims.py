"""NodeClaims that users make themselves, without any pool (spec v1 §1.5)."""

from typing import Any

from karpenter.model import labels
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from tests.builders import an_ec2_node_class
from tests.scenarios.world import World, a_pod_manifest, a_world


def a_claim(name: str = "mine", **spec: Any) -> Any:
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, "labels": {"team": "a"}},
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "requirements": [{"key": labels.INSTANCE_CPU, "operator": "In", "values": ["4"]}],
            "resources": {"requests": {"cpu": "3"}},
            "expireAfter": "Never",
            **spec,
        },
    }


async def _initialized(world: World) -> float:
    async def ready() -> bool:
        return any(node.metadata.labels.get(labels.INITIALIZED) == "true" for node in await world.nodes())

    return await world.until(ready)


async def test_a_claim_without_a_pool_gets_a_machine_that_pods_may_use(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(an_ec2_node_class())
        await world.kube.create(api.NODE_CLAIMS, a_claim())
        await _initialized(world)
        (node,) = await world.nodes()
        assert node.metadata.labels["team"] == "a"
        assert node.metadata.labels[labels.INSTANCE_CPU] == "4"
        assert labels.NODEPOOL not in node.metadata.labels
        await world.create_pods(a_pod_manifest("p"))
        await world.all_running(1)


async def test_it_stays_when_it_is_empty_and_goes_when_its_owner_says_so(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(an_ec2_node_class())
        await world.kube.create(api.NODE_CLAIMS, a_claim())
        await _initialized(world)
        await clock.sleep(1200)
        assert len(await world.nodes()) == 1
        await world.kube.delete(api.NODE_CLAIMS, "mine")
        await world.nothing_left()


async def test_a_claim_of_a_missing_node_class_is_deleted(clock: LoopClock) -> None:
    """L-2, C-13."""
    async with a_world(clock) as world:
        await world.kube.create(api.NODE_CLAIMS, a_claim())
        await world.nothing_left()


async def test_it_expires_like_any_other(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(an_ec2_node_class())
        await world.kube.create(api.NODE_CLAIMS, a_claim(expireAfter="600s"))
        await _initialized(world)

        async def gone() -> bool:
            return not await world.claims()

        assert await world.until(gone, within_s=1200) > 400
