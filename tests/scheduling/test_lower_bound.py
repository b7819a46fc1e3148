"""The lower bound beside every price: proven by its duals, and never above what the plan costs."""

import pytest
from hypothesis import given, settings

from karpenter.model.core import Pod
from karpenter.scheduling import Demand, Options, Snapshot
from karpenter.scheduling.solver import solve_with_proof
from tests.builders import a_node_view, a_pod, a_snapshot
from tests.scheduling import worlds
from tests.scheduling.boundchecker import check
from tests.scheduling.toys import FREE, on_demand, pods, solved, toys


def proven(snapshot, demand: Demand, options: Options = FREE):
    """Solve, hold the bound to the independent checker, and return the solution."""
    solution, proof = solve_with_proof(snapshot, demand, options)
    if proof.statement is None:
        assert (solution.lower_bound, solution.price) == (0.0, 0.0)
    else:
        stated = proof.statement
        check(stated.problem, proof.bound, room=stated.room, admits=stated.admits)
        assert solution.lower_bound == proof.bound.price
    assert solution.lower_bound <= solution.price + 1e-9
    return solution


@settings(max_examples=25)
@given(worlds.snapshots(limited=True), worlds.pod_lists())
def test_every_bound_is_proven_and_not_above_the_price(snapshot: Snapshot, wanted: tuple[Pod, ...]) -> None:
    proven(snapshot, Demand.each(wanted))


def test_one_pod_costs_at_least_the_cheapest_machine_that_holds_it() -> None:
    solution = solved([a_pod(cpu="3")], options=FREE)
    assert solution.lower_bound == pytest.approx(solution.price)


def test_equal_pods_are_planned_at_the_bound() -> None:
    solution = solved(pods(64), options=FREE)
    assert solution.lower_bound == pytest.approx(solution.price)


def test_pods_that_fit_nodes_cost_nothing_and_the_bound_says_so() -> None:
    world = a_snapshot(types=toys(), pools=[on_demand()], nodes=[a_node_view("n", cpu="8", memory="32Gi")])
    solution = proven(world, Demand.each(pods(2)))
    assert (solution.new_claims, solution.lower_bound) == ((), 0.0)


def test_room_on_nodes_lowers_the_bound() -> None:
    nodes = [a_node_view("n", cpu="8", memory="32Gi")]
    with_node = proven(a_snapshot(types=toys(), pools=[on_demand()], nodes=nodes), Demand.each(pods(40)))
    without = proven(a_snapshot(types=toys(), pools=[on_demand()]), Demand.each(pods(40)))
    assert 0 < with_node.lower_bound < without.lower_bound


def test_a_limit_on_nodes_is_part_of_the_bound() -> None:
    """Two machines of 8 cpu cost more than eight small ones of which the limit allows two."""
    dear = toys("c.1") + toys("m.8")
    free = proven(a_snapshot(types=dear, pools=[on_demand()]), Demand.each(pods(8)))
    limited = proven(a_snapshot(types=dear, pools=[on_demand(limits={"nodes": "2"})]), Demand.each(pods(8)))
    assert free.lower_bound < limited.lower_bound <= limited.price


def test_a_dear_pool_of_high_weight_bounds_what_its_pods_cost() -> None:
    heavy = on_demand("heavy", weight=10, requirements={"node.kubernetes.io/instance-type": ["g.8"]})
    solution = proven(a_snapshot(types=toys(), pools=[heavy, on_demand("light")]), Demand.each(pods(2)))
    assert solution.lower_bound > 0.25


def test_a_solve_that_was_stopped_has_no_bound() -> None:
    world = a_snapshot(types=toys(), pools=[on_demand()])
    solution, proof = solve_with_proof(world, Demand.each(pods(2)), stop=lambda: True)
    assert (solution.lower_bound, proof) == (None, None)
