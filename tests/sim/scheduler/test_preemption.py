"""Important pods make others leave, as kube-scheduler 1.36 does it: the fewest, the least important, within budgets."""

import asyncio
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from karpenter.model.core import Node, Pod
from karpenter.model.meta import Condition, LabelSelector, ObjectMeta
from karpenter.runtime import kube as api
from karpenter.sim.kinds import Budget, BudgetSpec, BudgetStatus
from karpenter.sim.scheduler import Scheduler
from karpenter.sim.scheduler.diagnosis import Unschedulable
from tests.builders import a_node, a_pod
from tests.sim.clusters import Cluster, node, pod
from tests.sim.scheduler.worlds import World, WrittenSurroundings

VIP = a_pod("vip", cpu="2", priority=10)


def a_world(nodes: Iterable[Node], bound: Iterable[Pod], budgets: Sequence[Budget] = ()) -> World:
    pods = list(bound)
    return World(*nodes, bound=pods, surroundings=WrittenSurroundings(pods=pods, disruption_budgets=budgets))


def verdict(world: World, wanted: Pod = VIP) -> Unschedulable:
    found = world.place(wanted)
    assert isinstance(found, Unschedulable), f"placed on {found.node}"
    return found


def leaving(world: World, wanted: Pod = VIP) -> tuple[str, list[str]]:
    """Return the node that a pod is nominated for and the pods that have to go."""
    chosen = verdict(world, wanted).makes_room
    assert chosen is not None
    return chosen.node, [victim.key.name for victim in chosen.victims]


def started(one: Pod, at: str) -> Pod:
    return replace(one, status=replace(one.status, start_time=at))


def a_budget(allowed: int, **labels: str) -> Budget:
    selector = LabelSelector(match_labels=labels)
    return Budget(ObjectMeta("budget", namespace="default"), BudgetSpec(selector), BudgetStatus(allowed))


def test_no_more_pods_leave_than_have_to_and_the_important_stay() -> None:
    bound = [a_pod(name, priority=at, node="n1") for at, name in enumerate(("least", "less", "more", "most"))]
    assert leaving(a_world([a_node("n1", cpu="4")], bound)) == ("n1", ["less", "least"])


def test_of_equal_pods_those_that_run_longest_stay() -> None:
    young = started(a_pod("young", priority=0, node="n1"), "2026-01-02T00:00:00Z")
    old = started(a_pod("old", priority=0, node="n1"), "2026-01-01T00:00:00Z")
    assert leaving(a_world([a_node("n1", cpu="2")], [young, old]), a_pod("vip", priority=10)) == ("n1", ["young"])


