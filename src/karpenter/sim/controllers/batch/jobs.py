"""Jobs: pods that run to their end, as many as it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from msgspec.structs import replace as with_fields

from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey, UnixSeconds, to_rfc3339
from karpenter.runtime import kube as api
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventType, ref_to
from karpenter.runtime.kube import Conflict, KubeError, NotFound, RawObject, Resource, WatchEvent
from karpenter.sim.batchkinds import JOBS, Job, JobStatus
from karpenter.sim.controllers.batch import accounts
from karpenter.sim.controllers.batch.accounts import Outcome
from karpenter.sim.controllers.batch.backoff import Record
from karpenter.sim.controllers.batch.failurepolicy import Verdict, judge
from karpenter.sim.controllers.batch.podmaking import job_pod
from karpenter.sim.controllers.batch.tally import (
    TRACKING,
    Changes,
    Tally,
    deadline_of,
    failure_of,
    has_failed,
    is_complete,
    is_tracked,
    next_changes,
    take_stock,
)
from karpenter.sim.controllers.templates import status_manifest
from karpenter.sim.standins import Context, Enqueue

COMPONENT: Final = "job-controller"
_GATHER_S: Final = 0.1
"""Changes of pods within so long are answered together."""
_OURS: Final = "kubernetes.io/job-controller"
_RAW_PODS: Final[Resource[RawObject]] = Resource("", "v1", "pods", "Pod", dict, namespaced=True)
_STATUS_FIELDS: Final = ("ready", "terminating", "uncountedTerminatedPods")


@dataclass(frozen=True, slots=True)
class _Look:
    """A job and its pods as one look finds them."""

    job: Job
    pods: tuple[Pod, ...]
    verdicts: dict[str, Verdict]
    tally: Tally
    failures: Record
    """Of pods that ended just now, too."""
    now: UnixSeconds


class Jobs:
    """Brings each Job on its way, counts the pods that ended, and says how it came out."""

    name = "sim.job"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)
        self._failures: dict[str, Record] = {}
        """By uid of the job; known as long as the process lives."""
        self._leaving: set[str] = set()
        """Uids of pods that were deleted and whose news have not come yet: they no longer count as active."""

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a job when it or one of its pods changes."""

        def pod_changed(event: WatchEvent[Pod]) -> None:
            pod = event.object
            assert pod is not None
            if event.type == "DELETED" or pod.metadata.is_deleting:
                self._leaving.discard(pod.metadata.uid)
            owner = pod.metadata.controller_key("Job")
            if owner is not None:
                enqueue(owner, after_s=_GATHER_S)

        def job_changed(event: WatchEvent[Job]) -> None:
            assert event.object is not None
            if event.type == "DELETED":
                self._failures.pop(event.object.metadata.uid, None)
            enqueue(event.object.metadata.key)

        self._informers.jobs.subscribe(job_changed)
        self._informers.pods.subscribe(pod_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Take the next steps with one job."""
        job = self._informers.jobs.get(key)
        await self._let_go_of_strays(key, job)
        if job is None or job.status.is_finished or job.spec.managed_by != _OURS:
            return DONE
        look = await self._look(job)
        outcome = accounts.outcome_before(job.status)
        if outcome is None and (failure := failure_of(job, look.tally, look.pods, now=look.now)) is not None:
            outcome = accounts.failed(failure)
        wait_s: float | None = None
        refusal: KubeError | None = None
        if outcome is not None:
            await self._delete(job, look.tally.active)
        elif not job.metadata.is_deleting:
            wait_s, refusal = await self._bring_on(look)
        look = replace(look, pods=self._pods(job))
        look = replace(look, tally=take_stock(job, look.pods, look.verdicts))
        if outcome is None and is_complete(job, look.tally, active=len(look.tally.active)):
            outcome = accounts.success()
        await self._account(look, outcome)
        if refusal is not None:
            raise refusal
        return DONE if outcome is not None else self._when_to_look_again(job, wait_s)

    # looking ----------------------------------------------------------------------------------------------------------

    def _pods(self, job: Job) -> tuple[Pod, ...]:
        found = self._informers.pods_by_controller.get(job.metadata.uid)
        return tuple(pod for pod in found if pod.metadata.uid not in self._leaving)

    async def _look(self, job: Job) -> _Look:
        pods = self._pods(job)
        verdicts = await self._verdicts(job, pods)
        tally = take_stock(job, pods, verdicts)
        before = self._failures.get(job.metadata.uid, Record())
        failures = before.after(well=tally.ended_well, badly=tally.ended_badly)
        return _Look(job, pods, verdicts, tally, failures, self._clock.now())

    async def _verdicts(self, job: Job, pods: Sequence[Pod]) -> dict[str, Verdict]:
        """Return by uid what the job's policy says of pods that failed and are not counted."""
        policy = job.spec.pod_failure_policy
        verdicts: dict[str, Verdict] = {}
        for pod in pods if policy is not None else ():
            if is_tracked(pod) and has_failed(job, pod):
                namespace, name = pod.metadata.key
                raw = await self._kube.get(_RAW_PODS, name, namespace=namespace)
                verdicts[pod.metadata.uid] = judge(policy or {}, raw)
        return verdicts

    def _when_to_look_again(self, job: Job, wait_s: float | None) -> Result:
        now = self._clock.now()
        deadline = deadline_of(self._informers.jobs.get(job.metadata.key) or job)
        waits = [wait for wait in (wait_s, None if deadline is None else deadline - now) if wait is not None]
        return Result(max(0.0, min(waits))) if waits else DONE

    # pods -------------------------------------------------------------------------------------------------------------

    async def _bring_on(self, look: _Look) -> tuple[float | None, KubeError | None]:
        """Create or delete pods; return in how many seconds the next may be created, and the refusal of the API."""
        job = look.job
        changes: Changes = next_changes(job, look.tally)
        await self._delete(job, changes.delete, forget=True)
        if not changes.create:
            return None, None
        wait_s = look.failures.wait_s(look.now)
        if wait_s > 0:
            return wait_s, None
        return None, await self._create(job, changes.create)

    async def _create(self, job: Job, indexes: Sequence[int | None]) -> KubeError | None:
        """Create pods in batches that double: where one is refused, a thousand are not tried."""
        namespace, done, batch = job.metadata.namespace, 0, 1
        while done < len(indexes):
            bodies = [job_pod(job, index) for index in indexes[done : done + batch]]
            tasks = (self._kube.create(api.PODS, body, namespace=namespace) for body in bodies)
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            for outcome in outcomes:
                if isinstance(outcome, Pod):
                    self._informers.pods.fold(outcome)
                    self._tell(job, "Normal", "SuccessfulCreate", f"Created pod: {outcome.metadata.name}")
            refusal = next((one for one in outcomes if isinstance(one, BaseException)), None)
            if isinstance(refusal, KubeError):
                self._tell(job, "Warning", "FailedCreate", f"Error creating: {refusal}")
                return refusal
            if refusal is not None:
                raise refusal
            done += len(bodies)
            batch *= 2
        return None

    async def _delete(self, job: Job, pods: Iterable[Pod], *, forget: bool = False) -> None:
        """Delete pods; with `forget`, they are not counted in any way."""
        for pod in pods:
            namespace, name = pod.metadata.key
            if forget:
                await self._drop_finalizer(pod)
            self._leaving.add(pod.metadata.uid)
            try:
                await self._kube.delete(api.PODS, name, namespace=namespace, uid=pod.metadata.uid)
            except (NotFound, Conflict):
                self._leaving.discard(pod.metadata.uid)
                self._informers.pods.fold_deleted(pod.metadata.key, pod.metadata.uid)
                continue
            except KubeError:
                self._leaving.discard(pod.metadata.uid)
                raise
            self._tell(job, "Normal", "SuccessfulDelete", f"Deleted pod: {name}")

    async def _drop_finalizer(self, pod: Pod) -> None:
        namespace, name = pod.metadata.key
        kept = [one for one in pod.metadata.finalizers if one != TRACKING]
        metadata = {"uid": pod.metadata.uid, "finalizers": kept or None}
        try:
            written = await self._kube.patch(api.PODS, name, {"metadata": metadata}, namespace=namespace)
        except (NotFound, Conflict):
            return
        if written.metadata.is_deleting and not kept and not written.metadata.deletion_grace_period_seconds:
            self._informers.pods.fold_deleted(pod.metadata.key, pod.metadata.uid)
        else:
            self._informers.pods.fold(written)

    async def _let_go_of_strays(self, key: ObjectKey, job: Job | None) -> None:
        """Take the finalizer off pods whose job is gone or finished: nobody will count them."""
        if job is not None and not job.status.is_finished:
            return
        if job is not None:
            strays = [pod for pod in self._informers.pods_by_controller.get(job.metadata.uid) if is_tracked(pod)]
        else:
            strays = [
                pod
                for pod in self._informers.pods.values()
                if is_tracked(pod) and pod.metadata.controller_key("Job") == key
            ]
        for pod in strays:
            await self._drop_finalizer(pod)

    # status -----------------------------------------------------------------------------------------------------------

    async def _account(self, look: _Look, outcome: Outcome | None) -> None:
        """Note who ended, let them go, count them, and end the job when all are counted."""
        job = look.job
        counting = accounts.to_be_counted(job, look.pods, outcome)
        status = accounts.noted(job, counting, outcome, tally=look.tally, verdicts=look.verdicts)
        status = self._with_present(status, look, outcome)
        job = await self._write(job, status)
        self._failures[job.metadata.uid] = look.failures
        for pod in counting:
            await self._drop_finalizer(pod)
        tracked = {pod.metadata.uid for pod in self._pods(job) if is_tracked(pod)}
        status = accounts.counted(job.status, tracked)
        if outcome is not None:
            left = take_stock(with_fields(job, status=status), self._pods(job), {}).terminating
            leaving = len(self._leaving & {pod.metadata.uid for pod in look.pods})
            status = with_fields(status, terminating=left + leaving)
            status = accounts.finished(status, outcome, now=look.now)
        before = job.status
        job = await self._write(job, status)
        if outcome is not None and job.status.is_finished and not before.is_finished:
            self._failures.pop(job.metadata.uid, None)
            self._tell_end(job, outcome)

    def _with_present(self, status: JobStatus, look: _Look, outcome: Outcome | None) -> JobStatus:
        """Return a status with what holds at this moment."""
        job, tally, now = look.job, look.tally, look.now
        status = with_fields(status, active=len(tally.active), ready=tally.ready, terminating=tally.terminating)
        if outcome is not None:
            return accounts.with_condition(
                status, outcome.interim, "True", reason=outcome.reason, message=outcome.message, now=now
            )
        before = status
        if job.spec.suspend:
            status = accounts.with_condition(
                status, "Suspended", "True", reason="JobSuspended", message="Job suspended", now=now
            )
            if status is not before:
                self._tell(job, "Normal", "Suspended", "Job suspended")
            return with_fields(status, start_time=None)
        status = accounts.with_condition(
            status, "Suspended", "False", reason="JobResumed", message="Job resumed", now=now
        )
        if status is not before:
            self._tell(job, "Normal", "Resumed", "Job resumed")
        return with_fields(status, start_time=status.start_time or to_rfc3339(now))

    async def _write(self, job: Job, status: JobStatus) -> Job:
        if status == job.status:
            return job
        body: dict[str, Any] = status_manifest(status, always=_STATUS_FIELDS)
        body["uncountedTerminatedPods"] = {
            "succeeded": list(status.uncounted_terminated_pods.succeeded) or None,
            "failed": list(status.uncounted_terminated_pods.failed) or None,
        }
        body["conditions"] = [
            {name: value for name, value in one.items() if value} for one in body.get("conditions") or ()
        ] or None
        namespace, name = job.metadata.key
        patch = {"metadata": {"resourceVersion": job.metadata.resource_version}, "status": body}
        written = await self._kube.patch(JOBS, name, patch, namespace=namespace, subresource="status")
        self._informers.jobs.fold(written)
        return written

    def _tell_end(self, job: Job, outcome: Outcome) -> None:
        if outcome.is_failure:
            self._tell(job, "Warning", outcome.reason, outcome.message)
        else:
            self._tell(job, "Normal", "Completed", "Job completed")

    def _tell(self, job: Job, kind: EventType, reason: str, message: str) -> None:  # noqa: PLR0917 - as kubectl shows
        self._recorder.record(ref_to(JOBS, job), kind, reason, message)
