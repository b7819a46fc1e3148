"""What a Job's status says, step by step, so that no pod is counted twice or not at all whenever the process ends.

A pod that ended is first noted by its uid, then loses the finalizer that kept it, and only then becomes part of a
number: whoever finds half of that can finish it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from karpenter.model.core import Pod
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.sim.batchkinds import Job, JobCondition, JobStatus, Uncounted
from karpenter.sim.controllers.batch.failurepolicy import ORDINARY, Verdict
from karpenter.sim.controllers.batch.indexes import format_indexes
from karpenter.sim.controllers.batch.tally import Failure, Tally, has_failed, is_tracked

COMPLETED = ("CompletionsReached", "Reached expected number of succeeded pods")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ends: the condition that says so already, and the one that will once its pods are counted."""

    interim: str
    final: str
    reason: str
    message: str

    @property
    def is_failure(self) -> bool:
        """Whether what still runs counts as failed."""
        return self.final == "Failed"


def success() -> Outcome:
    """Return the outcome of a job that reached what it was for."""
    return Outcome("SuccessCriteriaMet", "Complete", *COMPLETED)


def failed(failure: Failure) -> Outcome:
    """Return the outcome of a job that failed."""
    return Outcome("FailureTarget", "Failed", failure.reason, failure.message)


def outcome_before(status: JobStatus) -> Outcome | None:
    """Return the outcome that an earlier look came to; None when there is none yet."""
    for interim, final in (("SuccessCriteriaMet", "Complete"), ("FailureTarget", "Failed")):
        found = next((one for one in status.conditions if one.type == interim and one.status == "True"), None)
        if found is not None:
            return Outcome(interim, final, found.reason, found.message)
    return None


def to_be_counted(job: Job, pods: Sequence[Pod], outcome: Outcome | None) -> list[Pod]:
    """Return the pods whose finalizer may go: they ended, or the job did and nobody will look at them again."""
    return [
        pod
        for pod in pods
        if is_tracked(pod)
        and (job.metadata.is_deleting or outcome is not None or pod.status.phase == "Succeeded" or has_failed(job, pod))
    ]


def noted(
    job: Job,
    counting: Sequence[Pod],
    outcome: Outcome | None,
    *,
    tally: Tally,
    verdicts: Mapping[str, Verdict],
) -> JobStatus:
    """Return a job's status with the pods noted that are about to be counted."""
    known = job.status.uncounted_terminated_pods
    seen = {*known.succeeded, *known.failed}
    well = [pod.metadata.uid for pod in tally.ended_well if pod.metadata.uid not in seen]
    places = {pod.metadata.uid for pod in (*tally.ended_badly, *tally.active)}
    badly = [
        pod.metadata.uid
        for pod in counting
        if pod.status.phase != "Succeeded"
        and pod.metadata.uid not in seen
        and (has_failed(job, pod) or (outcome is not None and outcome.is_failure))
        and verdicts.get(pod.metadata.uid, ORDINARY).counts
        and (not job.spec.is_indexed or pod.metadata.uid in places)
    ]
    if job.spec.is_indexed:  # the numbers themselves say who succeeded
        return replace(
            job.status,
            succeeded=len(tally.done),
            completed_indexes=format_indexes(tally.done),
            uncounted_terminated_pods=Uncounted((), (*known.failed, *badly)),
        )
    return replace(job.status, uncounted_terminated_pods=Uncounted((*known.succeeded, *well), (*known.failed, *badly)))


def counted(status: JobStatus, tracked: Collection[str]) -> JobStatus:
    """Return a status in which noted pods have become numbers; those in `tracked`, by uid, have their finalizer yet."""
    known = status.uncounted_terminated_pods
    well = tuple(uid for uid in known.succeeded if uid in tracked)
    badly = tuple(uid for uid in known.failed if uid in tracked)
    return replace(
        status,
        succeeded=status.succeeded + len(known.succeeded) - len(well),
        failed=status.failed + len(known.failed) - len(badly),
        uncounted_terminated_pods=Uncounted(well, badly),
    )


def with_condition(
    status: JobStatus, kind: str, state: str, *, reason: str, message: str, now: UnixSeconds
) -> JobStatus:
    """Return a status with a condition; what never held is not said to be false."""
    present = next((one for one in status.conditions if one.type == kind), None)
    if present is None and state == "False":
        return status
    if present is not None and (present.status, present.reason, present.message) == (state, reason, message):
        return status
    moment = to_rfc3339(now)
    condition = JobCondition(kind, state, reason, message, moment, moment)
    if present is None:
        return replace(status, conditions=(*status.conditions, condition))
    return replace(status, conditions=tuple(condition if one is present else one for one in status.conditions))


def finished(status: JobStatus, outcome: Outcome, *, now: UnixSeconds) -> JobStatus:
    """Return the last status of a job; the same while pods are to be counted or on their way out."""
    if status.uncounted_terminated_pods != Uncounted() or status.terminating:
        return status
    status = with_condition(status, outcome.final, "True", reason=outcome.reason, message=outcome.message, now=now)
    return replace(status, completion_time=to_rfc3339(now)) if outcome.final == "Complete" else status
