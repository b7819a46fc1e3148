"""Moments as the API writes them."""

import pytest

from karpenter.model.units import UnixSeconds, from_rfc3339, to_rfc3339


def test_moments_are_written_in_utc_with_whole_seconds() -> None:
    assert to_rfc3339(UnixSeconds(1_700_000_000.9)) == "2023-11-14T22:13:20Z"


@pytest.mark.parametrize("text", ["2023-11-14T22:13:20Z", "2023-11-14T23:13:20+01:00", "2023-11-14T22:13:20.000000Z"])
def test_moments_are_read_in_any_zone(text: str) -> None:
    assert from_rfc3339(text) == 1_700_000_000


@pytest.mark.parametrize("text", ["yesterday", "2023-11-14T22:13:20", "2023-11-14", ""])
def test_what_names_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|time zone"):
        from_rfc3339(text)
