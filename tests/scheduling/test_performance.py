"""The optional performance index: machines are compared by price per vCPU and its speed."""

import pytest

from karpenter.model import labels
from karpenter.scheduling import Demand, Options, Policy, solve
from karpenter.scheduling.solver import solve_with_proof
from tests.builders import a_pod, a_snapshot, an_instance_type
from tests.scheduling.boundchecker import check
from tests.scheduling.toys import on_demand, pods

SLOW = an_instance_type("m5.4", cpu="4", memory="8Gi", price=0.10, labels={labels.INSTANCE_FAMILY: "m5"})
FAST = an_instance_type("c7.4", cpu="4", memory="8Gi", price=0.12, labels={labels.INSTANCE_FAMILY: "c7"})


def planned(*performance: tuple[str, float], wanted: int = 1):
    world = a_snapshot(types=(SLOW, FAST), pools=[on_demand()])
    return solve(world, Demand.each(pods(wanted, cpu="3")), Options(Policy(performance=performance))).new_claims


def test_without_an_index_the_price_decides() -> None:
    assert planned()[0].instance_type == "m5.4"


def test_a_machine_that_is_faster_than_it_is_dearer_is_planned_at_its_own_price() -> None:
    (plan,) = planned(("c7", 1.3))
    assert (plan.instance_type, plan.price) == ("c7.4", 0.12)


def test_a_machine_that_is_dearer_than_it_is_faster_is_not() -> None:
    assert planned(("c7", 1.1))[0].instance_type == "m5.4"


def test_a_slow_family_loses_against_those_that_are_not_named() -> None:
    assert {plan.instance_type for plan in planned(("m5", 0.8), wanted=20)} == {"c7.4"}


def test_the_bound_stays_one_on_what_is_paid() -> None:
    world = a_snapshot(types=(SLOW, FAST), pools=[on_demand()])
    solution, proof = solve_with_proof(
        world, Demand.each([a_pod(cpu="3")]), Options(Policy(performance=(("c7", 1.3),)))
    )
    check(proof.statement.problem, proof.bound)
    assert (solution.price, solution.lower_bound) == pytest.approx((0.12, 0.10))
