"""Durations in settings and logs are written with the fewest units that keep them exact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpenter.model.durations import format_duration_like_go, format_go_duration, parse_go_duration


@given(st.integers(min_value=-(10**9), max_value=10**9))
def test_whole_seconds_survive_writing_and_reading(seconds: int) -> None:
    assert parse_go_duration(format_go_duration(seconds)) == seconds


@pytest.mark.parametrize(
    "seconds, text", [(90, "1m30s"), (2_592_000, "720h"), (0, "0s"), (0.5, "500ms"), (1.5, "1.5s"), (-0.25, "-250ms")]
)
def test_a_duration_is_written_as_go_reads_it(seconds: float, text: str) -> None:
    assert (format_go_duration(seconds), parse_go_duration(text)) == (text, seconds)


@pytest.mark.parametrize("seconds, text", [(60, "1m0s"), (90, "1m30s"), (3600, "1h0m0s"), (45, "45s"), (0, "0s")])
def test_a_duration_is_written_as_go_prints_it(seconds: float, text: str) -> None:
    """AWS-72, AWS-74."""
    assert format_duration_like_go(seconds) == text
