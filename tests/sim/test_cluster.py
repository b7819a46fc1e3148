"""The whole simulated cluster: workloads on machines that come and go, in virtual time."""

import asyncio
from collections import Counter

import pytest

from karpenter.model.core import Pod
from karpenter.model.meta import find_condition
from karpenter.model.pods import is_terminal
from karpenter.model.taints import Taint
from karpenter.runtime import kube as api
from karpenter.runtime.kube import Resource, TooManyRequests
from karpenter.sim import kinds
from karpenter.sim.cluster import SimulatedCluster
from karpenter.sim.kubelet import Power
from tests.sim.clusters import Cluster, definition
from tests.sim.controllers.workloads import budget_manifest, daemon_set_manifest, deployment_manifest
from tests.sim.machines import ScriptedMachines, machine


def simulated(cluster: Cluster, source: ScriptedMachines) -> SimulatedCluster:
    made = SimulatedCluster(cluster.kube, cluster.clock, source, speed=1.0)
    cluster.informers = made.informers
    return made


def machines(*names: str) -> ScriptedMachines:
    return ScriptedMachines(*(machine(name) for name in names or ("n1", "n2", "n3")))


async def running(cluster: Cluster, app: str = "web") -> list[Pod]:
    found = await cluster.pods(label_selector=f"app={app}")
    return [pod for pod in found.values() if pod.status.phase == "Running" and not pod.metadata.is_deleting]


async def deployment(cluster: Cluster, name: str = "web") -> kinds.Deployment:
    return await cluster.kube.get(kinds.DEPLOYMENTS, name, namespace="default")


async def change(cluster: Cluster, patch: dict, name: str = "web") -> None:
    await cluster.kube.patch(kinds.DEPLOYMENTS, name, {"spec": patch}, namespace="default")


def images(pods: list[Pod]) -> Counter[str]:
    return Counter(pod.spec.containers[0].image for pod in pods)


# Deployments ----------------------------------------------------------------------------------------------------------


async def test_a_deployment_becomes_running_pods_spread_over_the_nodes() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=6))
        await asyncio.sleep(15.0)
        pods = await running(cluster)
        assert sorted(Counter(pod.spec.node_name for pod in pods).values()) == [2, 2, 2]
        status = (await deployment(cluster)).status
        assert (status.replicas, status.ready_replicas, status.available_replicas, status.updated_replicas) == (6,) * 4
        assert {one.type: (one.status, one.reason) for one in status.conditions} == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }
        (owner,) = {pod.metadata.owner_references[0].name for pod in pods}
        assert await cluster.events("ScalingReplicaSet") == [("web", f"Scaled up replica set {owner} from 0 to 6")]


async def test_a_deployment_is_scaled_up_and_down() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=2))
        await asyncio.sleep(10.0)
        await change(cluster, {"replicas": 7})
        await asyncio.sleep(10.0)
        assert len(await running(cluster)) == 7
        await change(cluster, {"replicas": 1})
        await asyncio.sleep(10.0)
        assert len(await cluster.pods()) == 1
        await change(cluster, {"replicas": 0})
        await asyncio.sleep(10.0)
        assert await cluster.pods() == {}


async def test_a_rolling_update_never_has_too_few_or_too_many_pods() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
        await cluster.apply(deployment_manifest(replicas=4, strategy=rolling))
        await asyncio.sleep(15.0)
        spec = (await deployment(cluster)).spec.template["spec"]
        spec["containers"][0]["image"] = "app:2"
        await change(cluster, {"template": {"spec": spec}})
        counts = []
        for _ in range(300):
            pods = [pod for pod in (await cluster.pods()).values() if not pod.metadata.is_deleting]
            ready = [pod for pod in pods if (one := find_condition(pod.status.conditions, "Ready")) and one.is_true]
            counts.append((len(pods), len(ready)))
            await asyncio.sleep(0.1)
        assert max(total for total, _ in counts) == 5
        assert min(ready for _, ready in counts) == 3
        assert images(await running(cluster)) == {"app:2": 4}
        sets = (await cluster.kube.list(kinds.REPLICA_SETS)).items
        assert sorted(one.spec.replicas for one in sets) == [0, 4]
        assert (await deployment(cluster)).metadata.annotations["deployment.kubernetes.io/revision"] == "2"


