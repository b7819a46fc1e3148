"""Ages as Kubernetes prints them."""

import pytest

from karpenter.model.units import UnixSeconds
from karpenter.sim.apiserver.printing.durations import age, human

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    "seconds, text",
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (2 * MINUTE, "2m"),
        (5 * MINUTE + 12, "5m12s"),
        (10 * MINUTE + 30, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (8 * HOUR + 5 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3 * HOUR, "2d3h"),
        (8 * DAY + 3 * HOUR, "8d"),
        (700 * DAY, "700d"),
        (2 * YEAR + 3 * DAY, "2y3d"),
        (9 * YEAR, "9y"),
    ],
)
def test_a_duration_is_told_the_more_exactly_the_shorter_it_is(seconds, text) -> None:
    assert human(seconds) == text


def test_an_age_that_nobody_knows_is_told_so() -> None:
    assert age(None, UnixSeconds(0)) == "<unknown>"
