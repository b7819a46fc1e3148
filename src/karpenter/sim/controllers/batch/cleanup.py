"""Deletes Jobs that finished long enough ago, where they say how long that is."""

from __future__ import annotations

from karpenter.model.units import ObjectKey, UnixSeconds, from_rfc3339
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import Conflict, NotFound, WatchEvent
from karpenter.sim.batchkinds import JOBS, Job
from karpenter.sim.standins import Context, Enqueue


class FinishedJobs:
    """Deletes each finished Job once its `ttlSecondsAfterFinished` is over, its pods before it."""

    name = "sim.ttlafterfinished"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a job when it changes."""

        def job_changed(event: WatchEvent[Job]) -> None:
            if event.object is not None and event.type != "DELETED":
                enqueue(event.object.metadata.key)

        self._informers.jobs.subscribe(job_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Delete one job if its time is over."""
        job = self._informers.jobs.get(key)
        due = expires_at(job) if job is not None and not job.metadata.is_deleting else None
        if job is None or due is None:
            return DONE
        now = self._clock.now()
        if now < due:
            return Result(due - now)
        namespace, name = key
        try:
            await self._kube.delete(JOBS, name, namespace=namespace, uid=job.metadata.uid, propagation="Foreground")
        except (NotFound, Conflict):
            self._informers.jobs.fold_deleted(key, job.metadata.uid)
        return DONE


def expires_at(job: Job) -> UnixSeconds | None:
    """Return when a job is to be deleted; None when it never is, or has not finished."""
    lasts_s = job.spec.ttl_seconds_after_finished
    ended = next(
        (one for one in job.status.conditions if one.type in {"Complete", "Failed"} and one.status == "True"), None
    )
    if lasts_s is None or ended is None or ended.last_transition_time is None:
        return None
    return UnixSeconds(from_rfc3339(ended.last_transition_time) + lasts_s)
