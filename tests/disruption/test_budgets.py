"""Disruption budgets: spec v1 §3.4, vectors V20 … V23, case BUDGET."""

from datetime import UTC, datetime

import pytest

from karpenter.disruption.budgets import allowance, allowed_disruptions, is_active
from karpenter.model.nodepool import Budget, Disruption
from karpenter.model.units import UnixSeconds
from tests.builders import EPOCH, a_node, a_node_view, a_pool


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
