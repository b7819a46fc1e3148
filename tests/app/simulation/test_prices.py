"""The sentence about prices under the table of `simulate`."""

from dataclasses import replace

import pytest

from karpenter.app.simulation.prices import price_sentence
from karpenter.scheduling import Solution
from tests.builders import an_instance_type
from tests.scheduling.toys import FREE, pods, solved, toys


def test_the_sentence_names_all_prices_the_bound_and_what_rails_cost() -> None:
    (plan,) = solved(pods(1)).new_claims
    plan = replace(plan, price=4.34, expected_price=4.41, worst_price=5.2)
    said = price_sentence(Solution((plan,), lower_bound=4.34 / 1.021, rails_cost=0.026))
    assert said == (
        "$4.3400 an hour planned, 4.4100 expected, 5.2000 at worst; "
        "at most 2.1 % above the optimum under your policy; rails cost 0.6 %"
    )


def test_a_plan_at_its_bound_is_called_the_optimum() -> None:
    assert price_sentence(solved(pods(64), options=FREE)).endswith("; the optimum under your policy")


def test_without_new_nodes_nothing_is_said() -> None:
    assert price_sentence(Solution()) == ""


def test_rails_cost_what_the_bound_under_them_is_above_the_one_without() -> None:
    types = [*toys("c.16"), an_instance_type("c.96", cpu="96", memory="192Gi", price=1.28)]
    assert solved(pods(96), types=types).rails_cost == pytest.approx(3.84 - 1.28)


def test_a_cap_on_pods_is_part_of_what_rails_cost() -> None:
    types = [an_instance_type("wide", cpu="16", memory="64Gi", pods=737, price=1.0)]
    assert solved(pods(220, cpu="10m", memory="64Mi"), types=types).rails_cost == pytest.approx(1.0)


def test_without_rails_they_cost_nothing() -> None:
    assert solved(pods(64), options=FREE).rails_cost == 0.0
