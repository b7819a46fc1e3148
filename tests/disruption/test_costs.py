"""What moving pods costs: spec v1 D-3, D-5, D-6, vectors V24 … V27."""

import pytest

from karpenter.disruption.costs import cost_of_taking, eviction_cost, node_cost
from karpenter.model.labels import POD_DELETION_COST
from tests.builders import a_pod
from tests.scheduling.toys import pods


def costing(deletion_cost: str) -> dict[str, str]:
    return {POD_DELETION_COST: deletion_cost}


def test_v24_a_plain_pod_costs_1() -> None:
    assert eviction_cost(a_pod()) == 1.0


@pytest.mark.parametrize("priority, cost", [(1_000_000, 1 + 1_000_000 / 2**25), (1_000_000_000, 10.0)])
def test_v25_priority_makes_a_pod_cost_more_up_to_10(priority: int, cost: float) -> None:
    assert eviction_cost(a_pod(priority=priority)) == cost
    assert f"{1 + 1_000_000 / 2**25:.4f}" == "1.0298"


@pytest.mark.parametrize("text, cost", [("2147483647", 10.0), ("-2147483647", -10.0), ("134217728", 2.0)])
def test_v25_deletion_cost_is_counted_between_minus_10_and_10(text: str, cost: float) -> None:
    assert eviction_cost(a_pod(annotations=costing(text))) == cost


def test_a_deletion_cost_that_is_no_number_says_nothing() -> None:
    assert eviction_cost(a_pod(annotations=costing("cheap"))) == 1.0


def test_v26_a_node_whose_pods_may_go_for_nothing_costs_what_an_empty_one_does() -> None:
    assert node_cost([a_pod(annotations=costing("-2147483647"))]) == node_cost([]) == 1.0


def test_v27_nodes_are_ranked_by_price_over_what_their_pods_cost_and_1() -> None:
    assert 9.68 / cost_of_taking(pods(3), left=1.0) == pytest.approx(2.42)


def test_dep52_near_the_end_of_its_life_a_node_costs_less() -> None:
    assert [cost_of_taking(pods(4), left=left) for left in (1.0, 0.5, 0.0)] == [5.0, 3.0, 1.0]
