"""CronJobs: a Job whenever it is time for one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from karpenter.model.units import ObjectKey, UnixSeconds, to_rfc3339
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventType, ref_to
from karpenter.runtime.kube import AlreadyExists, Conflict, KubeError, NotFound, RawObject, WatchEvent
from karpenter.sim.batchkinds import CRON_JOBS, JOBS, CronJob, CronJobStatus, Job, JobReference
from karpenter.sim.controllers.batch.schedule import (
    BadSchedule,
    Due,
    Schedule,
    UnknownTimeZone,
    parse_schedule,
    when_due,
)
from karpenter.sim.controllers.templates import controlled_by
from karpenter.sim.standins import Context, Enqueue

COMPONENT: Final = "cronjob-controller"
_SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_SKEW_S: Final = 0.1
"""A moment is looked at so much later than it comes, lest a clock is a little behind."""


class CronJobs:
    """Creates the Jobs of each CronJob and tidies up old ones."""

    name = "sim.cronjob"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a CronJob when it or one of its Jobs changes."""

        def cron_job_changed(event: WatchEvent[CronJob]) -> None:
            if event.object is not None and event.type != "DELETED":
                enqueue(event.object.metadata.key)

        def job_changed(event: WatchEvent[Job]) -> None:
            assert event.object is not None
            owner = event.object.metadata.controller_key("CronJob")
            if owner is not None:
                enqueue(owner)

        self._informers.cron_jobs.subscribe(cron_job_changed)
        self._informers.jobs.subscribe(job_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Take stock of one CronJob's Jobs, start what is due, and delete what is old."""
        cron_job = self._informers.cron_jobs.get(key)
        if cron_job is None:
            return DONE
        jobs = self._informers.jobs_by_owner.get(cron_job.metadata.uid)
        cron_job = await self._write(cron_job, self._take_stock(cron_job, jobs))
        if cron_job.metadata.is_deleting:
            return DONE
        await self._delete_old(cron_job, jobs)
        schedule = self._schedule(cron_job)
        return DONE if schedule is None else await self._start_due(cron_job, schedule)

    # stock ------------------------------------------------------------------------------------------------------------

    def _take_stock(self, cron_job: CronJob, jobs: Sequence[Job]) -> CronJobStatus:
        """Return a status that names the Jobs that still run, and when the last one succeeded."""
        status = cron_job.status
        there = {job.metadata.uid: job for job in jobs}
        active = []
        for reference in status.active:
            job = there.get(reference.uid)
            if job is None:
                self._tell(cron_job, "Normal", "MissingJob", f"Active job went missing: {reference.name}")
            elif job.status.is_finished:
                how = "Complete" if job.status.has("Complete") else "Failed"
                self._tell(
                    cron_job, "Normal", "SawCompletedJob", f"Saw completed job: {reference.name}, condition: {how}"
                )
            else:
                active.append(reference)
        known = {reference.uid for reference in status.active}
        for job in jobs:
            if job.metadata.uid not in known and not job.status.is_finished:
                message = f"Saw a job that the controller did not create or forgot: {job.metadata.name}"
                self._tell(cron_job, "Warning", "UnexpectedJob", message)
        ends = [job.status.completion_time for job in jobs if job.status.has("Complete") and job.status.completion_time]
        last = max((*ends, *((status.last_successful_time,) if status.last_successful_time else ())), default=None)
        return replace(status, active=tuple(active), last_successful_time=last)

    async def _delete_old(self, cron_job: CronJob, jobs: Sequence[Job]) -> None:
        for condition, limit in (
            ("Complete", cron_job.spec.successful_jobs_history_limit),
            ("Failed", cron_job.spec.failed_jobs_history_limit),
        ):
            ended = [job for job in jobs if job.status.has(condition) and not job.metadata.is_deleting]
            oldest_first = sorted(ended, key=lambda job: (job.status.start_time or "", job.metadata.name))
            for job in oldest_first[: max(0, len(oldest_first) - limit)]:
                await self._delete(cron_job, job)

    async def _delete(self, cron_job: CronJob, job: Job) -> None:
        namespace, name = job.metadata.key
        try:
            await self._kube.delete(JOBS, name, namespace=namespace, uid=job.metadata.uid)
        except (NotFound, Conflict):
            self._informers.jobs.fold_deleted(job.metadata.key, job.metadata.uid)
            return
        self._tell(cron_job, "Normal", "SuccessfulDelete", f"Deleted job {name}")

    # time -------------------------------------------------------------------------------------------------------------

    def _schedule(self, cron_job: CronJob) -> Schedule | None:
        """Return the schedule to keep; None when it cannot be, or not now."""
        if cron_job.spec.suspend:
            return None
        try:
            return parse_schedule(cron_job)
        except UnknownTimeZone as error:
            message = f'invalid timeZone: "{cron_job.spec.time_zone}": {error}'
            self._tell(cron_job, "Warning", "UnknownTimeZone", message)
        except BadSchedule as error:
            message = f'unparseable schedule: "{cron_job.spec.schedule}" : {error}'
            self._tell(cron_job, "Warning", "UnparseableSchedule", message)
        return None

    async def _start_due(self, cron_job: CronJob, schedule: Schedule) -> Result:
        now = self._clock.now()
        try:
            due = when_due(cron_job, schedule, now)
        except BadSchedule as error:
            message = f"invalid schedule: {cron_job.spec.schedule} : {error}"
            self._tell(cron_job, "Warning", "InvalidSchedule", message)
            return DONE
        if due.missed_many:
            message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            self._tell(cron_job, "Warning", "TooManyMissedTimes", message)
        if due.moment is not None and not self._is_held(cron_job, due, now):
            await self._start(cron_job, schedule, due.moment)
        return Result(due.next - now + _SKEW_S)

    def _is_held(self, cron_job: CronJob, due: Due, now: UnixSeconds) -> bool:
        """Return whether the moment that has come is not to be used after all, and say so."""
        assert due.moment is not None
        allowed_s = cron_job.spec.starting_deadline_seconds
        if allowed_s is not None and due.moment + allowed_s < now:
            when = datetime.fromtimestamp(due.moment, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
            self._tell(cron_job, "Warning", "MissSchedule", f"Missed scheduled time to start a job: {when}")
            return True
        if cron_job.spec.concurrency_policy == "Forbid" and cron_job.status.active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._tell(cron_job, "Normal", "JobAlreadyActive", message)
            return True
        return False

    async def _start(self, cron_job: CronJob, schedule: Schedule, moment: UnixSeconds) -> None:
        """Create the Job for a moment. Its name follows from that, so that it is never created twice."""
        if cron_job.spec.concurrency_policy == "Replace":
            for reference in cron_job.status.active:
                running = self._informers.jobs.get(ObjectKey(reference.namespace, reference.name))
                if running is not None:
                    await self._delete(cron_job, running)
            cron_job = await self._write(cron_job, replace(cron_job.status, active=()))
        body = job_for(cron_job, schedule, moment)
        namespace = cron_job.metadata.namespace
        try:
            job = await self._kube.create(JOBS, body, namespace=namespace)
        except AlreadyExists:
            job = await self._kube.get(JOBS, body["metadata"]["name"], namespace=namespace)
            owner = job.metadata.controller()
            if owner is None or owner.uid != cron_job.metadata.uid:
                return
        except KubeError as error:
            self._tell(cron_job, "Warning", "FailedCreate", f"Error creating job: {error}")
            raise
        else:
            self._tell(cron_job, "Normal", "SuccessfulCreate", f"Created job {job.metadata.name}")
        self._informers.jobs.fold(job)
        present = () if job.status.is_finished else (JobReference(job.metadata.name, namespace, job.metadata.uid),)
        others = tuple(one for one in cron_job.status.active if one.uid != job.metadata.uid)
        status = replace(cron_job.status, active=(*others, *present), last_schedule_time=to_rfc3339(moment))
        await self._write(cron_job, status)

    # writing ----------------------------------------------------------------------------------------------------------

    async def _write(self, cron_job: CronJob, status: CronJobStatus) -> CronJob:
        if status == cron_job.status:
            return cron_job
        active = [
            {
                "apiVersion": JOBS.api_version,
                "kind": JOBS.kind,
                "name": one.name,
                "namespace": one.namespace,
                "uid": one.uid,
            }
            for one in status.active
        ]
        body: RawObject = {
            "active": active or None,
            "lastScheduleTime": status.last_schedule_time,
            "lastSuccessfulTime": status.last_successful_time,
        }
        namespace, name = cron_job.metadata.key
        patch = {"metadata": {"resourceVersion": cron_job.metadata.resource_version}, "status": body}
        written = await self._kube.patch(CRON_JOBS, name, patch, namespace=namespace, subresource="status")
        self._informers.cron_jobs.fold(written)
        return written

    def _tell(self, cron_job: CronJob, kind: EventType, reason: str, message: str) -> None:  # noqa: PLR0917 - as kubectl shows
        self._recorder.record(ref_to(CRON_JOBS, cron_job), kind, reason, message)


def job_for(cron_job: CronJob, schedule: Schedule, moment: UnixSeconds) -> RawObject:
    """Return the manifest of the Job for a moment."""
    template = cron_job.spec.job_template
    when = datetime.fromtimestamp(moment, schedule.zone or UTC).isoformat().replace("+00:00", "Z")
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": f"{cron_job.metadata.name}-{int(moment) // 60}",
            "namespace": cron_job.metadata.namespace,
            "labels": dict(template.metadata.labels),
            "annotations": {**template.metadata.annotations, _SCHEDULED: when},
            "ownerReferences": [controlled_by(CRON_JOBS, cron_job.metadata)],
        },
        "spec": template.spec,
    }
