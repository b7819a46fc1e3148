"""What replacements may cost once they list only types that keep a command's promise."""

from karpenter.disruption.consolidation.replacements import capped, open_in
from karpenter.model import labels
from karpenter.model.requirements import Requirement, Requirements
from karpenter.scheduling import ClaimPlan
from tests.builders import a_pool_view
from tests.scheduling.toys import on_demand, toys

POOL = a_pool_view(on_demand(), *toys("c.4", "m.4", "r.4"))
TYPES = ("c.4", "m.4", "r.4")


def a_plan(capacity_type: str, price: float) -> ClaimPlan:
    allowed = {labels.INSTANCE_TYPE: TYPES, labels.CAPACITY_TYPE: (capacity_type,)}
    requirements = Requirements(Requirement.of(key, "In", values) for key, values in allowed.items())
    return ClaimPlan("p", POOL.pool.key, (), requirements, TYPES, "c.4", "a", capacity_type, price, {})


def test_types_that_could_cost_as_much_as_before_are_left_out_and_the_worst_is_the_dearest_left() -> None:
    (plan,) = capped([a_plan("on-demand", 0.16)], open_in([POOL]), most=0.25) or ()
    assert plan.instance_types == ("c.4", "m.4")
    assert (plan.expected_price, plan.worst_price) == (0.16, 0.20)


def test_of_spot_more_than_the_cheapest_is_to_be_expected_and_never_more_than_the_worst() -> None:
    (plan,) = capped([a_plan("spot", 0.048)], open_in([POOL]), most=0.07) or ()
    assert plan.instance_types == ("c.4", "m.4")
    assert 0.048 < plan.expected_price < plan.worst_price == 0.06


def test_where_nothing_stays_below_there_is_no_replacement() -> None:
    assert capped([a_plan("on-demand", 0.16)], open_in([POOL]), most=0.16) is None
