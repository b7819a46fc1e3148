"""docs/from-node-groups.md, played: fixed groups with labels and taints are replaced by pools, group by group."""

from typing import Any

from karpenter.model import labels
from karpenter.model.meta import find_condition
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import RawObject
from tests.scenarios.test_rolling import a_budget
from tests.scenarios.toys import CATALOG, a_pool_manifest
from tests.scenarios.watching import Sight, watched
from tests.scenarios.world import World, a_world

GROUPS = {"general": (), "batch": ({"key": "dedicated", "value": "batch", "effect": "NoSchedule"},)}
TOLERATION = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]


def a_group_node(group: str, number: int) -> RawObject:
    """Return a node as an autoscaling group has it: nothing of it is ours."""
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    name = f"{group}-{number}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"node-group": group, "kubernetes.io/hostname": name}},
        "spec": {"providerID": f"other:///{name}", "taints": list(GROUPS[group])},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def a_pool_for(group: str) -> RawObject:
    template = {"taints": list(GROUPS[group])} if GROUPS[group] else None
    stays = {"consolidateAfter": "Never"}
    own = {"node-group": group}
    return a_pool_manifest(group, types=("c.4", "m.8"), template=template, labels_=own, disruption=stays)


def a_lease(node: str) -> RawObject:
    """Return the sign of life of a kubelet that this world does not have, for the whole day."""
    spec = {"holderIdentity": node, "leaseDurationSeconds": 86400, "renewTime": "2023-11-14T22:13:20.000000Z"}
    metadata = {"name": node, "namespace": "kube-node-lease"}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


async def with_groups(world: World) -> None:
    """Run two groups of two nodes, full of pods that select and tolerate them."""
    for group in GROUPS:
        for number in (1, 2):
            node = await world.kube.create(api.NODES, a_group_node(group, number))
            await world.kube.create(api.LEASES, a_lease(node.metadata.name), namespace="kube-node-lease")
            await world.kube.patch(
                api.NODES, node.metadata.name, {"status": a_group_node(group, number)["status"]}, subresource="status"
            )
    for group, tolerations in (("general", []), ("batch", TOLERATION)):
        await world.deploy(group, 4, cpu="3", nodeSelector={"node-group": group}, tolerations=tolerations)
    await world.kube.create(api.PDBS, a_budget("batch", min_available=3), namespace="default")


async def placed(world: World) -> dict[str, set[str]]:
    """Return the pools and groups that pods of each workload are on."""
    nodes = {node.metadata.name: node for node in await world.nodes()}
    found: dict[str, set[str]] = {}
    for pod in await world.pods():
        node = nodes.get(pod.spec.node_name)
        if node is not None:
            where = node.metadata.labels.get(labels.NODEPOOL, f"group {node.metadata.labels['node-group']}")
            found.setdefault(pod.metadata.labels["app"], set()).add(where)
    return found


async def drained(world: World, name: str) -> None:
    """Drain a node as kubectl does: cordon, then evict until nothing is left."""
    await world.kube.patch(api.NODES, name, {"spec": {"unschedulable": True}})

    async def is_empty() -> bool:
        left = [pod for pod in await world.pods() if pod.spec.node_name == name]
        for pod in left:
            await evicted(world, pod)
        return not left

    await world.until(is_empty, within_s=600, step_s=2)
    await world.kube.delete(api.NODES, name)


async def evicted(world: World, pod: Any) -> None:
    try:
        await world.kube.evict(pod.metadata.name, namespace=pod.metadata.namespace)
    except api.TooManyRequests:
        return  # its budget says not now, kubectl tries again as well
    # What the kubelet of the group's node does, which this world does not have.
    await world.kube.delete(api.PODS, pod.metadata.name, namespace=pod.metadata.namespace, grace_period_s=0)


async def started(world: World) -> None:
    """Let the pods on the groups' nodes run, as their kubelets would."""
    conditions = [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]
    for pod in await world.pods():
        status = {"phase": "Running", "conditions": conditions}
        await world.kube.patch(
            api.PODS, pod.metadata.name, {"status": status}, namespace="default", subresource="status"
        )


class Margin:
    """The fewest ready pods that a workload ever had."""

    def __init__(self, sight: Sight, app: str) -> None:
        self._sight = sight
        self._app = app
        self.fewest = 10**6
        sight.checks.append(self._look)

    def _look(self) -> None:
        mine = [pod for pod in self._sight.pods.values() if pod.metadata.labels.get("app") == self._app]
        ready = [find_condition(pod.status.conditions, "Ready") for pod in mine if not pod.metadata.is_deleting]
        self.fewest = min(self.fewest, sum(one is not None and one.is_true for one in ready))


async def test_groups_are_replaced_one_after_another_and_budgets_hold(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        await with_groups(world)

        async def all_bound() -> bool:
            return len(await world.pods()) == 8 and all(pod.spec.node_name for pod in await world.pods())

        await world.until(all_bound)
        await started(world)
        await world.apply(a_pool_for("general"), a_pool_for("batch"))
        await clock.sleep(120)
        assert await placed(world) == {"general": {"group general"}, "batch": {"group batch"}}
        assert await world.claims() == [], "nothing moves by itself"
        async with watched(world) as sight:
            margin = Margin(sight, "batch")
            for group in ("batch", "general"):
                for number in (1, 2):
                    await drained(world, f"{group}-{number}")
            await world.all_running(8)
        assert margin.fewest == 3
        assert await placed(world) == {"general": {"general"}, "batch": {"batch"}}


async def test_a_pool_without_the_groups_label_leaves_its_pods_pending_and_says_which_label(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        await world.apply(a_pool_manifest("general", types=("c.4",)))
        await world.deploy("general", 1, cpu="3", nodeSelector={"node-group": "general"}, tolerations=[])

        async def ours() -> list[str]:
            events = await world.events("FailedScheduling")
            return [event["message"] for event in events if event["source"]["component"] == "karpenter"]

        await world.until(ours)
        messages = await ours()
        assert any("node-group" in message for message in messages), messages
        (pod,) = await world.pods()
        scheduled = find_condition(pod.status.conditions, "PodScheduled")
        assert scheduled is not None
        assert not scheduled.is_true