async def test_going_back_to_an_old_template_takes_its_replica_set_again_with_a_new_number() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=2))
        await asyncio.sleep(15.0)
        spec = (await deployment(cluster)).spec.template["spec"]
        for image in ("app:2", "app:1"):
            spec["containers"][0]["image"] = image
            await change(cluster, {"template": {"spec": spec}})
            await asyncio.sleep(30.0)
        sets = {
            one.spec.replicas: one.metadata.annotations for one in (await cluster.kube.list(kinds.REPLICA_SETS)).items
        }
        assert sets[2]["deployment.kubernetes.io/revision"] == "3"
        assert sets[2]["deployment.kubernetes.io/revision-history"] == "1"
        assert images(await running(cluster)) == {"app:1": 2}


async def test_recreation_stops_all_old_pods_before_it_starts_new_ones() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=3, strategy={"type": "Recreate"}))
        await asyncio.sleep(15.0)
        spec = (await deployment(cluster)).spec.template["spec"]
        spec["containers"][0]["image"] = "app:2"
        await change(cluster, {"template": {"spec": spec}})
        seen = set()
        for _ in range(150):
            seen.add(frozenset(images(list((await cluster.pods()).values()))))
            await asyncio.sleep(0.1)
        assert seen == {frozenset({"app:1"}), frozenset(), frozenset({"app:2"})} or seen == {
            frozenset({"app:1"}),
            frozenset({"app:2"}),
        }
        assert images(await running(cluster)) == {"app:2": 3}


async def test_a_rollout_that_stands_still_is_called_late() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=2, progressDeadlineSeconds=60, pods={"cpu": "100"}))
        await asyncio.sleep(90.0)
        status = (await deployment(cluster)).status
        assert {one.type: (one.status, one.reason) for one in status.conditions} == {
            "Available": ("False", "MinimumReplicasUnavailable"),
            "Progressing": ("False", "ProgressDeadlineExceeded"),
        }


async def test_a_deleted_pod_is_replaced() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=2))
        await asyncio.sleep(10.0)
        before = {pod.metadata.name for pod in await running(cluster)}
        gone = min(before)
        await cluster.kube.delete(api.PODS, gone, namespace="default")
        await asyncio.sleep(10.0)
        after = {pod.metadata.name for pod in await running(cluster)}
        assert len(after) == 2
        assert gone not in after


async def test_a_pod_taken_out_by_its_label_is_replaced_and_left_alone() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=2))
        await asyncio.sleep(10.0)
        taken = (await running(cluster))[0].metadata.name
        await cluster.kube.patch(api.PODS, taken, {"metadata": {"labels": {"app": "debug"}}}, namespace="default")
        await asyncio.sleep(10.0)
        assert len(await running(cluster)) == 2
        alone = (await cluster.pods())[taken]
        assert alone.metadata.owner_references == ()
        assert alone.status.phase == "Running"


async def test_unschedulable_pods_say_why_and_start_once_a_node_comes() -> None:
    cluster, source = Cluster(), machines("n1")
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=3, pods={"cpu": "3"}))
        await asyncio.sleep(10.0)
        assert len(await running(cluster)) == 1
        waiting = [pod for pod in (await cluster.pods()).values() if not pod.spec.node_name]
        messages = {find_condition(pod.status.conditions, "PodScheduled").message for pod in waiting}
        assert messages == {
            (
                "0/1 nodes are available: 1 Insufficient cpu. "
                "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
            )
        }
        source.start(machine("n2", ready_after_s=30.0))
        source.start(machine("n3", ready_after_s=30.0))
        await asyncio.sleep(30.0)
        assert {pod.spec.node_name for pod in await running(cluster)} == {"n1", "n2", "n3"}


# DaemonSets -----------------------------------------------------------------------------------------------------------


async def test_a_daemon_runs_on_each_node_that_comes() -> None:
    cluster, source = Cluster(), machines("n1")
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(daemon_set_manifest())
        await asyncio.sleep(10.0)
        source.start(machine("n2", ready_after_s=12.0))
        source.start(machine("n3", taints=(Taint("special", effect="NoSchedule"),)))
        await asyncio.sleep(20.0)
        assert {pod.spec.node_name for pod in await running(cluster, "agent")} == {"n1", "n2"}
        status = (await cluster.kube.get(kinds.DAEMON_SETS, "agent", namespace="default")).status
        assert (status.desired_number_scheduled, status.number_ready, status.number_available) == (2, 2, 2)


