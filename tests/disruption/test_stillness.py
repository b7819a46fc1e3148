"""When another look could find nothing new: D-9, DEP-51."""

from dataclasses import replace

import pytest

from karpenter.disruption.expiration import LEAD_S
from karpenter.disruption.options import DEFAULT_OPTIONS, DisruptionOptions, Expiration
from karpenter.disruption.stillness import LONGEST_S, WINDOW_S, Stillness
from karpenter.disruption.verdict import Blocked, Command, Verdict
from karpenter.model.nodepool import Budget, Disruption
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.snapshot import Snapshot
from tests.builders import EPOCH, a_node, a_node_view, a_pod, a_pool, a_pool_view, a_snapshot
from tests.disruption.test_expiration import POOL as EXPIRING
from tests.disruption.test_expiration import a_view as an_expiring_view


def still(
    snapshot: Snapshot,
    verdict: Verdict,
    *,
    after_s: float = 1.0,
    generation: int = 7,
    options: DisruptionOptions = DEFAULT_OPTIONS,
) -> bool:
    """Return whether nothing new is expected so long after a look at generation 7."""
    stillness = Stillness(options)
    stillness.looked(replace(snapshot, generation=7), verdict)
    return stillness.left_s(generation, UnixSeconds(EPOCH + after_s)) > 0


def a_cluster(**pool: object) -> Snapshot:
    made = a_pool(**pool)
    return a_snapshot(nodes=[a_node_view("n", pool=made, node=a_node("n"))], pools=[a_pool_view(made)])


def test_before_the_first_look_nothing_is_still() -> None:
    assert Stillness(DEFAULT_OPTIONS).left_s(0, EPOCH) == 0


def test_a_quiet_cluster_is_still_for_an_hour_and_until_anything_changes() -> None:
    assert still(a_cluster(), Verdict(), after_s=LONGEST_S - 1)
    assert not still(a_cluster(), Verdict(), after_s=LONGEST_S)
    assert not still(a_cluster(), Verdict(), generation=8)


def test_commands_and_waiting_pods_leave_nothing_still() -> None:
    assert not still(a_cluster(), Verdict((Command("Empty", ("n",)),)))
    assert not still(replace(a_cluster(), pending=(a_pod(),)), Verdict())


def test_the_end_of_a_timer_ends_it() -> None:
    verdict = Verdict(blocked=(Blocked("n", "Timer", "later", until=UnixSeconds(EPOCH + 30)),))
    assert still(a_cluster(), verdict, after_s=29)
    assert not still(a_cluster(), verdict, after_s=30)


@pytest.mark.parametrize("code,holds", [("PodDisruptionBudget", True), ("Nominated", False), ("BackOff", False)])
def test_what_ends_by_time_and_does_not_say_when_is_looked_at_again(code: str, holds: bool) -> None:
    assert still(a_cluster(), Verdict(blocked=(Blocked("n", code, "why"),))) is holds


def test_a_life_time_that_ends_soon_ends_it() -> None:
    view = an_expiring_view("n", expired_for_s=-40)
    snapshot = a_snapshot(nodes=[view], pools=[a_pool_view(EXPIRING)])
    assert still(snapshot, Verdict(), after_s=39)
    assert not still(snapshot, Verdict(), after_s=40)


def test_windows_of_budgets_are_looked_at_every_minute() -> None:
    window = Disruption(budgets=(Budget("0", schedule="@daily", duration_s=600.0),))
    assert not still(a_cluster(disruption=window), Verdict(), after_s=WINDOW_S)


def test_a_hard_deadline_that_comes_close_is_looked_at() -> None:
    """The lead before a deadline is time for a replacement and a drain: nobody but the clock announces it."""
    snapshot = a_snapshot(nodes=[an_expiring_view("n", expired_for_s=10)], pools=[a_pool_view(EXPIRING)])
    options = DisruptionOptions(expiration=Expiration(deadline_s=LEAD_S + 60))
    assert still(snapshot, Verdict(), after_s=49, options=options)
    assert not still(snapshot, Verdict(), after_s=50, options=options)
    assert still(snapshot, Verdict(), after_s=50)
