"""Rollout arithmetic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpenter.sim.controllers.rollout import (
    first_size,
    next_recreate_sizes,
    next_rolling_sizes,
    scaled_sizes,
    surge_and_unavailable,
    was_scaled,
)
from tests.sim.controllers.workloads import a_deployment, a_replica_set


@pytest.mark.parametrize(
    "replicas, surge, unavailable, expected",
    [
        (10, None, None, (3, 2)),  # 25 %: surge is rounded up, unavailable down
        (3, "34%", "34%", (2, 1)),
        (10, 0, 0, (0, 1)),
        (10, "0%", 3, (0, 3)),
        (2, 0, 5, (0, 2)),
        (1, None, None, (1, 0)),
    ],
)
def test_surge_and_unavailable_are_numbers_or_shares(
    replicas: int, surge: int | str | None, unavailable: int | str | None, expected: tuple[int, int]
) -> None:
    deployment = a_deployment(replicas=replicas, surge=surge, unavailable=unavailable)
    assert surge_and_unavailable(deployment) == expected


def test_a_first_replica_set_gets_all_replicas_a_later_one_the_surge() -> None:
    deployment = a_deployment(replicas=10, surge=3)
    assert first_size(deployment, []) == 10
    assert first_size(deployment, [a_replica_set("old", 10)]) == 3


def test_the_new_one_grows_first() -> None:
    deployment = a_deployment(replicas=10, surge=3, unavailable=2)
    assert next_rolling_sizes(deployment, a_replica_set("new", 0), [a_replica_set("old", 10)]) == {"new": 3}


def test_the_old_one_shrinks_as_far_as_availability_allows() -> None:
    deployment = a_deployment(replicas=10, surge=3, unavailable=2)
    new, old = a_replica_set("new", 3, 0), a_replica_set("old", 10)
    assert next_rolling_sizes(deployment, new, [old]) == {"old": 8}
    assert next_rolling_sizes(deployment, a_replica_set("new", 3, 3), [old]) == {"old": 5}


def test_pods_that_do_not_work_are_given_up_first() -> None:
    deployment = a_deployment(replicas=10, surge=3, unavailable=2)
    broken, old = a_replica_set("broken", 3, 0, created="2023-11-14T22:01:00Z"), a_replica_set("old", 8)
    assert next_rolling_sizes(deployment, a_replica_set("new", 2, 0), [old, broken]) == {"broken": 0}


def test_nothing_moves_while_too_few_are_available() -> None:
    deployment = a_deployment(replicas=10, surge=3, unavailable=2)
    assert next_rolling_sizes(deployment, a_replica_set("new", 5, 0), [a_replica_set("old", 8)]) == {}


def test_recreation_waits_until_the_last_old_pod_is_gone() -> None:
    deployment = a_deployment(replicas=4, kind="Recreate")
    new, old = a_replica_set("new", 0), a_replica_set("old", 4)
    assert next_recreate_sizes(deployment, None, [old], old_pods_left=True) == {"old": 0}
    assert next_recreate_sizes(deployment, new, [a_replica_set("old", 0)], old_pods_left=True) == {}
    assert next_recreate_sizes(deployment, new, [a_replica_set("old", 0)], old_pods_left=False) == {"new": 4}


def test_a_changed_size_is_seen_in_the_notes_of_the_replica_sets() -> None:
    assert was_scaled(a_deployment(replicas=10), [a_replica_set("new", 5, desired=5)])
    assert not was_scaled(a_deployment(replicas=5), [a_replica_set("new", 5, desired=5)])
    assert not was_scaled(a_deployment(replicas=10), [a_replica_set("old", 0, desired=5)])


def test_the_only_one_takes_the_whole_change() -> None:
    assert scaled_sizes(a_deployment(replicas=7), a_replica_set("new", 3), [a_replica_set("old", 0)]) == {"new": 7}


def test_in_the_middle_of_a_rollout_each_grows_in_proportion() -> None:
    """The example of the documentation: 15 replicas instead of 10, 5 new and 8 old pods, surge 3."""
    deployment = a_deployment(replicas=15, surge=3, unavailable=2)
    new = a_replica_set("new", 5, 0, desired=10, most=13, created="2023-11-14T22:01:00Z")
    old = a_replica_set("old", 8, desired=10, most=13)
    assert scaled_sizes(deployment, new, [old]) == {"new": 7, "old": 11}


def test_scaling_to_nothing_takes_everything() -> None:
    deployment = a_deployment(replicas=0, surge=3)
    new, old = a_replica_set("new", 5, desired=10, most=13), a_replica_set("old", 8, desired=10, most=13)
    assert scaled_sizes(deployment, new, [old]) == {"new": 0, "old": 0}


SIZES = st.integers(0, 12)


@given(st.integers(1, 12), st.integers(0, 6), st.integers(0, 6), SIZES, SIZES, st.data())
def test_a_step_keeps_the_promises_of_surge_and_availability(
    replicas: int, surge: int, unavailable: int, new_size: int, old_size: int, data: st.DataObject
) -> None:
    deployment = a_deployment(replicas=replicas, surge=surge, unavailable=unavailable)
    new = a_replica_set("new", new_size, data.draw(st.integers(0, new_size)))
    old = a_replica_set("old", old_size, data.draw(st.integers(0, old_size)))
    sizes = next_rolling_sizes(deployment, new, [old])
    after_new, after_old = sizes.get("new", new_size), sizes.get("old", old_size)
    most, fewest = surge_and_unavailable(deployment)
    if after_new > new_size:
        assert after_new + after_old <= replicas + most
        assert after_new <= replicas
    # Pods that are not available are given up first, so an old one that stays may be one of those that work.
    lost = max(0, old.status.available_replicas - after_old)
    left = new.status.available_replicas + old.status.available_replicas - lost
    assert lost == 0 or left >= replicas - fewest


@given(st.integers(1, 12), st.integers(0, 4), st.integers(0, 4), SIZES, SIZES)
def test_a_rollout_with_pods_that_work_comes_to_its_end(
    replicas: int, surge: int, unavailable: int, new_size: int, old_size: int
) -> None:
    deployment = a_deployment(replicas=replicas, surge=surge, unavailable=unavailable)
    sizes = {"new": new_size, "old": old_size}
    for _ in range(60):
        changes = next_rolling_sizes(
            deployment, a_replica_set("new", sizes["new"]), [a_replica_set("old", sizes["old"])]
        )
        if not changes:
            break
        sizes |= changes
    assert sizes == {"new": replicas, "old": 0}
