"""What makes a command stop at the second look: issue 6, points 3 and 6; spec v1 D-13, D-17; DEP-61."""

from dataclasses import replace

import pytest

from karpenter.disruption.validation import Objection, homeless, objection
from karpenter.model.core import Pod
from karpenter.model.nodeclaim import DRIFTED
from karpenter.model.nodepool import Budget, Disruption, NodePool
from karpenter.scheduling import Options
from karpenter.scheduling.snapshot import NodeView, Snapshot
from tests.builders import EPOCH, a_claim, a_node, a_node_view, a_pdb, a_pod, a_pool, a_pool_view, a_snapshot

POOL = a_pool(disruption=Disruption(budgets=(Budget("1"),)), expire_after_s=60)
WEB = {"app": "web"}


def a_candidate(*pods: Pod, drifted: bool = True, name: str = "n") -> NodeView:
    claim = a_claim(f"{name}-claim", pool=POOL, conditions=[DRIFTED] if drifted else [])
    return a_node_view(name, pool=POOL, node=a_node(name, pool=POOL), claim=claim, pods=pods, is_deleting=True)


def snapshot(*views: NodeView, pool: NodePool = POOL, **fields: object) -> Snapshot:
    return a_snapshot(nodes=views, pools=[a_pool_view(pool)], **fields)


def test_nothing_speaks_against_a_drifted_node() -> None:
    assert objection(snapshot(a_candidate(a_pod(node="n"))), ["n"], "Drifted") is None


@pytest.mark.parametrize(
    "reason,view",
    [
        ("Drifted", a_candidate(drifted=False)),
        ("Empty", a_candidate(a_pod(node="n"))),
        ("Expired", replace(a_candidate(), claim=a_claim("c", pool=POOL))),
    ],
)
def test_a_node_that_has_lost_its_cause_stays(reason: str, view: NodeView) -> None:
    found = objection(snapshot(view), ["n"], reason)
    assert found == Objection(f"node n is not {reason.lower()} any more", is_final=True)


def test_case_dnd_race_a_protected_pod_ends_the_command() -> None:
    pod = a_pod("p", node="n", annotations={"karpenter.sh/do-not-disrupt": "true"})
    found = objection(snapshot(a_candidate(pod)), ["n"], "Drifted")
    assert found is not None
    assert (found.is_final, "pod default/p says" in found.message) == (True, True)


def test_a_budget_that_allows_nothing_just_now_is_waited_for() -> None:
    view = a_candidate(a_pod("p", node="n", labels=WEB))
    found = objection(snapshot(view, pdbs=[a_pdb(selects=WEB)]), ["n"], "Drifted")
    assert found is not None
    assert not found.is_final


def test_the_node_itself_may_use_up_the_pools_budget_and_others_may_not() -> None:
    other = a_node_view("other", pool=POOL, node=a_node("other"), is_deleting=True)
    found = objection(snapshot(a_candidate(), other), ["n"], "Drifted")
    assert found == Objection("the budget of Provisioner default for Drifted lets only 1 nodes go now", is_final=False)


def test_a_budget_that_was_closed_meanwhile_ends_the_command() -> None:
    closed = replace(POOL, disruption=Disruption(budgets=(Budget("0"),)))
    found = objection(snapshot(a_candidate(), pool=closed), ["n"], "Drifted")
    assert found is not None
    assert found.is_final


def unsettled(*others: NodeView, reason: str = "Drifted", **fields: object) -> Objection | None:
    view = a_candidate(a_pod("p", node="n", cpu="3"))
    return homeless(snapshot(view, *others, **fields), ["n"], reason, options=Options())


def test_pods_need_a_place_on_nodes_that_are_initialized() -> None:
    roomy = a_node_view("roomy", pool=POOL, node=a_node("roomy"))
    assert unsettled(roomy) is None
    found = unsettled(replace(roomy, is_initialized=False))
    assert found is not None
    assert not found.is_final


def test_room_that_is_kept_for_a_pod_is_its_place() -> None:
    kept = a_pod("p", node="replacement", cpu="3")
    assert unsettled(a_node_view("replacement", pool=POOL, node=a_node("replacement"), pods=[kept])) is None


def test_consolidation_whose_pods_do_not_fit_any_more_is_off() -> None:
    found = unsettled(reason="Underutilized")
    assert found is not None
    assert found.is_final


def test_others_that_wait_for_a_node_take_their_share_of_the_room() -> None:
    roomy = a_node_view("roomy", pool=POOL, node=a_node("roomy"))
    assert unsettled(roomy, pending=[a_pod("big", cpu="4", priority=100)]) is not None


def test_the_moment_counts() -> None:
    view = replace(a_candidate(), claim=a_claim("c", pool=POOL), node=a_node("n", pool=POOL))
    by_pool = replace(POOL, disruption=replace(POOL.disruption, expires_by_pool=True))
    assert objection(snapshot(view, pool=by_pool, taken_at=EPOCH), ["n"], "Expired") is None
