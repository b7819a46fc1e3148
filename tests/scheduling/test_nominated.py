"""Pods that the scheduler makes room for on a node are left alone while that node would hold them (S-1)."""

from karpenter.model import labels
from tests.builders import a_node_view, a_pod
from tests.scheduling.toys import machines, pods, solved

GOING = "2023-11-14T22:13:00Z"


def full_node(name: str = "n1", **fields):
    """Return a node of four cores, all taken: half of it by a pod that is on its way out."""
    bound = [
        a_pod("stays", cpu="2", node=name),
        a_pod("victim", cpu="2", node=name, deleted=GOING),
    ]
    return a_node_view(name, cpu="4", pods=bound, **fields)


def test_the_pod_waits_for_the_node_and_launches_nothing() -> None:
    solution = solved([a_pod(cpu="2", nominated="n1")], nodes=[full_node()])
    assert solution.placements == {("default", "pod"): "n1"}


def test_what_the_victims_leave_is_for_nobody_else() -> None:
    solution = solved([a_pod("other", cpu="1")], nodes=[full_node()])
    assert machines(solution) == ["c.1"]
    both = solved([a_pod("other", cpu="1"), a_pod("awaited", cpu="1", nominated="n1")], nodes=[full_node()])
    assert both.placements == {("default", "awaited"): "n1", ("default", "other"): "default-1"}


def test_a_node_that_is_gone_keeps_nobody_waiting() -> None:
    assert machines(solved([a_pod(nominated="n1")])) == ["c.1"]
    assert machines(solved([a_pod(nominated="n1")], nodes=[a_node_view("n1", is_deleting=True)])) == ["c.1"]


def test_a_node_that_would_not_hold_the_pod_keeps_it_from_nothing() -> None:
    assert machines(solved([a_pod(cpu="3", nominated="n1")], nodes=[full_node()])) == ["c.4"]
    tainted = a_node_view("n1", taints=["dedicated=x:NoSchedule"])
    assert machines(solved([a_pod(nominated="n1")], nodes=[tainted])) == ["c.1"]


def test_another_node_with_room_serves_whom_the_nominated_one_cannot() -> None:
    solution = solved([a_pod(cpu="3", nominated="n1")], nodes=[full_node(), a_node_view("n2", cpu="4")])
    assert solution.placements == {("default", "pod"): "n2"}


def test_the_scheduler_has_weighed_preferences_already() -> None:
    elsewhere = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "preference": {"matchExpressions": [{"key": labels.ZONE, "operator": "In", "values": ["b"]}]},
                }
            ]
        }
    }
    pod = a_pod(cpu="2", nominated="n1", affinity=elsewhere)
    assert solved([pod], nodes=[full_node(zone="a")]).placements == {("default", "pod"): "n1"}


def test_only_as_many_wait_as_the_node_will_hold() -> None:
    solution = solved(pods(3, cpu="1", nominated="n1"), nodes=[full_node()])
    assert sorted(solution.placements.values()) == ["default-1", "n1", "n1"]
