"""What pools and claims are told (spec v1 §5.4): S-47, L-5, D-25."""

from karpenter.app.settings import Settings
from karpenter.disruption.scores import tell_search
from karpenter.disruption.verdict import Blocked, Score, Verdict
from karpenter.model import labels
from karpenter.model.units import PoolKey
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.scheduling.policy import Policy
from tests.builders import a_node_pool, an_ec2_node_class
from tests.scenarios.world import World, a_world

PRICE_ONLY = Settings(policy=Policy(rails=False, move_price=0.0, node_fee=0.0))


async def test_s47_a_pool_whose_min_values_leave_no_type_says_so(clock: LoopClock) -> None:
    requirements = [
        {"key": labels.INSTANCE_CATEGORY, "operator": "In", "values": ["m"]},
        {"key": labels.INSTANCE_FAMILY, "operator": "Exists", "minValues": 50},
    ]
    async with a_world(clock) as world:
        await world.apply(an_ec2_node_class(), a_node_pool(template={"requirements": requirements}))
        await world.deploy("web", 1)

        async def told() -> bool:
            return bool(await world.events("NoCompatibleInstanceTypes"))

        await world.until(told, within_s=30)
        (event,) = await world.events("NoCompatibleInstanceTypes")
        assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("NodePool", "default")
        assert "50 values" in event["message"]
        assert "minValues" in event["message"]


async def test_l5_a_node_that_joins_without_the_unregistered_taint_is_noticed(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(an_ec2_node_class(), a_node_pool())
        await world.deploy("web", 1)

        async def launched() -> bool:
            return any(claim.get("status", {}).get("providerID") for claim in await world.claims())

        await world.until(launched)
        (claim,) = await world.claims()
        await world.kube.create(api.NODES, _a_bare_node(claim["status"]["providerID"]))

        async def told() -> bool:
            return bool(await world.events("UnregisteredTaintMissing"))

        await world.until(told, within_s=30)
        (event,) = await world.events("UnregisteredTaintMissing")
        assert event["involvedObject"]["name"] == claim["metadata"]["name"]
        assert "node early joined without the taint karpenter.sh/unregistered:NoExecute" in event["message"]


def _a_bare_node(provider_id: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "early"},
        "spec": {"providerID": provider_id},
    }


async def test_d25_a_balanced_pool_says_which_moves_it_approved(clock: LoopClock) -> None:
    async with a_world(clock, settings=PRICE_ONLY) as world:
        await _shrunk(world, "Balanced")
        events = await world.events("ConsolidationApproved")
        assert {event["involvedObject"]["kind"] for event in events} <= {"Node", "NodeClaim", "NodePool"}
        assert all("of what NodePool default has disturbed for it" in event["message"] for event in events)
        assert events
        candidates = await world.events("ConsolidationCandidate")
        assert {event["involvedObject"]["kind"] for event in candidates} == {"Node", "NodeClaim"}
        assert all(" $/h, " in event["message"] and "in its place" in event["message"] for event in candidates)
        text = world.metrics.render().decode()
        assert 'karpenter_consolidation_moves_total{decision="approved",nodepool="default",policy="Balanced"}' in text
        assert 'karpenter_consolidation_score_bucket{decision="approved",le="0.5"' in text


async def test_what_stays_for_its_price_or_by_a_pools_judgement_is_said_on_the_node(clock: LoopClock) -> None:
    """Spec v1 §5.4: Unconsolidatable, ConsolidationRejected."""
    async with a_world(clock) as world:
        await world.apply(an_ec2_node_class(), a_node_pool())
        await world.deploy("web", 1)
        await world.all_running(1)
        (name,) = [node.metadata.name for node in await world.nodes()]
        context, pool = world.assembly.operator._parts.context, PoolKey("NodePool", "default")
        stays = Blocked(name, "Price", "a machine for its pods costs 0.2 $/h", reason="Underutilized")
        protected = Blocked(name, "DoNotDisrupt", "pod db-0 says so", reason="Underutilized")
        tell_search(context, Verdict((), (stays, protected), scores=(Score(pool, (name,), 0.25, is_approved=False),)))
        await clock.sleep(5)
        unconsolidatable = await world.events("Unconsolidatable")
        assert {event["message"] for event in unconsolidatable} == {"a machine for its pods costs 0.2 $/h"}
        assert {event["involvedObject"]["kind"] for event in unconsolidatable} == {"Node", "NodeClaim"}
        (rejected,) = {event["message"] for event in await world.events("ConsolidationRejected")}
        assert rejected == "what it would save is worth 0.25 of what NodePool default has disturbed for it"


async def test_d23_other_policies_are_not_asked(clock: LoopClock) -> None:
    async with a_world(clock, settings=PRICE_ONLY) as world:
        await _shrunk(world, "WhenEmptyOrUnderutilized")
        assert await world.events("ConsolidationApproved") == []
        assert "karpenter_consolidation_moves_total{" not in world.metrics.render().decode()


async def _shrunk(world: World, policy: str) -> None:
    """Let a pool of several nodes have too many of them, and wait until that is mended."""
    on_demand = [
        {"key": labels.CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]},
        {"key": labels.INSTANCE_TYPE, "operator": "In", "values": ["m5.xlarge"]},
    ]
    disruption = {"consolidationPolicy": policy, "consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}
    await world.apply(an_ec2_node_class(), a_node_pool(template={"requirements": on_demand}, disruption=disruption))
    await world.deploy("web", 12)
    await world.all_running(12)
    before = len(await world.nodes())
    await world.scale("web", 4)

    async def fewer() -> bool:
        return len(await world.nodes()) <= before // 2

    await world.until(fewer, within_s=900)
