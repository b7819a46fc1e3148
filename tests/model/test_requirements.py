"""The algebra of requirements (spec v1alpha5 §1.5, §7.2)."""

import pytest
from hypothesis import given

from karpenter.model import labels
from karpenter.model.requirements import Conflict, Requirement, Requirements
from tests.strategies import KEY, label_values, requirements

A, B = "A", "B"


def req(operator: str, *values: str, key: str = KEY) -> Requirement:
    return Requirement.of(key, operator, values)


def test_two_exclusions_exclude_what_either_does() -> None:
    """TV-30."""
    assert req("NotIn", A).intersect(req("NotIn", "1", "2")) == req("NotIn", "1", "2", A)


def test_bounds_from_both_sides_allow_the_integers_between_them() -> None:
    """TV-31."""
    between = req("Gt", "1").intersect(req("Lt", "9"))
    assert [number for number in range(12) if between.allows(str(number))] == [2, 3, 4, 5, 6, 7, 8]
    assert not between.allows(A)


def test_an_exclusion_outside_the_bounds_is_dropped() -> None:
    """TV-32."""
    joint = req("NotIn", "1", "2").intersect(req("Gt", "1"))
    assert (joint.complement, joint.values, joint.gt, joint.lt) == (True, {"2"}, 1, None)


@pytest.mark.parametrize(
    "first, second, expected",
    [
        (req("In", "1", "9"), req("Gt", "1"), req("In", "9")),  # TV-33
        (req("In", "1", "9"), req("NotIn", "1", "2"), req("In", "9")),  # TV-34
        (req("Exists"), req("In", A), req("In", A)),  # TV-37
    ],
    ids=str,
)
def test_a_list_keeps_the_values_that_the_other_side_allows(
    first: Requirement, second: Requirement, expected: Requirement
) -> None:
    assert first.intersect(second) == expected


def test_a_list_without_its_only_value_allows_nothing() -> None:
    """TV-35."""
    assert req("In", A).intersect(req("NotIn", A)).operator == "DoesNotExist"


def test_bounds_that_meet_allow_nothing_but_adjacent_ones_still_count_as_existing() -> None:
    """TV-36, quirk API-29."""
    assert req("Gt", "1").intersect(req("Lt", "1")).operator == "DoesNotExist"
    assert req("Gt", "1").intersect(req("Lt", "2")).operator == "Exists"


@pytest.mark.parametrize(
    "wanted, is_compatible",
    [(req("In", "a"), False), (req("Exists"), False), (req("NotIn", "a"), True), (req("DoesNotExist"), True)],
    ids=str,
)
def test_a_custom_key_that_the_node_side_lacks_has_no_value(wanted: Requirement, is_compatible: bool) -> None:
    """TV-38."""
    assert Requirements().compatible(Requirements([wanted])) is is_compatible


def test_a_well_known_key_that_the_node_side_lacks_may_have_any_value() -> None:
    """TV-39."""
    wanted = Requirements([req("In", "z", key=labels.ZONE)])
    assert Requirements().compatible(wanted)


def test_a_real_node_without_a_well_known_label_does_not_have_it() -> None:
    wanted = Requirements([req("In", "z", key=labels.ZONE)])
    assert not Requirements().compatible(wanted, well_known=frozenset())


def test_presence_and_exclusion_together_do_not_allow_absence() -> None:
    both = req("Exists").intersect(req("NotIn", A))
    assert (both.allows(A), both.allows(B), both.allows_absence) == (False, True, False)
    assert not Requirements().compatible(Requirements([both]))


def test_an_unknown_key_comes_with_the_key_that_was_probably_meant() -> None:
    """API-27."""
    wanted = Requirements([req("In", "a", key="topology.kubernetes.io/zon")])
    assert Requirements().incompatibilities(wanted) == (
        Conflict("topology.kubernetes.io/zon", None, wanted["topology.kubernetes.io/zon"], labels.ZONE),
    )


def test_repeated_keys_are_intersected() -> None:
    """API-18, API-25."""
    assert Requirements([req("In", A, B), req("NotIn", B)]) == Requirements([req("In", A)])


def test_old_spellings_of_a_key_are_the_same_key() -> None:
    """API-14, TV-14."""
    assert list(Requirements([req("In", "a", key="failure-domain.beta.kubernetes.io/zone")])) == [labels.ZONE]


@pytest.mark.parametrize("value", ["1_000", " 5", "٣", "five", ""])
def test_only_plain_integers_are_within_bounds(value: str) -> None:
    """API-21."""
    assert not req("Gt", "1").allows(value)


@pytest.mark.parametrize("values", [(), ("1", "2"), ("a",), ("1_0",)])
def test_a_comparison_needs_one_integer(values: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="operator Gt needs"):
        Requirement.of(KEY, "Gt", values)


def test_inclusive_bounds_are_exclusive_ones_beside_them() -> None:
    """V7."""
    assert (req("Gte", "5"), req("Lte", "4")) == (req("Gt", "4"), req("Lt", "5"))


def test_a_requirement_reads_as_a_manifest_would_say_it() -> None:
    joint = req("Gt", "1").intersect(req("NotIn", "5")).intersect(req("Lt", "9"))
    assert str(joint) == f"{KEY} Gt [1] and Lt [9] and NotIn [5]"


@given(requirements, requirements, label_values)
def test_intersection_allows_exactly_what_both_allow(a: Requirement, b: Requirement, value: str) -> None:
    joint = a.intersect(b)
    assert joint.allows(value) == (a.allows(value) and b.allows(value))
    assert joint.allows_absence == (a.allows_absence and b.allows_absence)


@given(requirements, requirements)
def test_intersection_does_not_depend_on_the_order(a: Requirement, b: Requirement) -> None:
    assert a.intersect(b) == b.intersect(a)


@given(requirements, requirements, requirements)
def test_intersection_does_not_depend_on_the_grouping(a: Requirement, b: Requirement, c: Requirement) -> None:
    assert a.intersect(b).intersect(c) == a.intersect(b.intersect(c))


@given(requirements)
def test_intersection_with_itself_changes_nothing(a: Requirement) -> None:
    assert a.intersect(a) == a


@given(requirements, requirements, label_values)
def test_what_both_sides_allow_makes_them_overlap(a: Requirement, b: Requirement, value: str) -> None:
    if a.allows(value) and b.allows(value):
        assert a.overlaps(b)


@given(requirements)
def test_written_entries_say_the_same_again(a: Requirement) -> None:
    again = Requirements(Requirement.of(KEY, op, values, min_values=a.min_values) for op, values in a.entries())
    assert again[KEY] == a


@given(requirements, requirements)
def test_compatible_is_the_absence_of_incompatibilities(a: Requirement, b: Requirement) -> None:
    node, pod = Requirements([a]), Requirements([b])
    assert node.compatible(pod) == (not node.incompatibilities(pod))
