"""Drift and expiration, from the condition to the end of the last old machine: D-30, D-31, DEP-11, DEP-30."""

from typing import Any

import pytest

from karpenter.app.settings import Settings
from karpenter.disruption.options import Expiration
from karpenter.model import labels
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from tests.builders import a_node_pool, an_ec2_node_class
from tests.scenarios.toys import CATALOG, a_pool_manifest, a_toy_provisioner
from tests.scenarios.watching import Sight, watched
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, World, a_world

KEEP_EMPTY = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"}


async def a_fleet(world: World, nodes: int, *manifests: Any, cpu: str = "3") -> set[str]:
    """Apply a pool and run one pod a node; return the nodes' names."""
    await world.apply(*manifests)
    await world.deploy("web", nodes, cpu=cpu)
    await world.all_running(nodes)
    names = {node.metadata.name for node in await world.nodes()}
    assert len(names) == nodes
    return names


async def drifted_claims(world: World) -> list[str]:
    claims = await world.claims()
    return [one["metadata"]["name"] for one in claims if _is_drifted(one)]


def _is_drifted(claim: Any) -> bool:
    conditions = claim["status"].get("conditions", ())
    return any(one["type"] == "Drifted" and one["status"] == "True" for one in conditions)


async def rolled(world: World, old: set[str], pods: int, *, within_s: float = 1800) -> Sight:
    """Wait until none of the old nodes is left and all pods run; return what was seen on the way."""
    async with watched(world) as sight:

        async def is_over() -> bool:
            running = [pod for pod in sight.pods.values() if pod.status.phase == "Running"]
            return not sight.nodes.keys() & old and len(running) == len(sight.pods) == pods

        await world.until(is_over, within_s=within_s, step_s=1)
    return sight


async def test_tv125_a_provisioners_drifted_nodes_go_one_at_a_time_each_replaced_first(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 3, a_toy_provisioner(consolidation={"enabled": True}))
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": {"team": "b"}}})
        seen = await rolled(world, old, pods=3)
        assert seen.drift_reasons == {"ProvisionerDrifted"}
        assert (seen.most_leaving, seen.most_nodes, seen.fewest_ready_nodes) == (1, 4, 3)
        assert {node.metadata.labels["team"] for node in await world.nodes()} == {"b"}
        assert len(await world.claims()) == len(world.instances()) == 3


async def test_tv124_new_images_drift_the_nodes_within_five_minutes_and_roll_them(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        old = await a_fleet(world, 2, NODE_TEMPLATE, PROVISIONER, cpu="30")
        world.market.release_images()

        async def drifted() -> bool:
            return bool(await drifted_claims(world))

        await world.until(drifted, within_s=305)
        seen = await rolled(world, old, pods=2)
        assert seen.drift_reasons == {"AMIDrift"}


async def test_a_node_pools_budget_lets_several_nodes_go_at_once(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        disruption = {**KEEP_EMPTY, "budgets": [{"nodes": "2"}]}
        old = await a_fleet(world, 6, a_pool_manifest(disruption=disruption))
        await world.kube.patch(
            api.NODE_POOLS, "default", {"spec": {"template": {"metadata": {"labels": {"team": "b"}}}}}
        )
        seen = await rolled(world, old, pods=6)
        assert (seen.drift_reasons, seen.most_leaving) == ({"NodePoolDrifted"}, 2)
        assert seen.fewest_ready_nodes >= 6


async def test_tv126_requirements_that_exclude_a_node_drift_it_and_wider_ones_do_not(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 1, a_toy_provisioner(consolidation={"enabled": True}))
        wider = a_toy_provisioner(types=("c.4", "c.8"))["spec"]["requirements"]
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"requirements": wider}})
        await clock.sleep(330)
        assert await drifted_claims(world) == []
        other = a_toy_provisioner(types=("m.4",))["spec"]["requirements"]
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"requirements": other}})
        seen = await rolled(world, old, pods=1)
        assert seen.drift_reasons == {"RequirementsDrifted"}
        assert {node.metadata.labels[labels.INSTANCE_TYPE] for node in await world.nodes()} == {"m.4"}


async def test_a_template_that_is_changed_back_stops_the_roll(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 2, a_toy_provisioner(consolidation={"enabled": True}))
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": {"team": "b"}}})

        async def begun() -> bool:
            return len(await world.claims()) == 3

        await world.until(begun, step_s=0.1)
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": None}})
        await clock.sleep(120)
        assert {node.metadata.name for node in await world.nodes()} == old
        assert await world.tainted() == set()
        assert await drifted_claims(world) == []


async def test_a_short_time_to_live_given_later_rolls_the_fleet_one_node_at_a_time(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 3, a_toy_provisioner(consolidation={"enabled": True}))
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"ttlSecondsUntilExpired": 60}})
        seen = await rolled(world, old, pods=3)
        assert seen.most_leaving == 1
        assert seen.fewest_ready_nodes >= 3


HERD = {"template": {"expireAfter": "1h"}, "disruption": {**KEEP_EMPTY, "budgets": [{"nodes": "10%"}]}}


async def test_case_expire_herd_only_the_budgets_share_of_the_herd_goes_at_once(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 20, a_pool_manifest(**HERD))
        await clock.sleep(3500)
        seen = await rolled(world, old, pods=20, within_s=3600)
        assert seen.most_leaving <= 2
        assert seen.fewest_ready_nodes >= 20


