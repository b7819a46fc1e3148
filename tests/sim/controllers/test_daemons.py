"""Where daemons belong, and how their update goes node by node."""

from typing import Any

import pytest
from msgspec.structs import replace

from karpenter.model.core import Node, Pod
from karpenter.model.meta import Condition
from karpenter.sim.controllers.daemons import belongs, daemon_pod, node_of_daemon, plan_for
from karpenter.sim.controllers.daemonupdate import daemon_set_status, next_changes, outdated
from tests.builders import EPOCH, a_node, a_pod, wire
from tests.sim.controllers.workloads import a_daemon_set

PLAN = plan_for(a_daemon_set())


def daemon(name: str, node: str, *, revision: str = PLAN.revision, ready: bool = True, **more: Any) -> Pod:
    pod = a_pod(name, node=node, owner="DaemonSet", labels={"controller-revision-hash": revision}, **more)
    condition = Condition("Ready", "True" if ready else "False")
    return replace(pod, status=replace(pod.status, conditions=(condition,)))


@pytest.mark.parametrize(
    "node, should_run, may_stay",
    [
        (a_node(), True, True),
        (a_node(taints=["a:NoSchedule"]), False, True),
        (a_node(taints=["a:NoExecute"]), False, False),
        (a_node(taints=["a:PreferNoSchedule"]), True, True),
        (a_node(unschedulable=True), True, True),
        (a_node(taints=["node.kubernetes.io/not-ready:NoExecute"]), True, True),
        (a_node(taints=["node.kubernetes.io/not-ready:NoSchedule"]), False, True),
        (a_node(taints=["node.kubernetes.io/memory-pressure:NoSchedule"]), True, True),
    ],
    ids=["plain", "taint", "evicting taint", "soft taint", "cordoned", "not ready, evicting", "not ready", "pressure"],
)
def test_taints_decide_where_daemons_belong(node: Node, should_run: bool, may_stay: bool) -> None:
    place = belongs(PLAN, node)
    assert (place.should_run, place.may_stay) == (should_run, may_stay)


def test_a_node_selector_decides_too() -> None:
    plan = plan_for(a_daemon_set(pods={"nodeSelector": {"disk": "ssd"}}))
    assert belongs(plan, a_node(labels={"disk": "ssd"})).should_run
    assert not belongs(plan, a_node()).may_stay


def test_a_daemons_pod_is_tied_to_its_node_and_tolerates_what_daemons_do() -> None:
    made = daemon_pod(a_daemon_set(), PLAN, "n1")
    pod = wire(Pod, made)
    assert node_of_daemon(pod) == "n1"
    assert {one.key for one in pod.spec.tolerations} == {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/unschedulable",
    }
    assert pod.metadata.owner_references[0].kind == "DaemonSet"


def test_node_affinity_of_the_template_stays_beside_the_node_it_is_tied_to() -> None:
    terms = [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    daemon_set = a_daemon_set(pods={"affinity": affinity})
    made = daemon_pod(daemon_set, plan_for(daemon_set), "n1")
    (term,) = made["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == terms[0]["matchExpressions"]
    assert term["matchFields"] == [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]


def test_missing_daemons_come_and_misplaced_or_double_ones_go() -> None:
    nodes = [a_node("n1"), a_node("n2"), a_node("n3", taints=["a:NoExecute"])]
    young = daemon("young", "n2", created="2023-11-14T22:10:00Z")
    by_node = {"n2": [daemon("old", "n2"), young], "n3": [daemon("misplaced", "n3")]}
    changes = next_changes(PLAN, nodes, by_node)
    assert changes.create == ("n1",)
    assert [pod.metadata.name for pod in changes.delete] == ["young", "misplaced"]


def test_a_daemon_that_is_leaving_is_waited_for() -> None:
    leaving = daemon("leaving", "n1", deleted="2023-11-14T22:14:00Z")
    assert next_changes(PLAN, [a_node("n1")], {"n1": [leaving]}).is_nothing


def test_failed_daemons_are_told_apart() -> None:
    failed = daemon("failed", "n1", phase="Failed")
    changes = next_changes(PLAN, [a_node("n1")], {"n1": [failed]})
    assert (changes.delete, changes.failed) == ((), (failed,))


def test_an_update_takes_one_node_after_the_other() -> None:
    by_node = {name: [daemon(f"d-{name}", name, revision="old")] for name in ("n1", "n2", "n3")}
    assert names(by_node) == ["d-n1"]
    by_node["n1"] = [daemon("new", "n1", ready=False)]
    assert names(by_node) == []
    by_node["n1"] = [daemon("new", "n1")]
    assert names(by_node) == ["d-n2"]


def test_old_daemons_that_do_not_work_are_replaced_at_once() -> None:
    by_node = {name: [daemon(f"d-{name}", name, revision="old", ready=False)] for name in ("n1", "n2")}
    assert names(by_node) == ["d-n1", "d-n2"]


def test_with_on_delete_nothing_is_replaced_by_itself() -> None:
    by_node = {"n1": [daemon("d", "n1", revision="old")]}
    assert outdated(a_daemon_set(updateStrategy={"type": "OnDelete"}), PLAN, by_node, wanted=1, now=EPOCH) == []


def names(by_node: dict[str, list[Pod]]) -> list[str]:
    found = outdated(a_daemon_set(), PLAN, by_node, wanted=len(by_node), now=EPOCH)
    return [pod.metadata.name for pod in found]


def test_the_status_counts_nodes() -> None:
    nodes = [a_node("n1"), a_node("n2"), a_node("n3", taints=["a:NoSchedule"])]
    by_node = {"n1": [daemon("a", "n1")], "n3": [daemon("b", "n3")]}
    status = daemon_set_status(a_daemon_set(), PLAN, nodes, by_node=by_node, now=EPOCH)
    assert (status.desired_number_scheduled, status.current_number_scheduled, status.number_misscheduled) == (2, 1, 1)
    assert (status.number_ready, status.number_available, status.number_unavailable) == (1, 1, 1)
    assert status.updated_number_scheduled == 1
