"""Which types a claim lists, and what its machine is expected to cost, and at worst."""

import numpy as np
import pytest

from karpenter.model import labels
from karpenter.model.requirements import Requirement
from karpenter.scheduling import Options, Policy
from karpenter.scheduling.policy import FlexibilityRails
from karpenter.scheduling.rails.lists import expected_and_worst, listed
from tests.builders import a_pod, a_pool, an_instance_type
from tests.scheduling.toys import FREE, solved, toys

RAILS = FlexibilityRails()


def ladder(count: int, step: float):
    """Return types that all hold a pod of 3 cpu, each dearer than the one before by a step."""
    return [an_instance_type(f"t{at:02}.4", cpu="4", memory="8Gi", price=0.1 * (1 + step * at)) for at in range(count)]


def test_an_on_demand_claim_lists_what_is_at_most_a_fifth_dearer() -> None:
    (plan,) = solved([a_pod(cpu="3")], types=ladder(10, 0.05)).new_claims
    assert plan.instance_types == ("t00.4", "t01.4", "t02.4", "t03.4", "t04.4")
    assert (plan.price, plan.expected_price, plan.worst_price) == pytest.approx((0.1, 0.1, 0.12))


def test_a_spot_claim_lists_dearer_types_until_there_are_fifteen() -> None:
    (plan,) = solved([a_pod(cpu="3")], types=ladder(30, 0.03), pools=[a_pool()]).new_claims
    assert (plan.capacity_type, len(plan.instance_types)) == ("spot", 15)
    assert plan.worst_price == pytest.approx(0.03 * 1.42)


def test_a_spot_claim_lists_nothing_beyond_half_as_much_again() -> None:
    (plan,) = solved([a_pod(cpu="3")], types=ladder(30, 0.1), pools=[a_pool()]).new_claims
    assert len(plan.instance_types) == 6


def test_a_spot_claim_lists_all_types_that_are_little_dearer() -> None:
    assert len(listed(np.full(40, 0.1), is_spot=True, rails=RAILS)) == 40


def test_without_rails_a_claim_lists_everything_that_holds_the_pods() -> None:
    (plan,) = solved([a_pod(cpu="3")], types=ladder(10, 0.5), options=FREE).new_claims
    assert len(plan.instance_types) == 10


def test_min_values_are_kept_although_other_types_are_dearer() -> None:
    """S-46 before the rail."""
    wanted = Requirement.of(labels.INSTANCE_TYPE, "Exists", min_values=3)
    pool = a_pool(requirements=[Requirement.of(labels.CAPACITY_TYPE, "In", ["on-demand"]), wanted])
    (plan,) = solved([a_pod(cpu="3")], types=ladder(10, 0.5), pools=[pool]).new_claims
    assert len(plan.instance_types) == 3


def test_a_spot_claim_that_may_fall_back_costs_spot_prices_at_worst() -> None:
    (plan,) = solved([a_pod(cpu="3")], types=toys("c.4"), pools=[a_pool()]).new_claims
    assert plan.requirements[labels.CAPACITY_TYPE].values == {"spot", "on-demand"}
    assert plan.worst_price == plan.price


def test_the_ratio_is_a_setting() -> None:
    options = Options(Policy(flexibility=FlexibilityRails(on_demand_ratio=2.0)))
    (plan,) = solved([a_pod(cpu="3")], types=ladder(10, 0.2), options=options).new_claims
    assert len(plan.instance_types) == 6


def test_half_of_all_spot_offerings_are_taken_to_have_capacity_to_spare() -> None:
    """Of three, the cheapest has it with 1/2, only others with 1/4 and 1/8; with 1/8 none, and it is taken anyway."""
    price = np.array([[[1.0]], [[2.0]], [[4.0]]])
    assert expected_and_worst(price, ["spot"]) == (1.0 * 5 / 8 + 2.0 / 4 + 4.0 / 8, 4.0)


def test_the_cheapest_on_demand_machine_is_to_be_expected() -> None:
    assert expected_and_worst(np.array([[[1.0]], [[2.0]], [[4.0]]]), ["on-demand"]) == (1.0, 4.0)


def test_what_is_reserved_is_asked_for_before_spot() -> None:
    price = np.array([[[3.0, 2.0, 1.0]]])
    assert expected_and_worst(price, ["on-demand", "reserved", "spot"]) == (2.0, 2.0)
