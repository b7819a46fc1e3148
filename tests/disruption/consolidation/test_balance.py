"""Pools that say Balanced: spec v1 §3.7 (D-21 … D-25), vectors V26, V28 … V30; case CHURN (c)."""

from collections.abc import Sequence

import pytest

from karpenter.disruption.candidates import Candidates
from karpenter.disruption.consolidation.balance import Balance, designed_cost, shipped_cost
from karpenter.disruption.consolidation.moves import Move
from karpenter.disruption.relocation import Relocation
from karpenter.model.core import Pod
from karpenter.model.labels import POD_DELETION_COST
from karpenter.model.nodepool import Budget, Disruption, NodePool
from karpenter.model.requirements import Requirements
from karpenter.scheduling import BalanceFormula, ClaimPlan
from karpenter.scheduling.snapshot import NodeView, Snapshot
from tests.builders import a_node, a_node_view, a_pod, a_snapshot
from tests.disruption.consolidation.fleets import a_fleet, a_free_pool, a_machine, consolidated, reasons
from tests.scheduling.toys import on_demand, pods

ANY_NUMBER = (Budget("100%"),)
BALANCED = on_demand(disruption=Disruption(policy="Balanced", budgets=ANY_NUMBER))


def a_view(name: str, bound: list[Pod], *, pool: NodePool, price: float) -> NodeView:
    return a_node_view(name, pods=bound, pool=pool, price=price, node=a_node(name, pool=pool))


def a_pool_of_nodes(counts: Sequence[int], price: float) -> Snapshot:
    """Return nodes of one price with so many plain pods on each."""
    nodes = [
        a_view(f"n{at}", pods(count, name=f"p{at}", node=f"n{at}"), pool=BALANCED, price=price)
        for at, count in enumerate(counts)
    ]
    return a_snapshot(nodes=nodes, pools=[BALANCED])


def a_move(snapshot: Snapshot, names: set[str], *, saving: float) -> Move:
    """Return a move of these nodes to one machine that costs so much less."""
    candidates = tuple(one for one in Candidates(snapshot).all() if one.name in names)
    price = sum(one.price for one in candidates) - saving
    moved = tuple(pod for one in candidates for pod in one.pods)
    plan = ClaimPlan("new", BALANCED.key, moved, Requirements(), ("c.1",), "c.1", "a", "on-demand", price, {})
    placements = {pod.metadata.key: "new" for pod in moved}
    return Move(candidates, Relocation((plan,), placements), saving, 0.0)


def judged(snapshot: Snapshot, move: Move, formula: BalanceFormula) -> tuple[float, bool]:
    balance = Balance(snapshot, formula)
    refusal = balance.on_move(move)
    (score,) = balance.scores
    assert (refusal is None) == score.is_approved
    return round(score.value, 2), score.is_approved


def test_v28_a_move_worth_half_of_what_it_disturbs_is_made() -> None:
    fleet = a_pool_of_nodes([8] * 10, 4.84)
    assert judged(fleet, a_move(fleet, {"n0"}, saving=2.42), "shipped") == (0.50, True)


def test_v29_a_move_worth_less_is_not() -> None:
    fleet = a_pool_of_nodes([8] * 10, 5.808)
    assert judged(fleet, a_move(fleet, {"n0"}, saving=2.42), "shipped") == (0.42, False)


def test_v30_a_move_that_saves_much_for_few_pods_is_made() -> None:
    fleet = a_pool_of_nodes([3, 8, 8, 8, 8, 9, 9, 9, 9, 9], 5.808)
    move = a_move(fleet, {"n0"}, saving=7.26)
    # Seven dollars cannot be saved on one such node; the arithmetic is what the vector is about.
    assert judged(fleet, move, "shipped") == (2.81, True)


@pytest.mark.parametrize("pods_moved, saving, answer", [(8, 2.42, (0.42, False)), (3, 7.26, (3.33, True))])
def test_case_churn_c_the_design_counts_pods_only(pods_moved: int, saving: float, answer: tuple[float, bool]) -> None:
    fleet = a_pool_of_nodes([pods_moved, *[8] * 8, 80 - 64 - pods_moved], 5.808)
    assert judged(fleet, a_move(fleet, {"n0"}, saving=saving), "design") == answer


