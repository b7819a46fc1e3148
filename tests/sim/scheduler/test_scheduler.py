"""The scheduler against an API: binding, saying why not, trying again."""

import asyncio
import time

from karpenter.model.meta import Condition, find_condition
from karpenter.runtime import kube as api
from karpenter.sim.scheduler import Scheduler
from tests.sim.clusters import Cluster, node, pod


def scheduler(cluster: Cluster) -> Scheduler:
    return Scheduler(cluster.context)


async def verdict(cluster: Cluster, name: str) -> Condition | None:
    return find_condition((await cluster.pods())[name].status.conditions, "PodScheduled")


async def bound(cluster: Cluster) -> dict[str, str]:
    return {name: found.spec.node_name for name, found in (await cluster.pods()).items()}


async def test_a_pod_is_bound_and_an_event_says_so() -> None:
    cluster = Cluster()
    async with cluster.running(scheduler(cluster)):
        await cluster.apply(node("n1"), pod("web"))
        await asyncio.sleep(0.1)
        assert await bound(cluster) == {"web": "n1"}
        scheduled = await verdict(cluster, "web")
        assert scheduled is not None
        assert scheduled.is_true
        assert await cluster.events("Scheduled") == [("web", "Successfully assigned default/web to n1")]


async def test_a_pod_that_does_not_fit_says_why_until_a_node_comes() -> None:
    cluster = Cluster()
    async with cluster.running(scheduler(cluster)):
        await cluster.apply(node("n1", cpu="1"), pod("web", cpu="2"))
        await asyncio.sleep(0.1)
        refused = await verdict(cluster, "web")
        message = (
            "0/1 nodes are available: 1 Insufficient cpu. "
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        )
        assert refused is not None
        assert (refused.status, refused.reason, refused.message) == ("False", "Unschedulable", message)
        assert await cluster.events("FailedScheduling") == [("web", message)]
        await cluster.apply(node("n2"))
        await asyncio.sleep(0.1)
        assert await bound(cluster) == {"web": "n2"}


async def test_without_nodes_pods_are_unschedulable() -> None:
    cluster = Cluster()
    async with cluster.running(scheduler(cluster)):
        await cluster.apply(pod("web"))
        await asyncio.sleep(0.1)
        refused = await verdict(cluster, "web")
        assert refused is not None
        assert (refused.reason, refused.message) == ("Unschedulable", "no nodes available to schedule pods")


async def test_a_pod_that_left_makes_room_at_once() -> None:
    cluster = Cluster()
    async with cluster.running(scheduler(cluster)):
        await cluster.apply(node("n1", cpu="1"), pod("first", cpu="1"))
        await asyncio.sleep(0.1)
        await cluster.apply(pod("second", cpu="1"))
        await asyncio.sleep(0.1)
        assert await bound(cluster) == {"first": "n1", "second": ""}
        await cluster.kube.delete(api.PODS, "first", namespace="default", grace_period_s=0)
        await asyncio.sleep(0.1)
        assert await bound(cluster) == {"second": "n1"}


async def test_a_taint_that_goes_away_lets_pods_in() -> None:
    cluster = Cluster()
    async with cluster.running(scheduler(cluster)):
        await cluster.apply(node("n1", taints=[{"key": "starting", "effect": "NoSchedule"}]), pod("web"))
        await asyncio.sleep(0.1)
        assert await bound(cluster) == {"web": ""}
        await cluster.kube.patch(api.NODES, "n1", {"spec": {"taints": None}})
        await asyncio.sleep(0.1)
        assert await bound(cluster) == {"web": "n1"}


async def test_a_companion_that_was_bound_lets_its_friends_follow() -> None:
    near = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    cluster = Cluster()
    async with cluster.running(scheduler(cluster)):
        await cluster.apply(node("n1"), node("n2", zone="b"), pod("web", affinity=affinity))
        await asyncio.sleep(0.1)
        assert await bound(cluster) == {"web": ""}
        await cluster.apply(pod("db", labels={"app": "db"}))
        await asyncio.sleep(0.1)
        places = await bound(cluster)
        assert places["web"] == places["db"] != ""


async def test_important_pods_are_bound_first() -> None:
    cluster = Cluster()
    await cluster.apply(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10},
        node("n1", cpu="1"),
        pod("low", cpu="1"),
        pod("vip", cpu="1", priorityClassName="high"),
    )
    async with cluster.running(scheduler(cluster)):
        await asyncio.sleep(0.1)
        assert await bound(cluster) == {"low": "", "vip": "n1"}


async def test_pods_of_other_schedulers_and_gated_ones_are_left_alone() -> None:
    cluster = Cluster()
    async with cluster.running(scheduler(cluster)):
        await cluster.apply(
            node("n1"), pod("foreign", schedulerName="mine"), pod("gated", schedulingGates=[{"name": "wait"}])
        )
        await asyncio.sleep(0.1)
        assert await bound(cluster) == {"foreign": "", "gated": ""}
        gated = await verdict(cluster, "gated")
        assert gated is not None
        assert (gated.status, gated.reason) == ("False", "SchedulingGated")
        assert await verdict(cluster, "foreign") is None
        await cluster.kube.patch(api.PODS, "gated", {"spec": {"schedulingGates": None}}, namespace="default")
        await asyncio.sleep(0.1)
        assert await bound(cluster) == {"foreign": "", "gated": "n1"}


async def test_a_restart_in_the_middle_goes_on_where_the_cluster_stands() -> None:
    cluster = Cluster()
    await cluster.apply(node("n1"), *(pod(f"p{number}", cpu="1") for number in range(3)))
    async with cluster.running(scheduler(cluster)):
        await asyncio.sleep(0.1)
    again = cluster.restarted()
    async with again.running(scheduler(again)):
        await again.apply(pod("p3", cpu="1"), pod("p4", cpu="1"))
        await asyncio.sleep(0.1)
        assert sorted((await bound(again)).values()) == ["", "n1", "n1", "n1", "n1"]


async def test_a_hundred_nodes_are_given_five_hundred_pods_a_second() -> None:
    cluster = Cluster()
    await cluster.apply(*(node(f"n{number}", cpu="16", memory="64Gi") for number in range(100)))
    async with cluster.running(scheduler(cluster)):
        started = time.process_time()
        await cluster.apply(*(pod(f"p{number}") for number in range(1000)))
        await cluster.until(lambda: all(one.spec.node_name for one in cluster.informers.pods.values()))
        assert len(await bound(cluster)) == 1000
        assert time.process_time() - started < 2.0


async def test_a_volume_is_made_where_the_pod_goes_before_it_is_bound() -> None:
    cluster = Cluster()
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": "late",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    late = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": "ebs.csi.aws.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    async with cluster.running(scheduler(cluster)):
        await cluster.apply(late, claim, node("n1"), pod("db", volumes=volumes))
        await asyncio.sleep(0.1)
        asked = await cluster.kube.get(api.PVCS, "data", namespace="default")
        assert asked.metadata.annotations == {"volume.kubernetes.io/selected-node": "n1"}
        assert await bound(cluster) == {"db": ""}
        await cluster.kube.patch(api.PVCS, "data", {"spec": {"volumeName": "v1"}}, namespace="default")
        await cluster.kube.patch(
            api.PVCS, "data", {"status": {"phase": "Bound"}}, namespace="default", subresource="status"
        )
        await asyncio.sleep(0.1)
        assert await bound(cluster) == {"db": "n1"}
