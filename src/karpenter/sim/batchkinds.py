"""Jobs and CronJobs, as their controllers read them. Templates stay raw."""

from __future__ import annotations

from typing import Final

import msgspec

from karpenter.model.meta import LabelSelector, ObjectMeta
from karpenter.runtime.kube import RawObject, Resource
from karpenter.sim.kinds import Wire


class JobSpec(Wire, frozen=True):
    selector: LabelSelector = LabelSelector()
    template: RawObject = msgspec.field(default_factory=dict)
    parallelism: int = 1
    completions: int | None = None
    backoff_limit: int = 6
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    pod_replacement_policy: str = "TerminatingOrFailed"
    pod_failure_policy: RawObject | None = None
    managed_by: str = "kubernetes.io/job-controller"

    @property
    def is_indexed(self) -> bool:
        """Whether each completion has a number of its own."""
        return self.completion_mode == "Indexed"

    @property
    def waits_for_ends(self) -> bool:
        """Whether a pod that is being deleted counts as failed, and is replaced, only once it has ended."""
        return self.pod_failure_policy is not None or self.pod_replacement_policy == "Failed"


class JobCondition(Wire, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_probe_time: str | None = None
    last_transition_time: str | None = None


class Uncounted(Wire, frozen=True):
    """Uids of pods that ended and are being counted: they are in no number yet, and may lose their finalizer."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Wire, frozen=True):
    conditions: tuple[JobCondition, ...] = ()
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    uncounted_terminated_pods: Uncounted = Uncounted()

    def has(self, condition: str) -> bool:
        """Return whether a condition holds."""
        return any(one.type == condition and one.status == "True" for one in self.conditions)

    @property
    def is_finished(self) -> bool:
        """Whether the job came to its end, good or bad."""
        return self.has("Complete") or self.has("Failed")


class Job(Wire, frozen=True):
    metadata: ObjectMeta
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobReference(Wire, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class JobTemplate(Wire, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: RawObject = msgspec.field(default_factory=dict)


class CronJobSpec(Wire, frozen=True):
    schedule: str
    job_template: JobTemplate = JobTemplate()
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1


class CronJobStatus(Wire, frozen=True):
    active: tuple[JobReference, ...] = ()
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(Wire, frozen=True):
    metadata: ObjectMeta
    spec: CronJobSpec
    status: CronJobStatus = CronJobStatus()


JOBS: Final = Resource("batch", "v1", "jobs", "Job", Job, namespaced=True)
CRON_JOBS: Final = Resource("batch", "v1", "cronjobs", "CronJob", CronJob, namespaced=True)
