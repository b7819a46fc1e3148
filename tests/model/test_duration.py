"""Durations are read as Go reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpenter.model.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("30s", 30),
        ("1m30s", 90),
        ("720h", 2_592_000),
        ("0", 0),
        ("1.5h", 5400),
        ("-5s", -5),
        ("300ms", 0.3),
        (".5m", 30),
    ],
)
def test_a_duration_is_read_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "1m 30s", "s", "one minute", "1d", "--5s", "5s-"])
def test_what_go_does_not_read_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 30s, 1m30s or 720h"):
        parse_duration(text)


@given(st.integers(min_value=-(10**9), max_value=10**9))
def test_whole_seconds_survive_writing_and_reading(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    "seconds, text", [(90, "1m30s"), (2_592_000, "720h"), (0, "0s"), (0.5, "500ms"), (1.5, "1.5s")]
)
def test_a_duration_is_written_with_the_fewest_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
