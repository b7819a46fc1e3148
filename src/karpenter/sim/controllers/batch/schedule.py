"""When a CronJob is due: cron lines in a time zone, the usual macros, and `@every`.

Source: kubernetes.io/docs/concepts/workloads/controllers/cron-jobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from karpenter.model.cron import MACROS
from karpenter.model.durations import parse_go_duration
from karpenter.model.units import UnixSeconds, from_rfc3339
from karpenter.sim.batchkinds import CronJob

_EVERY: Final = "@every "
_FIELDS: Final = 5
_MANY: Final = 100


class BadSchedule(ValueError):
    """A schedule that cannot be read or never comes; the message says why."""


class UnknownTimeZone(ValueError):
    """A time zone that does not exist."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Moments that come again and again."""

    line: str
    """Five fields of cron; empty when it is a matter of an interval."""
    zone: ZoneInfo | None
    every_s: float = 0.0

    def after(self, moment: UnixSeconds) -> UnixSeconds:
        """Return the next moment after another one. Raises BadSchedule when there is none any more."""
        if self.every_s:
            return UnixSeconds(float(int(moment)) + self.every_s)
        begin = datetime.fromtimestamp(moment, self.zone or UTC)
        try:
            return UnixSeconds(next(CronSim(self.line, begin)).timestamp())
        except StopIteration as error:
            raise BadSchedule(f"{self.line!r} never comes") from error


def parse_schedule(cron_job: CronJob) -> Schedule:
    """Return the schedule of a CronJob.

    Raises:
        BadSchedule: its line cannot be read.
        UnknownTimeZone: its time zone does not exist.
    """
    zone = _zone(cron_job.spec.time_zone)
    line = cron_job.spec.schedule.strip()
    if line.startswith(_EVERY):
        try:
            return Schedule("", zone, max(1.0, float(int(parse_go_duration(line.removeprefix(_EVERY).strip())))))
        except ValueError as error:
            raise BadSchedule(str(error)) from error
    fields = MACROS.get(line, line).replace("?", "*")
    if len(fields.split()) != _FIELDS:
        raise BadSchedule(f"expected exactly {_FIELDS} fields, found {len(fields.split())}: {line!r}")
    try:
        CronSim(fields, datetime.fromtimestamp(0, zone or UTC))
    except CronSimError as error:
        raise BadSchedule(str(error)) from error
    return Schedule(fields, zone)


def _zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnknownTimeZone(f"unknown time zone {name}") from error


@dataclass(frozen=True, slots=True)
class Due:
    """How a CronJob stands with its schedule."""

    moment: UnixSeconds | None
    """The last moment that has come and is not dealt with; None when there is none."""
    next: UnixSeconds
    """When to look again."""
    missed_many: bool = False


def when_due(cron_job: CronJob, schedule: Schedule, now: UnixSeconds) -> Due:
    """Return the last moment since a CronJob last ran that has come, and the next one after now.

    Moments that are missed are not made up for one by one; those before the starting deadline do not count.

    Raises:
        BadSchedule: the schedule never comes.
    """
    since = _since(cron_job)
    allowed_s = cron_job.spec.starting_deadline_seconds
    if allowed_s is not None:
        since = UnixSeconds(max(since, now - allowed_s))
    first = schedule.after(since)
    if first > now:
        return Due(None, first)
    second = schedule.after(first)
    if second > now:
        return Due(first, second)
    gap_s = max(1.0, second - first)
    missed = int((now - first) // gap_s) + 1
    # Go back in time far enough to find the last one with the schedule itself: not all gaps are alike.
    moment, following = first, schedule.after(UnixSeconds(first + (missed - 2) * gap_s))
    while following <= now:
        moment, following = following, schedule.after(following)
    return Due(moment, following, missed_many=missed > _MANY)


def _since(cron_job: CronJob) -> UnixSeconds:
    last = cron_job.status.last_schedule_time
    return from_rfc3339(last) if last else cron_job.metadata.created_at or UnixSeconds(0.0)