async def test_each_template_of_a_daemon_set_has_a_revision_that_undoing_makes_the_newest() -> None:
    cluster, source = Cluster(), machines("n1")
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(daemon_set_manifest())
        await asyncio.sleep(5.0)
        first = (await cluster.kube.list(kinds.CONTROLLER_REVISIONS)).items[0]
        patch = {"spec": {"template": {"metadata": {"annotations": {"version": "2"}}}}}
        await cluster.kube.patch(kinds.DAEMON_SETS, "agent", patch, namespace="default")
        await asyncio.sleep(15.0)
        revisions = {
            one.metadata.name: one.revision for one in (await cluster.kube.list(kinds.CONTROLLER_REVISIONS)).items
        }
        assert sorted(revisions.values()) == [1, 2]
        assert revisions[first.metadata.name] == 1
        undo = {"spec": {"template": {"metadata": {"annotations": None}}}}
        await cluster.kube.patch(kinds.DAEMON_SETS, "agent", undo, namespace="default")
        await asyncio.sleep(15.0)
        revisions = {
            one.metadata.name: one.revision for one in (await cluster.kube.list(kinds.CONTROLLER_REVISIONS)).items
        }
        assert revisions[first.metadata.name] == 3
        pods = await cluster.pods()
        assert {f"agent-{pod.metadata.labels['controller-revision-hash']}" for pod in pods.values()} == {
            first.metadata.name
        }


async def test_an_update_of_daemons_goes_node_by_node() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(daemon_set_manifest())
        await asyncio.sleep(15.0)
        found = await cluster.kube.get(kinds.DAEMON_SETS, "agent", namespace="default")
        spec = found.spec.template["spec"]
        spec["containers"][0]["image"] = "agent:2"
        patch = {"spec": {"template": {"spec": spec}}}
        await cluster.kube.patch(kinds.DAEMON_SETS, "agent", patch, namespace="default")
        fewest = 3
        for _ in range(300):
            fewest = min(fewest, len(await running(cluster, "agent")))
            await asyncio.sleep(0.1)
        assert fewest == 2
        assert images(await running(cluster, "agent")) == {"agent:2": 3}


# disruption -----------------------------------------------------------------------------------------------------------


async def test_a_budget_counts_and_paces_evictions() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=3), budget_manifest(minAvailable=2))
        await asyncio.sleep(15.0)
        status = (await cluster.kube.get(kinds.BUDGETS, "pdb", namespace="default")).status
        assert (status.disruptions_allowed, status.current_healthy, status.desired_healthy, status.expected_pods) == (
            1,
            3,
            2,
            3,
        )
        first, second, _ = sorted(pod.metadata.name for pod in await running(cluster))
        await cluster.kube.evict(first, namespace="default")
        with pytest.raises(TooManyRequests):
            await cluster.kube.evict(second, namespace="default")
        await asyncio.sleep(15.0)
        await cluster.kube.evict(second, namespace="default")


async def test_draining_a_node_goes_at_the_pace_of_the_budget() -> None:
    cluster, source = Cluster(), machines("n1", "n2")
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=6), budget_manifest(maxUnavailable=1))
        await asyncio.sleep(20.0)
        await cluster.kube.patch(api.NODES, "n1", {"spec": {"unschedulable": True}})
        fewest, refusals = 6, 0
        async with asyncio.timeout(300):
            while doomed := await cluster.pods(field_selector="spec.nodeName=n1"):
                for pod in doomed.values():
                    if pod.metadata.is_deleting:
                        continue
                    try:
                        await cluster.kube.evict(pod.metadata.name, namespace="default")
                    except TooManyRequests:
                        refusals += 1
                fewest = min(fewest, len(await running(cluster)))
                await asyncio.sleep(1.0)
        assert fewest == 5
        assert refusals > 0
        await asyncio.sleep(10.0)
        assert Counter(pod.spec.node_name for pod in await running(cluster)) == {"n2": 6}


# nodes ----------------------------------------------------------------------------------------------------------------


