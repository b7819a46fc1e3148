"""Nodes that are smaller than their claims say: spec v1 L-7."""

from karpenter.lifecycle.consistency import shortfall
from karpenter.model.nodeclaim import NodeClaim
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import RawObject
from tests.builders import a_claim, a_node
from tests.scenarios.toys import CATALOG, a_toy_provisioner
from tests.scenarios.world import World, a_world


def a_promise(**requests: str) -> NodeClaim:
    return a_claim(requests=requests, capacity={"cpu": 4000, "memory": 16 * 2**30, "nvidia.com/gpu": 1})


def test_nine_tenths_of_a_promise_are_enough() -> None:
    assert shortfall(a_promise(cpu="1", memory="1Gi"), a_node(cpu="3600m", memory="14.4Gi")) is None


def test_less_is_named_with_both_amounts() -> None:
    found = shortfall(a_promise(cpu="1", memory="1Gi"), a_node(cpu="3599m"))
    assert found == "expected 4 of cpu, the node has 3599m"


def test_only_what_the_claims_pods_asked_for_counts() -> None:
    assert shortfall(a_promise(cpu="1"), a_node(cpu="4", memory="1Gi")) is None
    assert shortfall(a_promise(**{"nvidia.com/gpu": "1"}), a_node()) is not None


async def test_a_node_smaller_than_promised_shows_on_its_claim_within_ten_minutes(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        await world.apply(a_toy_provisioner())
        await world.deploy("web", 1)
        await world.all_running(1)
        await clock.sleep(620)
        assert (await consistency(world))["status"] == "True"
        (claim,) = await world.claims()
        promised = {"status": {"capacity": {**claim["status"]["capacity"], "cpu": "5"}}}
        await world.kube.patch(api.NODE_CLAIMS, claim["metadata"]["name"], promised, subresource="status")
        await clock.sleep(620)
        found = await consistency(world)
        assert (found["status"], found["reason"]) == ("False", "ConsistencyCheckFailed")
        assert len(await world.events("FailedConsistencyCheck")) == 1


async def consistency(world: World) -> RawObject:
    (claim,) = await world.claims()
    (found,) = [one for one in claim["status"]["conditions"] if one["type"] == "ConsistentStateFound"]
    return found