async def test_case_expire_herd_with_a_hard_deadline_all_are_gone_by_it_whatever_holds_them(clock: LoopClock) -> None:
    settings = Settings(expiration=Expiration(deadline_s=3600))
    async with a_world(clock, catalog=CATALOG, settings=settings) as world:
        old = await a_fleet(world, 4, a_pool_manifest(template={"expireAfter": "1h"}, disruption=HERD["disruption"]))
        await world.kube.create(api.PDBS, a_budget("web", min_available=4), namespace="default")
        await clock.sleep(3600 + 3600 - 30)
        assert not {node.metadata.name for node in await world.nodes()} & old
        await world.all_running(4)


async def test_case_expire_herd_upstreams_mode_starts_all_together(clock: LoopClock) -> None:
    settings = Settings(expiration=Expiration(mode="forceful"))
    async with a_world(clock, catalog=CATALOG, settings=settings) as world:
        old = await a_fleet(world, 4, a_pool_manifest(**HERD))
        # So long after their creation and one interval of the loop later. The quickest of them may be gone already.
        await clock.sleep(3600 + 5)
        still_there = old & {node.metadata.name for node in await world.nodes()}
        assert still_there <= await world.leaving()
        await rolled(world, old, pods=4)


@pytest.mark.parametrize("annotation", ["karpenter.sh/do-not-evict", "karpenter.sh/do-not-disrupt"])
async def test_a_protected_pod_keeps_its_drifted_node_and_an_event_says_so(clock: LoopClock, annotation: str) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        await world.apply(a_toy_provisioner(consolidation={"enabled": True}))
        await world.deploy("web", 1, cpu="3", annotations={annotation: "true"})
        await world.all_running(1)
        (node,) = await world.nodes()
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": {"team": "b"}}})
        await clock.sleep(120)
        assert [one.metadata.name for one in await world.nodes()] == [node.metadata.name]
        messages = [event["message"] for event in await world.events("DisruptionBlocked")]
        assert any(f"says {annotation}: true" in message for message in messages)


def a_budget(app: str, **spec: Any) -> dict[str, Any]:
    rule = {"minAvailable" if key == "min_available" else "maxUnavailable": value for key, value in spec.items()}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app},
        "spec": {"selector": {"matchLabels": {"app": app}}, **rule},
    }


async def test_case_pdb_block_a_a_single_replica_under_a_budget_keeps_its_drifted_node(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 1, a_toy_provisioner(consolidation={"enabled": True}))
        await world.kube.create(api.PDBS, a_budget("web", min_available=1), namespace="default")
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": {"team": "b"}}})
        await clock.sleep(300)
        assert {node.metadata.name for node in await world.nodes()} == old
        assert len(await world.claims()) == 1
        messages = {event["message"] for event in await world.events("DisruptionBlocked")}
        assert any("budget default/web allows no eviction of pod default/web-" in message for message in messages)


async def test_case_pdb_block_d_with_a_termination_grace_period_the_drain_starts_and_ends_by_force(
    clock: LoopClock,
) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        pool = a_pool_manifest(template={"terminationGracePeriod": "1h"}, disruption=KEEP_EMPTY)
        old = await a_fleet(world, 1, pool)
        await world.kube.create(api.PDBS, a_budget("web", min_available=1), namespace="default")
        await world.kube.patch(
            api.NODE_POOLS, "default", {"spec": {"template": {"metadata": {"labels": {"team": "b"}}}}}
        )

        async def draining() -> bool:
            return await world.leaving() == old

        await world.until(draining)
        begun = clock.now()
        # The pod's own 30 s of grace have to fit into the hour.
        await clock.sleep(3600 - 35)
        assert await world.leaving() == old
        stuck = [event["message"] for event in await world.events("FailedDraining")]
        assert any("budget default/web allows none since 20" in message for message in stuck)
        seen = await rolled(world, old, pods=1, within_s=120)
        assert clock.now() - begun <= 3600 + 60
        assert seen.most_leaving == 1


async def test_an_edited_node_class_drifts_its_nodes_and_a_selector_does_not(clock: LoopClock) -> None:
    """Spec v1 A-50, V75: `NodeClassDrift` is the first reason that a cloud gives."""
    async with a_world(clock) as world:
        await world.apply(a_node_pool(), an_ec2_node_class())
        await world.deploy("web", 1)
        await world.all_running(1)
        (before,) = await world.claims()
        selector = {"subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "*"}}]}
        await world.kube.patch(api.EC2_NODE_CLASSES, "default", {"spec": selector})
        await clock.sleep(120)
        (same,) = await world.claims()
        assert same["metadata"]["uid"] == before["metadata"]["uid"]

        await world.kube.patch(api.EC2_NODE_CLASSES, "default", {"spec": {"tags": {"team": "a"}}})

        reasons: set[str] = set()

        async def replaced() -> bool:
            listed = await world.claims()
            conditions = [one for claim in listed for one in claim["status"].get("conditions", ())]
            reasons.update(one["reason"] for one in conditions if one["type"] == "Drifted")
            return before["metadata"]["uid"] not in {claim["metadata"]["uid"] for claim in listed}

        await world.until(replaced, within_s=600)
        assert reasons == {"NodeClassDrift"}
        await world.all_running(1)
