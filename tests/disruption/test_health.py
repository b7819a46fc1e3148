"""Which broken nodes are replaced: spec v1 §3.10, vector V33, case REPAIR."""

import msgspec

from karpenter.disruption.health import Checkup, check_up
from karpenter.model.instance import RepairPolicy
from karpenter.model.meta import Condition
from karpenter.model.nodepool import NodePool
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.scheduling.snapshot import NodeView
from tests.builders import EPOCH, a_claim, a_node, a_node_view, a_pool, a_pool_view, a_snapshot

POOL = a_pool()
POLICIES = (RepairPolicy("Ready", "False", 1800), RepairPolicy("Ready", "Unknown", 1800))
DISK = RepairPolicy("StorageReady", "False", 60)


def a_view(name: str, status: str = "True", *, minutes: float = 31, pool: NodePool = POOL, **more: str) -> NodeView:
    """Return a node whose Ready condition has this status since so many minutes; `more` are further conditions."""
    since = to_rfc3339(UnixSeconds(EPOCH - 60 * minutes))
    node = a_node(name, pool=pool)
    conditions = tuple(
        Condition(kind, value, last_transition_time=since) for kind, value in {"Ready": status, **more}.items()
    )
    node = msgspec.structs.replace(node, status=msgspec.structs.replace(node.status, conditions=conditions))
    return a_node_view(name, pool=pool, node=node, claim=a_claim(f"{name}-claim", pool=pool))


def checkup(*views: NodeView, policies: tuple[RepairPolicy, ...] = POLICIES) -> Checkup:
    return check_up(a_snapshot(nodes=views, pools=[a_pool_view(POOL)]), policies)


def test_case_repair_one_of_three_is_replaced_after_half_an_hour_v33() -> None:
    views = [a_view("a"), a_view("b")]
    assert [sick.view.name for sick in checkup(*views, a_view("c", "False")).repair] == ["c"]
    waiting = checkup(*views, a_view("c", "False", minutes=29))
    assert (waiting.repair, waiting.next_due) == ((), EPOCH + 60)


def test_case_repair_unknown_is_as_bad_as_not_ready() -> None:
    assert [sick.condition for sick in checkup(a_view("a"), a_view("b"), a_view("c", "Unknown")).repair] == ["Ready"]


def test_case_repair_two_of_three_are_left_alone_and_the_reason_shows_both_numbers() -> None:
    found = checkup(a_view("a"), a_view("b", "False"), a_view("c", "False"))
    assert found.repair == ()
    assert [why for _, why in found.blocked] == ["2 nodes of Provisioner default are unhealthy, more than 1 (20%)"] * 2


def test_v33_three_of_ten_are_too_many_and_two_are_not() -> None:
    healthy = [a_view(f"h{i}") for i in range(7)]
    sick = [a_view(f"s{i}", "False") for i in range(3)]
    assert len(checkup(*healthy, *sick).repair) == 0
    assert len(checkup(*healthy, a_view("h7"), *sick[:2]).repair) == 2


def test_those_that_are_sick_for_a_short_time_only_count_among_the_too_many_d36() -> None:
    views = [a_view("a"), a_view("b", "False", minutes=1), a_view("c", "False")]
    assert checkup(*views).repair == ()


def test_of_several_conditions_the_one_that_is_due_first_counts_d35() -> None:
    (sick,) = checkup(
        a_view("a"), a_view("b"), a_view("c", "False", StorageReady="False"), policies=(*POLICIES, DISK)
    ).repair
    assert sick.condition == "StorageReady"


def test_another_pools_sick_nodes_do_not_matter() -> None:
    other = a_pool("other")
    views = [a_view("a"), a_view("b", "False"), *(a_view(f"o{i}", "False", pool=other) for i in range(3))]
    assert [sick.view.name for sick in checkup(*views).repair] == ["b"]
