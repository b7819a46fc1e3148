"""Taints of pools and nodes against tolerations."""

from karpenter.model.units import PoolKey
from karpenter.scheduling import Reason
from tests.builders import a_node, a_node_view, a_pod
from tests.scheduling.toys import machines, on_demand, solved

SPECIAL = "example.com/special-taint:NoSchedule"
TOLERATES = [{"key": "example.com/special-taint", "operator": "Exists", "effect": "NoSchedule"}]


def test_a_pod_without_the_toleration_stays_pending_and_the_taint_is_named() -> None:
    """TV-73."""
    (refused,) = solved([a_pod()], pools=[on_demand(taints=[SPECIAL])]).unschedulable
    assert refused.reasons == (
        Reason(
            PoolKey("Provisioner", "default"),
            "pod",
            "TaintNotTolerated",
            "does not tolerate example.com/special-taint:NoSchedule",
        ),
    )


def test_startup_taints_do_not_count_for_pods() -> None:
    """TV-74."""
    pool = on_demand(taints=[SPECIAL], startup_taints=["example.com/another-taint:NoSchedule"])
    assert machines(solved([a_pod(tolerations=TOLERATES)], pools=[pool])) == ["c.1"]


def test_a_taint_on_a_node_keeps_pods_away() -> None:
    solution = solved([a_pod()], nodes=[a_node_view(taints=[SPECIAL])])
    assert machines(solution) == ["c.1"]


def test_a_cordoned_node_takes_no_pod() -> None:
    node = a_node_view("n", node=a_node("n", unschedulable=True))
    assert machines(solved([a_pod()], nodes=[node])) == ["c.1"]