def test_pods_that_are_no_less_important_stay() -> None:
    world = a_world([a_node("n1", cpu="2")], [a_pod("equal", cpu="2", priority=10, node="n1")])
    found = verdict(world)
    assert found.makes_room is None
    assert found.message.endswith(
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_nodes_that_would_not_do_even_without_them_are_left_alone() -> None:
    stays = a_pod("stays", priority=10, node="n1")
    world = a_world([a_node("n1", cpu="2"), a_node("n2", cpu="1")], [stays, a_pod("low", priority=0, node="n1")])
    assert verdict(world).message == (
        "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
        "1 Insufficient cpu, 1 Preemption is not helpful for scheduling."
    )


def test_a_pod_that_never_preempts_waits() -> None:
    world = a_world([a_node("n1", cpu="2")], [a_pod("low", cpu="2", priority=0, node="n1")])
    never = replace(VIP, spec=replace(VIP.spec, preemption_policy="Never"))
    found = verdict(world, never)
    assert (found.makes_room, found.keeps_nomination) == (None, True)
    assert found.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_pods_that_no_budget_lets_go_are_spared_where_others_can_go() -> None:
    bound = [
        a_pod("kept", cpu="2", priority=0, node="n1", labels={"app": "kept"}),
        a_pod("free", cpu="2", priority=5, node="n1"),
    ]
    world = a_world([a_node("n1", cpu="4")], bound, [a_budget(0, app="kept")])
    assert leaving(world) == ("n1", ["free"])
    assert leaving(a_world([a_node("n1", cpu="4")], bound, [a_budget(1, app="kept")])) == ("n1", ["kept"])


def test_budgets_are_broken_where_nothing_else_helps() -> None:
    bound = [a_pod("kept", cpu="2", priority=0, node="n1", labels={"app": "kept"})]
    world = a_world([a_node("n1", cpu="2")], bound, [a_budget(0, app="kept")])
    chosen = verdict(world).makes_room
    assert chosen is not None
    assert (chosen.node, chosen.broken_budgets) == ("n1", 1)


def test_the_node_is_chosen_where_it_hurts_least() -> None:
    """Budgets first, then the most important pod that goes, then all of them, their number, and who started last."""
    kept, none = {"app": "kept"}, dict[str, str]()

    def chosen(*pods: Pod) -> str:
        return leaving(a_world([a_node("n1", cpu="2"), a_node("n2", cpu="2")], pods, [a_budget(0, app="kept")]))[0]

    def low(name: str, at: str, *, priority: int = 0, cpu: str = "2", labels: dict[str, str] = none) -> Pod:
        return a_pod(name, cpu=cpu, priority=priority, node=at, labels=labels)

    assert chosen(low("a", "n1", labels=kept), low("b", "n2", priority=9)) == "n2"
    assert chosen(low("a", "n1", priority=2), low("b", "n2", priority=1)) == "n2"
    two = [low("c", "n2", priority=1, cpu="1"), low("d", "n2", priority=0, cpu="1")]
    assert chosen(low("a", "n1", priority=1, cpu="1"), low("b", "n1", priority=1, cpu="1"), *two) == "n2"
    assert chosen(low("a", "n1", cpu="1"), low("b", "n1", cpu="1"), low("c", "n2")) == "n2"
    first, last = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    assert chosen(started(low("a", "n1"), first), started(low("b", "n2"), last)) == "n2"


def test_who_made_room_once_waits_until_those_that_go_are_gone() -> None:
    preempted = Condition("DisruptionTarget", "True", reason="PreemptionByScheduler")
    low = a_pod("low", cpu="2", priority=0, node="n1", deleted="2026-01-01T00:00:00Z")
    goes = replace(low, status=replace(low.status, conditions=(preempted,)))
    world = a_world([a_node("n1", cpu="2"), a_node("n2", cpu="2")], [goes, a_pod("b", cpu="2", priority=5, node="n2")])
    world.nominate(VIP, "n1")
    found = verdict(world)
    assert (found.makes_room, found.keeps_nomination) == (None, True)
    assert found.message.endswith("preemption: not eligible due to a terminating pod on the nominated node.")


def test_room_that_another_pod_was_promised_is_not_given_twice() -> None:
    world = a_world([a_node("n1", cpu="2")], [a_pod("low", cpu="2", priority=0, node="n1")])
    world.nominate(a_pod("earlier", cpu="2", priority=10), "n1")
    assert verdict(world).makes_room is None


async def a_cluster() -> Cluster:
    cluster = Cluster()
    for name, value in (("high", 10), ("middle", 5)):
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        await cluster.apply({**kind, "metadata": {"name": name}, "value": value})
    return cluster


async def test_an_important_pod_gets_its_node_once_others_have_left_it() -> None:
    cluster = await a_cluster()
    async with cluster.running(Scheduler(cluster.context)):
        await cluster.apply(node("n1", cpu="1"), pod("low", cpu="1"))
        await asyncio.sleep(0.1)
        await cluster.apply(pod("vip", cpu="1", priorityClassName="high"))
        await asyncio.sleep(0.1)
        pods = await cluster.pods()
        assert pods["vip"].status.nominated_node_name == "n1"
        assert pods["low"].metadata.is_deleting
        told = [(one.type, one.reason) for one in pods["low"].status.conditions if one.type == "DisruptionTarget"]
        assert told == [("DisruptionTarget", "PreemptionByScheduler")]
        assert await cluster.events("FailedScheduling") == [("vip", "0/1 nodes are available: 1 Insufficient cpu.")]
        uid = pods["vip"].metadata.uid
        assert await cluster.events("Preempted") == [("low", f"Preempted by pod {uid} on node n1")]

        await cluster.kube.delete(api.PODS, "low", namespace="default", grace_period_s=0)
        await asyncio.sleep(0.1)
        assert {name: one.spec.node_name for name, one in (await cluster.pods()).items()} == {"vip": "n1"}


async def test_those_less_important_that_wait_for_the_node_look_elsewhere() -> None:
    cluster = await a_cluster()
    async with cluster.running(Scheduler(cluster.context)):
        await cluster.apply(node("n1", cpu="1"), pod("low", cpu="1"))
        await asyncio.sleep(0.1)
        await cluster.apply(pod("middle", cpu="1", priorityClassName="middle"))
        await asyncio.sleep(0.1)
        assert (await cluster.pods())["middle"].status.nominated_node_name == "n1"
        await cluster.apply(
            pod("vip", cpu="1", priorityClassName="high", nodeSelector={"kubernetes.io/hostname": "n1"})
        )
        await asyncio.sleep(0.1)
        pods = await cluster.pods()
        assert (pods["middle"].status.nominated_node_name, pods["vip"].status.nominated_node_name) == ("", "n1")
        await cluster.apply(node("n2", cpu="1"))
        await asyncio.sleep(0.1)
        assert (await cluster.pods())["middle"].spec.node_name == "n2"


async def test_pods_that_go_at_once_leave_no_important_pod_behind() -> None:
    """What they made room for is tried again although they are gone before all is written."""
    cluster = await a_cluster()
    async with cluster.running(Scheduler(cluster.context)):
        await cluster.apply(
            node("n1", cpu="4"), *(pod(f"low-{at}", cpu="1", terminationGracePeriodSeconds=0) for at in range(4))
        )
        await asyncio.sleep(0.1)
        await cluster.apply(pod("vip", cpu="4", priorityClassName="high"))
        await asyncio.sleep(0.5)
        assert (await cluster.pods())["vip"].spec.node_name == "n1"