def test_the_two_formulas_differ_by_the_node_itself() -> None:
    assert (shipped_cost(pods(8)), designed_cost(pods(8))) == (9.0, 8.0)


def test_d21_several_pools_share_what_a_move_saves_by_the_prices_of_their_nodes() -> None:
    other = on_demand("other", disruption=Disruption(policy="Balanced", budgets=ANY_NUMBER))
    views = [
        a_view("n0", pods(1, name="a", node="n0"), pool=BALANCED, price=3.0),
        a_view("n1", pods(1, name="b", node="n1"), pool=other, price=1.0),
    ]
    fleet = a_snapshot(nodes=views, pools=[BALANCED, other])
    balance = Balance(fleet, "shipped")
    assert balance.on_move(a_move(fleet, {"n0", "n1"}, saving=2.0)) is None
    assert {score.pool.name: score.value for score in balance.scores} == {"default": 0.5, "other": 0.5}


def two_halves(policy: str, *, kept: int) -> Snapshot:
    """Return a small node that could go, of a pool whose other nodes are full and dear."""
    pool = a_free_pool(disruption=Disruption(policy=policy, budgets=ANY_NUMBER))  # type: ignore[arg-type]
    few = pods(7, cpu="100m", memory="100Mi", name="few")
    full = [a_machine(f"n{at}", "c.32", *pods(1, cpu="31", name=f"p{at}"), pool=pool) for at in range(kept)]
    return a_fleet(a_machine("small", "c.1", *few, pool=pool), *full, pools=[pool], types=["c.1", "c.32"])


def test_d23_a_balanced_pool_keeps_a_node_that_another_policy_gives_back() -> None:
    (command,) = consolidated(two_halves("WhenEmptyOrUnderutilized", kept=3)).commands
    assert command.nodes == ("small",)
    verdict = consolidated(two_halves("Balanced", kept=3))
    assert (verdict.commands, reasons(verdict)["small"]) == ((), "Unbalanced")
    assert not any(score.is_approved for score in verdict.scores)


def test_v26_a_pool_that_gives_back_empty_nodes_gives_back_those_whose_pods_may_go_for_nothing() -> None:
    pool = a_free_pool(disruption=Disruption(policy="WhenEmpty", budgets=ANY_NUMBER))
    cheap = a_pod("p", cpu="100m", annotations={POD_DELETION_COST: "-2147483647"})
    plain = a_machine("b", "c.4", *pods(1, name="q"), pool=pool)
    verdict = consolidated(a_fleet(a_machine("a", "c.4", cheap, pool=pool), plain, pools=[pool]))
    assert [command.nodes for command in verdict.commands] == [("a",)]
    assert reasons(verdict) == {"b": "PolicyOff"}


def test_v26_such_a_node_stays_while_its_pods_have_no_place() -> None:
    pool = a_free_pool(disruption=Disruption(policy="WhenEmpty", budgets=ANY_NUMBER))
    cheap = a_pod("p", cpu="3", annotations={POD_DELETION_COST: "-2147483647"})
    verdict = consolidated(a_fleet(a_machine("a", "c.4", cheap, pool=pool), pools=[pool], types=["c.4"]))
    assert verdict.commands == ()


def test_d23_empty_nodes_go_without_being_asked_about() -> None:
    cheap = a_pod("p", node="a", annotations={POD_DELETION_COST: "-2147483647"})
    fleet = a_snapshot(nodes=[a_view("a", [cheap], pool=BALANCED, price=0.01)], pools=[BALANCED])
    balance = Balance(fleet, "shipped")
    delete = Move(Candidates(fleet).all(), Relocation(placements={cheap.metadata.key: "b"}), 0.01, 0.0)
    assert (balance.on_move(delete), balance.scores) == (None, ())