async def test_a_new_node_loses_the_taints_of_its_start() -> None:
    cluster, source = Cluster(), ScriptedMachines(machine("n1", ready_after_s=5.0))
    async with cluster.running_only(simulated(cluster, source)):
        await asyncio.sleep(3.0)
        taints = {str(taint) for taint in (await cluster.nodes())["n1"].spec.taints}
        assert taints == {"node.kubernetes.io/not-ready:NoSchedule", "node.kubernetes.io/not-ready:NoExecute"}
        await asyncio.sleep(3.0)
        assert (await cluster.nodes())["n1"].spec.taints == ()


async def test_when_a_machine_goes_so_do_its_node_and_pods_and_others_take_over() -> None:
    cluster, source = Cluster(), machines("n1", "n2")
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=4))
        await asyncio.sleep(15.0)
        source.switch("n1", Power.STOPPING)
        await asyncio.sleep(3.0)
        source.switch("n1", Power.GONE)
        await asyncio.sleep(120.0)
        assert list(await cluster.nodes()) == ["n2"]
        pods = await cluster.pods()
        assert {pod.spec.node_name for pod in pods.values()} == {"n2"}
        assert sum(not is_terminal(pod) for pod in pods.values()) == 4


async def test_a_machine_that_vanishes_without_a_word_is_found_out() -> None:
    cluster, source = Cluster(), machines("n1", "n2")
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=2))
        await asyncio.sleep(15.0)
        source.switch("n1", Power.GONE)
        await asyncio.sleep(45.0)
        assert "n1" in await cluster.nodes()
        await asyncio.sleep(45.0)
        assert "n1" not in await cluster.nodes()
        await asyncio.sleep(90.0)
        assert Counter(pod.spec.node_name for pod in await running(cluster)) == {"n2": 2}


async def test_pods_leave_a_node_that_drives_them_out() -> None:
    cluster, source = Cluster(), machines("n1", "n2")
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=4))
        await asyncio.sleep(15.0)
        await cluster.kube.patch(api.NODES, "n1", {"spec": {"taints": [{"key": "out", "effect": "NoExecute"}]}})
        await asyncio.sleep(15.0)
        assert Counter(pod.spec.node_name for pod in await running(cluster)) == {"n2": 4}


async def test_pods_of_a_deleted_node_are_collected() -> None:
    cluster, source = Cluster(), machines("n1", "n2")
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=4))
        await asyncio.sleep(15.0)
        await cluster.kube.delete(api.NODES, "n1")
        await asyncio.sleep(90.0)
        assert Counter(pod.spec.node_name for pod in (await cluster.pods()).values()) == {"n2": 4}


# cleaning up ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_what_a_deployment_owns_goes_with_it(propagation: str) -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=3))
        await asyncio.sleep(10.0)
        await cluster.kube.delete(kinds.DEPLOYMENTS, "web", namespace="default", propagation=propagation)
        await asyncio.sleep(0.1)
        still_there = bool((await cluster.kube.list(kinds.DEPLOYMENTS)).items)
        assert still_there is (propagation == "Foreground")  # it waits for its pods
        await asyncio.sleep(15.0)
        assert (await cluster.kube.list(kinds.DEPLOYMENTS)).items == ()
        assert (await cluster.kube.list(kinds.REPLICA_SETS)).items == ()
        assert await cluster.pods() == {}


async def test_orphans_stay_and_are_adopted_by_the_next_deployment() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(deployment_manifest(replicas=3))
        await asyncio.sleep(10.0)
        before = {pod.metadata.uid for pod in await running(cluster)}
        await cluster.kube.delete(kinds.DEPLOYMENTS, "web", namespace="default", propagation="Orphan")
        await asyncio.sleep(10.0)
        assert (await cluster.kube.list(kinds.DEPLOYMENTS)).items == ()
        (left,) = (await cluster.kube.list(kinds.REPLICA_SETS)).items
        assert left.metadata.owner_references == ()
        await cluster.apply(deployment_manifest(replicas=3))
        await asyncio.sleep(10.0)
        assert {pod.metadata.uid for pod in await running(cluster)} == before
        (adopted,) = (await cluster.kube.list(kinds.REPLICA_SETS)).items
        assert adopted.metadata.owner_references[0].uid == (await deployment(cluster)).metadata.uid


