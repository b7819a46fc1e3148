"""Disruption budgets: spec v1 §3.4, vectors V20 … V23, case BUDGET."""

from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest

from karpenter.disruption.budgets import allowance, allowed_disruptions, budget_use, closed_reasons, is_active
from karpenter.disruption.records import CommandRecord, encode_record
from karpenter.model.labels import DISRUPTION_COMMAND, REPLACEMENT_FOR
from karpenter.model.nodeclaim import INSTANCE_TERMINATING, NodeClaim
from karpenter.model.nodepool import Budget, Disruption
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.snapshot import NodeView
from tests.builders import EPOCH, a_claim, a_node, a_node_view, a_pool


def at(text: str) -> UnixSeconds:
    return UnixSeconds(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def test_v20_percentages_round_up() -> None:
    assert allowed_disruptions([Budget("5%")], "Empty", nodes=10, now=EPOCH) == 1


def test_v21_nodes_that_leave_or_are_not_ready_use_up_the_budget() -> None:
    pool = a_pool(disruption=Disruption(budgets=(Budget("20%"),)))
    views = [a_node_view(f"n{i}", pool=pool) for i in range(16)]
    views += [a_node_view(f"d{i}", pool=pool, is_deleting=True) for i in range(2)]
    views += [a_node_view("broken", pool=pool, node=a_node("broken", pool=pool, ready=False))]
    assert allowance(pool, "Drifted", views=views, now=EPOCH) == 4 - 3


@pytest.mark.parametrize(
    "reason,moment,allowed",
    [
        ("Empty", "2026-11-30T00:05:00", 5),
        ("Drifted", "2026-11-30T00:05:00", 5),
        ("Underutilized", "2026-11-30T00:05:00", 0),
        ("Underutilized", "2026-11-30T00:10:00", 5),
    ],
)
def test_v22_the_strictest_active_budget_of_the_reason_counts(reason: str, moment: str, allowed: int) -> None:
    budgets = [
        Budget("20%", reasons=frozenset({"Empty", "Drifted"})),
        Budget("5"),
        Budget("0", reasons=frozenset({"Underutilized"}), schedule="@daily", duration_s=600),
    ]
    assert allowed_disruptions(budgets, reason, nodes=30, now=at(moment)) == allowed


@pytest.mark.parametrize(
    "moment,active",
    [
        ("2026-11-30T09:00:00", True),
        ("2026-11-30T16:59:59", True),
        ("2026-11-30T17:00:00", False),
        ("2026-11-29T09:00:00", False),
    ],
)
def test_v23_a_window_opens_at_its_start_and_ends_before_its_end(moment: str, active: bool) -> None:
    assert is_active(Budget("0", schedule="0 9 * * 1-5", duration_s=8 * 3600), at(moment)) is active


def test_case_budget_d_a_reason_no_budget_speaks_of_is_not_limited() -> None:
    budgets = [Budget("0", reasons=frozenset({"Drifted"}))]
    assert allowed_disruptions(budgets, "Empty", nodes=7, now=EPOCH) == 7


def test_what_cannot_be_read_allows_nothing() -> None:
    assert allowed_disruptions([Budget("many")], "Empty", nodes=7, now=EPOCH) == 0
    assert is_active(Budget("0", schedule="whenever", duration_s=60), EPOCH)


def a_leaving_node(name: str, *, replaced_by: str, ending: bool = False) -> NodeView:
    """Return a node that a command replaces by another one, of the same name as the command's id."""
    record = CommandRecord(id=replaced_by, reason="Drifted", claims=(name,), started_at=EPOCH)
    conditions = [INSTANCE_TERMINATING] if ending else []
    claim = annotated(a_claim(name, pool=TENTH, conditions=conditions), DISRUPTION_COMMAND, encode_record(record))
    return a_node_view(name, pool=TENTH, claim=claim, is_deleting=True)


def a_replacement(name: str) -> NodeView:
    return a_node_view(f"new-{name}", pool=TENTH, claim=annotated(a_claim(name, pool=TENTH), REPLACEMENT_FOR, name))


def annotated(claim: NodeClaim, key: str, value: str) -> NodeClaim:
    return replace(claim, metadata=msgspec.structs.replace(claim.metadata, annotations={key: value}))


TENTH = a_pool(disruption=Disruption(budgets=(Budget("10%"),)))


def test_case_expire_herd_replacements_do_not_make_the_pool_larger_while_what_they_replace_is_there() -> None:
    views = [a_node_view(f"n{i}", pool=TENTH) for i in range(18)]
    views += [a_leaving_node("a", replaced_by="r1"), a_replacement("r1")]
    views += [a_leaving_node("b", replaced_by="r2"), a_replacement("r2")]
    assert budget_use(TENTH, "Expired", views=views, now=EPOCH) == (2, 2)


def test_case_expire_herd_a_node_uses_the_budget_up_until_it_is_gone() -> None:
    views = [a_node_view(f"n{i}", pool=TENTH) for i in range(19)]
    views.append(a_leaving_node("a", replaced_by="r1", ending=True))
    assert budget_use(TENTH, "Expired", views=views, now=EPOCH) == (2, 1)


def test_b8_the_reasons_for_which_no_node_may_go_are_named_unless_the_pool_has_none() -> None:
    quiet = a_pool(disruption=Disruption(budgets=(Budget("0", reasons=frozenset({"Drifted", "Expired"})),)))
    views = [a_node_view("n", pool=quiet)]
    assert closed_reasons(quiet, views=views, now=EPOCH) == ("Expired", "Drifted")
    assert closed_reasons(quiet, views=[], now=EPOCH) == ()


def test_case_budget_a_window_changes_each_reasons_allowance() -> None:
    window = {"schedule": "0 9 * * *", "duration_s": 3600.0}
    budgets = [
        Budget("2"),
        Budget("1", reasons=frozenset({"Empty", "Drifted"}), **window),
        Budget("0", reasons=frozenset({"Underutilized"}), **window),
    ]
    reasons = ("Empty", "Drifted", "Underutilized")

    def allowed(moment: str) -> list[int]:
        return [allowed_disruptions(budgets, reason, nodes=10, now=at(moment)) for reason in reasons]

    assert allowed("2026-11-30T09:30:00") == [1, 1, 0]
    assert allowed("2026-11-30T10:00:00") == [2, 2, 2]


def test_case_budget_d_a_budget_with_reasons_leaves_other_reasons_alone() -> None:
    budgets = [Budget("0", reasons=frozenset({"Drifted"}))]
    assert allowed_disruptions(budgets, "Empty", nodes=10, now=EPOCH) == 10
