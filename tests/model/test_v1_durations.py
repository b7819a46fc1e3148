"""The stricter grammars of v1 (spec v1 §1.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpenter.model.durations import (
    format_duration,
    parse_budget_duration,
    parse_duration,
    parse_go_duration,
    parse_nillable_duration,
)


@pytest.mark.parametrize("text, seconds", [("0s", 0), ("720h", 2592000), ("1m30s", 90), ("90s", 90), ("1h1h", 7200)])
def test_whole_groups_are_added_up(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["-1m", "1.5h", "2d", "", "10ms", "5", "Never", "1h ", "never"])
def test_other_spellings_are_no_durations_of_v1(text: str) -> None:
    """V2."""
    with pytest.raises(ValueError, match="is not a duration such as 720h"):
        parse_duration(text)


def test_never_is_no_duration_at_all() -> None:
    """V3."""
    assert parse_nillable_duration("Never") is None
    assert format_duration(None) == "Never"


@pytest.mark.parametrize("text, seconds", [("1h30m", 5400), ("10m0s", 600), ("8h", 28800)])
def test_windows_of_budgets_are_in_hours_and_minutes(text: str, seconds: float) -> None:
    """V5."""
    assert parse_budget_duration(text) == seconds


@pytest.mark.parametrize("text", ["30s", "1h30m5s", "Never", "30m1h", ""])
def test_windows_of_budgets_have_no_seconds(text: str) -> None:
    """V5."""
    with pytest.raises(ValueError, match="is not a window such as 8h"):
        parse_budget_duration(text)


def test_a_duration_longer_than_go_can_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than 292 years"):
        parse_go_duration("9" * 400 + "h")


@given(st.integers(0, 10**9))
def test_durations_are_printed_so_that_they_read_the_same(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds
