"""What stands in the way of a disruption: spec v1 §3.3, cases PDB-BLOCK, JOB-DONE, vectors TV-121 … TV-123."""

from dataclasses import replace

import msgspec
import pytest

from karpenter.disruption.candidates import Candidates
from karpenter.disruption.verdict import Blocked
from karpenter.model.core import Pod, PodDisruptionBudget
from karpenter.model.meta import Condition
from karpenter.model.units import UnixSeconds, from_rfc3339, to_rfc3339
from karpenter.scheduling.snapshot import NodeView
from tests.builders import CREATED, EPOCH, a_claim, a_node, a_node_view, a_pdb, a_pod, a_pool, a_pool_view, a_snapshot

POOL = a_pool()
WEB = {"app": "web"}


def a_view(*pods: Pod, annotations: dict[str, str] | None = None, **fields: object) -> NodeView:
    node = a_node("n", pool=POOL, annotations=annotations)
    return replace(a_node_view("n", pool=POOL, node=node, claim=a_claim("c", pool=POOL), pods=pods), **fields)


def obstacle(
    view: NodeView, *pdbs: PodDisruptionBudget, reason: str = "Drifted", paused: bool = False
) -> Blocked | None:
    pool = replace(a_pool_view(POOL), is_paused=paused)
    return Candidates(a_snapshot(nodes=[view], pools=[pool], pdbs=pdbs)).obstacle(view, reason)


def code(view: NodeView, *pdbs: PodDisruptionBudget, **options: object) -> str | None:
    found = obstacle(view, *pdbs, **options)
    return found.code if found else None


def web(name: str = "web", **fields: object) -> Pod:
    return a_pod(name, node="n", labels=WEB, **fields)


def test_nothing_stands_in_the_way_of_ordinary_pods() -> None:
    assert obstacle(a_view(web()), a_pdb(selects=WEB, allowed=1)) is None


def test_case_pdb_block_a_the_budget_is_named_with_since_when_and_at_what_price() -> None:
    since = UnixSeconds(EPOCH - 600)
    pdb = a_pdb("keep", selects=WEB, allowed=0)
    condition = Condition("DisruptionAllowed", "False", "InsufficientPods", last_transition_time=to_rfc3339(since))
    pdb = msgspec.structs.replace(pdb, status=msgspec.structs.replace(pdb.status, conditions=(condition,)))
    assert obstacle(a_view(web()), pdb) == Blocked(
        "n",
        "PodDisruptionBudget",
        "budget default/keep allows no eviction of pod default/web",
        since=since,
        price=0.2,
        reason="Drifted",
    )


def test_case_pdb_block_b_a_pod_under_two_budgets_is_blocked_and_both_are_named() -> None:
    found = obstacle(a_view(web()), a_pdb("one", selects=WEB, allowed=5), a_pdb("two", selects=WEB, allowed=5))
    assert found is not None
    assert (found.code, "default/one and default/two" in found.message) == ("PodDisruptionBudget", True)


def test_case_pdb_block_c_an_unhealthy_pod_does_not_block_under_always_allow() -> None:
    pdb = a_pdb(selects=WEB, allowed=0)
    lenient = msgspec.structs.replace(
        pdb, spec=msgspec.structs.replace(pdb.spec, unhealthy_pod_eviction_policy="AlwaysAllow")
    )
    assert code(a_view(web()), lenient) is None
    assert code(a_view(web()), pdb) == "PodDisruptionBudget"


def test_a_budget_whose_status_is_older_than_itself_allows_nothing() -> None:
    pdb = a_pdb(selects=WEB, allowed=1)
    edited = msgspec.structs.replace(pdb, metadata=msgspec.structs.replace(pdb.metadata, generation=2))
    assert code(a_view(web()), edited) == "PodDisruptionBudget"


def test_tv121_a_budget_of_another_namespace_does_not_count() -> None:
    assert code(a_view(web()), a_pdb(namespace="other", selects=WEB)) is None
    assert code(a_view(web()), a_pdb(selects=WEB)) == "PodDisruptionBudget"


@pytest.mark.parametrize("value,expected", [("true", "DoNotDisrupt"), ("false", None)])
def test_tv122_do_not_evict_true_blocks(value: str, expected: str | None) -> None:
    assert code(a_view(web(annotations={"karpenter.sh/do-not-evict": value}))) == expected


def test_timed_protection_says_when_it_ends() -> None:
    found = obstacle(a_view(web(annotations={"karpenter.sh/do-not-disrupt": "1h"})))
    assert found is not None
    assert found.until == from_rfc3339(CREATED) + 3600


def test_b2_a_daemons_protection_counts_too_also_on_a_node_that_is_empty_otherwise() -> None:
    daemon = a_pod("ds", node="n", owner="DaemonSet", annotations={"karpenter.sh/do-not-disrupt": "true"})
    assert code(a_view(daemon), reason="Empty") == "DoNotDisrupt"


def test_case_job_done_finished_and_terminating_pods_do_not_block() -> None:
    protected = {"karpenter.sh/do-not-disrupt": "true"}
    done = web(phase="Succeeded", annotations=protected)
    leaving = web("leaving", deleted=to_rfc3339(EPOCH), annotations=protected)
    assert code(a_view(done, leaving), a_pdb(selects=WEB)) is None


@pytest.mark.parametrize("reason", ["Empty", "Drifted", "Expired", "Underutilized"])
def test_the_nodes_own_annotation_blocks(reason: str) -> None:
    view = a_view(annotations={"karpenter.sh/do-not-disrupt": "true"})
    assert code(view, reason=reason) == "NodeDoNotDisrupt"


def test_tv123_do_not_consolidate_is_about_consolidation_only() -> None:
    view = a_view(annotations={"karpenter.sh/do-not-consolidate": "true"})
    assert (code(view, reason="Underutilized"), code(view, reason="Drifted")) == ("DoNotConsolidate", None)


def test_with_a_termination_grace_period_pods_do_not_hold_a_drifted_node_d20() -> None:
    claim = replace(a_claim("c", pool=POOL), termination_grace_period_s=3600.0)
    view = a_view(web(annotations={"karpenter.sh/do-not-disrupt": "true"}), claim=claim)
    assert code(view, a_pdb(selects=WEB), reason="Drifted") is None
    assert code(view, reason="Underutilized") == "DoNotDisrupt"


@pytest.mark.parametrize(
    "fields,expected",
    [
        ({"is_initialized": False}, "Uninitialized"),
        ({"is_nominated": True}, "Nominated"),
        ({"held_until": UnixSeconds(EPOCH + 1)}, "BackOff"),
        ({"held_until": EPOCH}, None),
    ],
)
def test_a_nodes_own_state_blocks(fields: dict[str, object], expected: str | None) -> None:
    assert code(a_view(**fields)) == expected


def test_a_paused_pools_nodes_stay() -> None:
    assert code(a_view(), paused=True) == "Paused"


def test_foreign_leaving_and_unborn_nodes_are_no_candidates() -> None:
    snapshot = a_snapshot(
        nodes=[
            a_view(),
            a_node_view("foreign", node=a_node("foreign")),
            a_node_view("leaving", pool=POOL, node=a_node("leaving"), is_deleting=True),
            a_node_view("in-flight", pool=POOL, claim=a_claim("in-flight", pool=POOL)),
        ],
        pools=[a_pool_view(POOL)],
    )
    assert [candidate.name for candidate in Candidates(snapshot).all()] == ["n"]
