"""Spelling of names, label keys and label values."""

import pytest

from karpenter.model.syntax import dns_label_fault, label_value_fault, qualified_name_fault


@pytest.mark.parametrize("text", ["a", "A-b_c.d", "example.com/a", "a.b-c.example/" + "x" * 63])
def test_qualified_names_are_accepted(text: str) -> None:
    assert qualified_name_fault(text) is None


@pytest.mark.parametrize(
    "text",
    ["", "/a", "a/", "a/b/c", "Example.com/a", "-a", "a-", "a b", "x" * 64, "a..b/c", "é", "a\n", f"{'x' * 254}/a"],
)
def test_what_is_no_qualified_name_is_named(text: str) -> None:
    assert qualified_name_fault(text).startswith(repr(text))


@pytest.mark.parametrize("text", ["", "a", "1", "A.b-c_d", "x" * 63])
def test_label_values_are_accepted(text: str) -> None:
    assert label_value_fault(text) is None


@pytest.mark.parametrize("text", ["x" * 64, "-a", "a/b", "a b", "a\n"])
def test_what_is_no_label_value_is_named(text: str) -> None:
    assert label_value_fault(text).startswith(repr(text))


@pytest.mark.parametrize(
    "text, is_name", [("default", True), ("a-1", True), ("A", False), ("a.b", False), ("-a", False)]
)
def test_names_that_become_label_values_are_dns_labels(text: str, is_name: bool) -> None:
    """API-8."""
    assert (dns_label_fault(text) is None) is is_name


def test_a_name_has_at_most_63_characters() -> None:
    """API-8."""
    assert dns_label_fault("x" * 63) is None
    assert dns_label_fault("x" * 64) == f"{'x' * 64!r} is longer than 63 characters"