async def test_what_belongs_to_nobody_that_exists_is_collected() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "no-such-uid"}]
        await cluster.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "lost", "ownerReferences": owners}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "free"}},
        )
        await asyncio.sleep(2.0)
        left = await cluster.kube.list(api.CONFIG_MAPS, namespace="default")
        names = {one["metadata"]["name"] for one in left.items}
        assert "free" in names
        assert "lost" not in names


async def test_custom_kinds_have_owners_too() -> None:
    """A NodePool's NodeClaims go with it, and nodes with their claims, whenever the kinds were defined."""
    cluster, source = Cluster(), machines("n1")
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply(definition("example.com", "Parent"), definition("example.com", "Child"))
        await cluster.apply({"apiVersion": "example.com/v1", "kind": "Parent", "metadata": {"name": "p"}})
        parents = Resource("example.com", "v1", "parents", "Parent", kinds.MetadataOnly)
        children = Resource("example.com", "v1", "childs", "Child", kinds.MetadataOnly)
        uid = (await cluster.kube.get(parents, "p")).metadata.uid
        owners = [{"apiVersion": "example.com/v1", "kind": "Parent", "name": "p", "uid": uid}]
        child = {"apiVersion": "example.com/v1", "kind": "Child", "metadata": {"name": "c", "ownerReferences": owners}}
        await cluster.apply(child)
        await asyncio.sleep(2.0)
        assert (await cluster.kube.get(children, "c")).metadata.owner_references[0].uid == uid
        await cluster.kube.delete(parents, "p")
        await asyncio.sleep(2.0)
        assert (await cluster.kube.list(children)).items == ()


async def test_a_namespace_goes_when_it_is_empty() -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        made = deployment_manifest(replicas=2)
        made["metadata"]["namespace"] = "team"
        await cluster.apply(made)
        await asyncio.sleep(10.0)
        assert len(await cluster.pods(namespace="team")) == 2
        await cluster.kube.delete(api.NAMESPACES, "team")
        await asyncio.sleep(1.0)
        assert (await cluster.kube.get(kinds.NAMESPACES, "team")).status.phase == "Terminating"
        await asyncio.sleep(30.0)
        names = {one.metadata.name for one in (await cluster.kube.list(api.NAMESPACES)).items}
        assert "team" not in names
        assert await cluster.pods(namespace="team") == {}


async def test_a_namespace_that_is_held_up_says_by_what() -> None:
    cluster, source = Cluster(), machines()
    held = {"metadata": {"name": "held", "namespace": "team", "finalizers": ["example.com/held"]}}
    async with cluster.running_only(simulated(cluster, source)):
        await cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        await cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", **held})
        await cluster.kube.delete(api.NAMESPACES, "team")
        await asyncio.sleep(5.0)
        found = (await cluster.kube.get(kinds.NAMESPACES, "team")).status.conditions
        told = {one.type: one.message for one in found if one.status == "True"}
        assert told == {
            "NamespaceContentRemaining": "Some resources are remaining: configmaps has 1 resource instances",
            "NamespaceFinalizersRemaining": (
                "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances"
            ),
        }
        await cluster.kube.patch(api.CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, namespace="team")
        await asyncio.sleep(5.0)
        assert "team" not in {one.metadata.name for one in (await cluster.kube.list(api.NAMESPACES)).items}


# restarts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop_after_s", [0.05, 0.5, 1.5, 2.5, 4.0])
async def test_killed_at_any_moment_it_goes_on_to_the_same_end(stop_after_s: float) -> None:
    cluster, source = Cluster(), machines()
    async with cluster.running_only(simulated(cluster, source)):
        await asyncio.sleep(5.0)
        await cluster.apply(deployment_manifest(replicas=5), daemon_set_manifest(), budget_manifest(maxUnavailable=1))
        await asyncio.sleep(stop_after_s)
    again = cluster.restarted()
    async with again.running_only(simulated(again, source)):
        await asyncio.sleep(20.0)
        assert len(await running(again)) == 5
        assert len(await running(again, "agent")) == 3
        assert len(await again.pods()) == 8
        assert (await again.kube.get(kinds.BUDGETS, "pdb", namespace="default")).status.disruptions_allowed == 1
        assert (await deployment(again)).status.available_replicas == 5
        revision = again.store.revision
        await asyncio.sleep(15.0)
        leases = 3
        assert again.store.revision - revision <= leases, "a cluster at rest writes nothing but leases"
