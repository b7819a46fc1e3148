"""What users are told about nodes that stay: events of spec v1 B-1 and B-8, issue 6 points 4 and 7."""

import json

from karpenter.app.manifests.live import read_cluster
from karpenter.app.simulation.dumps import completed
from karpenter.app.simulation.offers import Quote
from karpenter.app.simulation.world import snapshot_of
from karpenter.disruption.staying import all_stays
from karpenter.model.nodepool import NodePool
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.state.offers import load_offers
from tests.scenarios.test_rolling import a_fleet, rolled
from tests.scenarios.toys import CATALOG, a_pool_manifest, a_toy_provisioner
from tests.scenarios.watching import watched
from tests.scenarios.world import NODE_TEMPLATE, a_world

BUDGETS = "karpenter.sh/disruption-budgets"


async def test_b8_a_pool_whose_budget_is_closed_says_so_for_each_reason(clock: LoopClock) -> None:
    closed = {"consolidateAfter": "Never", "budgets": [{"nodes": "0", "reasons": ["Drifted"]}]}
    async with a_world(clock, catalog=CATALOG) as world:
        await a_fleet(world, 1, a_pool_manifest(disruption=closed))
        await clock.sleep(60)
        events = [event for event in await world.events("DisruptionBlocked") if event["type"] == "Normal"]
        about = {(event["involvedObject"]["kind"], event["involvedObject"]["name"]) for event in events}
        assert about == {("NodePool", "default")}
        assert {event["message"] for event in events} == {"its budgets allow no disruption for Drifted now"}


async def test_a_provisioners_annotation_holds_its_drift_until_the_window_closes(clock: LoopClock) -> None:
    """The clock starts at some minute of an hour; the budget closes drift in the first half hour of each."""
    pool = a_toy_provisioner()
    budgets = [{"nodes": "0", "reasons": ["Drifted"], "schedule": "@hourly", "duration": "30m"}]
    pool["metadata"]["annotations"] = {BUDGETS: json.dumps(budgets)}
    async with a_world(clock, catalog=CATALOG) as world:
        await clock.sleep(3600 - clock.now() % 3600)
        old = await a_fleet(world, 2, pool)
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": {"team": "b"}}})
        await clock.sleep(1740 - clock.now() % 3600)
        assert {node.metadata.name for node in await world.nodes()} == old
        assert await world.tainted() == set()
        await clock.sleep(60)
        await rolled(world, old, pods=2)


async def test_a_provisioners_annotation_lets_several_nodes_go_at_once(clock: LoopClock) -> None:
    pool = a_toy_provisioner()
    pool["metadata"]["annotations"] = {BUDGETS: json.dumps([{"nodes": "3"}])}
    async with a_world(clock, catalog=CATALOG) as world:
        old = await a_fleet(world, 4, pool)
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": {"team": "b"}}})
        seen = await rolled(world, old, pods=4)
        assert 1 < seen.most_leaving <= 3


async def test_b1_timed_protection_is_told_while_it_lasts_and_when_it_is_over(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        await world.apply(a_toy_provisioner())
        await world.deploy("db", 1, annotations={"karpenter.sh/do-not-disrupt": "10m"})
        await world.all_running(1)
        await clock.sleep(60)
        assert (len(await world.events("DoNotDisruptUntil")), await world.events("DoNotDisruptGracePeriodElapsed")) == (
            1,
            [],
        )
        await clock.sleep(900)
        assert len(await world.events("DoNotDisruptUntil")) == 1
        assert len(await world.events("DoNotDisruptGracePeriodElapsed")) == 1


async def test_a_stuck_drain_names_the_budget_and_since_when(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        (name,) = await a_fleet(world, 1, a_toy_provisioner())
        pdb = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "keep", "namespace": "default"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        }
        await world.kube.create(api.PDBS, pdb, namespace="default")
        await clock.sleep(5)
        await world.kube.delete(api.NODES, name)
        async with watched(world) as sight:
            await clock.sleep(30)
            (claim,) = [one for one in sight.claims.values() if "deletionTimestamp" in one["metadata"]]
        (drained,) = [one for one in claim["status"]["conditions"] if one["type"] == "Drained"]
        assert "budget default/keep allows none since " in drained["message"]
        events = await world.events("FailedDraining")
        assert any("budget default/keep allows none since " in event["message"] for event in events)


async def test_a_do_not_evict_pod_keeps_its_node_and_explain_says_so_since_when_at_what_price(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        await world.apply(a_toy_provisioner(consolidation={"enabled": True}), NODE_TEMPLATE)
        await world.deploy("db", 1, cpu="3", annotations={"karpenter.sh/do-not-evict": "true"})
        await world.all_running(1)
        (node,) = await world.nodes()
        await world.kube.patch(api.PROVISIONERS, "default", {"spec": {"labels": {"team": "b"}}})
        await clock.sleep(600)
        assert [one.metadata.name for one in await world.nodes()] == [node.metadata.name]
        given = await read_cluster(world.kube, namespace="kube-system")
        cloud = world.assembly.cloud
        quote = Quote(await load_offers(cloud, given.objects.of(NodePool), frozenset()), cloud.market.price)
        snapshot = snapshot_of(given, quote, now=clock.now())
        stay = all_stays(completed(snapshot))[node.metadata.name][0]
        (pod,) = await world.pods()
        assert (stay.code, stay.reason, stay.since) == ("DoNotDisrupt", "Drifted", pod.metadata.created_at)
        assert stay.message == f"pod {pod.metadata.key} says karpenter.sh/do-not-evict: true"
        assert stay.price == 0.16
