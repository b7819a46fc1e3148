"""minValues: claims leave the cloud a choice, or are not launched."""

import pytest

from karpenter.model import labels
from karpenter.model.requirements import Requirement
from karpenter.scheduling import Options, Policy
from tests.builders import a_pod, a_pool
from tests.scheduling.toys import machines, pods, solved, toys, why

BEST_EFFORT = Options(Policy(min_values="BestEffort"))


def choosy(least: int, key: str = labels.INSTANCE_TYPE, *, operator: str = "Exists", values=(), **pool):
    """Return an on-demand pool that wants so many values of a label to choose from."""
    asked = [
        Requirement.of(labels.CAPACITY_TYPE, "In", ["on-demand"]),
        Requirement.of(key, operator, values, min_values=least),
    ]
    return a_pool(requirements=asked, **pool)


def test_a_pod_that_too_few_types_hold_is_refused() -> None:
    """V48, Strict."""
    ((code, message),) = why(solved([a_pod(cpu="7")], pools=[choosy(3)], types=toys("c.1", "c.4", "c.8", "m.8")))
    assert code == "MinValuesUnmet"
    assert "wants 3 values" in message
    assert "c.8, m.8" in message


def test_best_effort_asks_for_what_there_is_and_says_so() -> None:
    """V48, BestEffort."""
    (plan,) = solved(
        [a_pod(cpu="7")], pools=[choosy(3)], types=toys("c.1", "c.4", "c.8", "m.8"), options=BEST_EFFORT
    ).new_claims
    assert plan.requirements[labels.INSTANCE_TYPE].min_values == 2
    assert plan.min_values_relaxed


def test_best_effort_leaves_alone_what_can_be_kept() -> None:
    (plan,) = solved(
        [a_pod(cpu="3")], pools=[choosy(3)], types=toys("c.4", "c.8", "m.8"), options=BEST_EFFORT
    ).new_claims
    assert plan.requirements[labels.INSTANCE_TYPE].min_values == 3
    assert not plan.min_values_relaxed


def test_machines_are_filled_only_as_far_as_enough_types_hold() -> None:
    solution = solved(pods(8, cpu="1", memory="1Gi"), pools=[choosy(2)], types=toys("c.4", "c.8"))
    assert machines(solution) == ["c.4", "c.4"]
    assert all(len(plan.instance_types) == 2 for plan in solution.new_claims)


def test_types_of_which_none_is_larger_in_everything_can_stand_for_each_other() -> None:
    solution = solved(pods(3, cpu="1", memory="4Gi"), pools=[choosy(2)], types=toys("c.8", "r.4"))
    assert [sorted(plan.instance_types) for plan in solution.new_claims] == [["c.8", "r.4"]]


def test_any_label_of_types_counts() -> None:
    solution = solved([a_pod(cpu="1")], pools=[choosy(3, labels.INSTANCE_CATEGORY)])
    (plan,) = solution.new_claims
    assert {name[0] for name in plan.instance_types} >= {"c", "m", "r"}


def test_zones_count_where_the_types_can_be_had() -> None:
    pool = choosy(2, labels.ZONE, operator="In", values=["a", "b"])
    assert len(solved([a_pod()], pools=[pool]).new_claims) == 1
    pinned = a_pod(node_selector={labels.ZONE: "a"})
    assert why(solved([pinned], pools=[pool]))[0][0] == "MinValuesUnmet"


def test_pods_with_rules_of_their_own_do_not_narrow_the_choice_of_others() -> None:
    only_c = a_pod("only-c", cpu="1", node_selector={labels.INSTANCE_CATEGORY: "c"})
    solution = solved(
        [only_c, a_pod("any", cpu="1")], pools=[choosy(4)], types=toys("c.2", "c.4", "c.8", "c.16", "m.4")
    )
    assert solution.unschedulable == ()


def test_pods_without_a_zone_of_their_own_join_those_that_have_one() -> None:
    placed = [a_pod("placed", cpu="1", node_selector={labels.ZONE: "b"}), a_pod("free", cpu="1")]
    assert len(solved(placed, pools=[choosy(2)], types=toys("c.4", "m.4")).new_claims) == 1


def test_a_short_list_still_has_the_values() -> None:
    """S-46, with the claim kept: the list is chosen so that it has them."""
    options = Options(max_instance_types=3)
    (plan,) = solved([a_pod(cpu="1")], pools=[choosy(3, labels.INSTANCE_CATEGORY)], options=options).new_claims
    assert {name[0] for name in plan.instance_types} == {"c", "m", "r"}


@pytest.mark.parametrize("cpu, refused", [("16", 0), ("8", 1)])
def test_limits_count_the_largest_type_that_has_to_stay_open(cpu: str, refused: int) -> None:
    pool = choosy(2, limits={"cpu": cpu})
    solution = solved([a_pod(cpu="3")], pools=[pool], types=toys("c.4", "c.16"))
    assert len(solution.unschedulable) == refused
