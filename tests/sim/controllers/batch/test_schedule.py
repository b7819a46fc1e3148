"""Moments are written as a clock on 2024-03-29, a Friday, shows them."""

import pytest

from karpenter.model.units import UnixSeconds, from_rfc3339, to_rfc3339
from karpenter.sim.controllers.batch.schedule import (
    BadSchedule,
    Due,
    UnknownTimeZone,
    parse_schedule,
    when_due,
)
from tests.sim.controllers.batch.jobs import a_cron_job


def at(text: str) -> UnixSeconds:
    return from_rfc3339(text if "T" in text else f"2024-03-29T{text}Z")


def shown(moment: UnixSeconds | None) -> str:
    return "" if moment is None else to_rfc3339(moment).removeprefix("2024-03-29T").removesuffix("Z")


def due(schedule: str, now: str, *, created: str = "10:00:00", last: str = "", **spec: object) -> tuple[str, str, bool]:
    """Return the moment that is due, the next one, and whether many were missed."""
    cron_job = a_cron_job(
        schedule, created=to_rfc3339(at(created)), last=to_rfc3339(at(last)) if last else None, **spec
    )
    found: Due = when_due(cron_job, parse_schedule(cron_job), at(now))
    return shown(found.moment), shown(found.next), found.missed_many


@pytest.mark.parametrize(
    "now, last, expected",
    [
        ("10:03:00", "", ("", "10:05:00", False)),
        ("10:05:00", "", ("10:05:00", "10:10:00", False)),
        ("10:09:59", "10:05:00", ("", "10:10:00", False)),
        ("10:10:01", "10:05:00", ("10:10:00", "10:15:00", False)),
        ("10:33:00", "10:05:00", ("10:30:00", "10:35:00", False)),
        ("23:02:00", "10:05:00", ("23:00:00", "23:05:00", True)),
    ],
)
def test_the_last_moment_that_came_is_due_however_many_were_missed(
    now: str, last: str, expected: tuple[str, str, bool]
) -> None:
    assert due("*/5 * * * *", now, last=last) == expected


def test_what_is_later_than_the_deadline_is_not_due_any_more() -> None:
    assert due("0 * * * *", "11:00:30", startingDeadlineSeconds=60) == ("11:00:00", "12:00:00", False)
    assert due("0 * * * *", "11:02:00", startingDeadlineSeconds=60) == ("", "12:00:00", False)


def test_gaps_of_different_length_do_not_lead_astray() -> None:
    assert due("30 6-16/4 * * 1-5", "16:00:00", created="01:00:00") == ("14:30:00", "2024-04-01T06:30:00", False)


def test_times_are_those_of_the_zone() -> None:
    assert due("30 11 * * *", "10:30:00", timeZone="Europe/Berlin") == ("10:30:00", "2024-03-30T10:30:00", False)
    # In the night to the 31st clocks go from two to three: half past eleven comes an hour sooner from then on.
    berlin = a_cron_job("30 11 * * *", created="2024-03-30T12:00:00Z", timeZone="Europe/Berlin")
    assert parse_schedule(berlin).after(at("2024-03-30T12:00:00Z")) == at("2024-03-31T09:30:00Z")


@pytest.mark.parametrize(
    "line, following",
    [
        ("@hourly", "11:00:00"),
        ("@daily", "2024-03-30T00:00:00"),
        ("@weekly", "2024-03-31T00:00:00"),
        ("@every 90m", "11:42:00"),
        ("0 12 ? * MON", "2024-04-01T12:00:00"),
    ],
)
def test_macros_and_intervals_are_understood(line: str, following: str) -> None:
    cron_job = a_cron_job(line, created="2024-03-29T10:12:00Z")
    assert shown(parse_schedule(cron_job).after(at("10:12:00"))) == following


@pytest.mark.parametrize("line", ["", "61 * * * *", "* * * *", "*/5 * * * * *", "@often", "@every soon", "0 0 31 2 *"])
def test_a_line_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(BadSchedule):
        parse_schedule(a_cron_job(line, created="2024-03-29T10:00:00Z")).after(at("10:00:00"))


def test_a_zone_that_is_none_is_refused() -> None:
    with pytest.raises(UnknownTimeZone, match="unknown time zone Mars/Olympus"):
        parse_schedule(a_cron_job("* * * * *", created="2024-03-29T10:00:00Z", timeZone="Mars/Olympus"))
