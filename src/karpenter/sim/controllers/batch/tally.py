"""How the pods of a Job stand, whether it has come to its end, and which pods come and go next. No API in here.

Source: kubernetes.io/docs/concepts/workloads/controllers/job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from karpenter.model.core import Pod
from karpenter.model.pods import is_terminal
from karpenter.model.units import UnixSeconds, from_rfc3339
from karpenter.sim.batchkinds import Job
from karpenter.sim.controllers.batch.failurepolicy import ORDINARY, Verdict
from karpenter.sim.controllers.batch.indexes import parse_indexes
from karpenter.sim.controllers.podstate import is_active, is_ready

TRACKING: Final = "batch.kubernetes.io/job-tracking"
"""Finalizer that keeps a pod until it is counted."""
INDEX: Final = "batch.kubernetes.io/job-completion-index"
_MOST_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Tally:
    """The pods of a job, those that were counted before included."""

    active: tuple[Pod, ...]
    ended_well: tuple[Pod, ...]
    """Still to be counted, as are the next."""
    ended_badly: tuple[Pod, ...]
    succeeded: int
    failed: int
    ready: int
    terminating: int
    done: frozenset[int] = frozenset()
    """Completion numbers that succeeded; only of an indexed job."""
    fails_job: str = ""
    """Why a failed pod fails the whole job by its policy; empty when none does."""


def is_tracked(pod: Pod) -> bool:
    """Return whether a pod has not been counted yet."""
    return TRACKING in pod.metadata.finalizers


def index_of(pod: Pod) -> int | None:
    """Return a pod's completion number; None when it has none."""
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isdecimal() else None


def has_failed(job: Job, pod: Pod) -> bool:
    """Return whether a pod counts as failed: one that is being deleted does, unless the job waits for its end."""
    if pod.status.phase == "Failed":
        return True
    return pod.metadata.is_deleting and pod.status.phase != "Succeeded" and not job.spec.waits_for_ends


def take_stock(job: Job, pods: Sequence[Pod], verdicts: Mapping[str, Verdict]) -> Tally:
    """Return how a job's pods stand; `verdicts` say by uid what its policy makes of failed ones."""
    noted = job.status.uncounted_terminated_pods
    fresh = [
        pod
        for pod in pods
        if is_tracked(pod) and pod.metadata.uid not in {*noted.succeeded, *noted.failed} and _has_place(job, pod)
    ]
    well = tuple(pod for pod in fresh if pod.status.phase == "Succeeded")
    badly = tuple(pod for pod in fresh if has_failed(job, pod))
    done = _done(job, well)
    active = tuple(pod for pod in pods if is_active(pod))
    counted = [pod for pod in badly if verdicts.get(pod.metadata.uid, ORDINARY).counts]
    succeeded = len(done) if job.spec.is_indexed else job.status.succeeded + len(noted.succeeded) + len(well)
    return Tally(
        active=active,
        ended_well=well,
        ended_badly=badly,
        succeeded=succeeded,
        failed=job.status.failed + len(noted.failed) + len(counted),
        ready=sum(is_ready(pod) for pod in active),
        terminating=sum(pod.metadata.is_deleting and not is_terminal(pod) for pod in pods),
        done=done,
        fails_job=next((one.fails_job for one in verdicts.values() if one.fails_job), ""),
    )


def _has_place(job: Job, pod: Pod) -> bool:
    if not job.spec.is_indexed:
        return True
    index = index_of(pod)
    return index is not None and index < (job.spec.completions or 0)


def _done(job: Job, well: Sequence[Pod]) -> frozenset[int]:
    if not job.spec.is_indexed:
        return frozenset()
    before = parse_indexes(job.status.completed_indexes, job.spec.completions or 0)
    return before | {index for pod in well if (index := index_of(pod)) is not None}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job fails."""

    reason: str
    message: str


def failure_of(job: Job, tally: Tally, pods: Sequence[Pod], *, now: UnixSeconds) -> Failure | None:
    """Return why a job has to fail as things are; None when it does not."""
    if tally.fails_job:
        return Failure("PodFailurePolicy", tally.fails_job)
    limit = job.spec.backoff_limit
    restarts = _restarts(job, pods)
    if tally.failed > limit or (restarts > 0 and restarts >= limit):
        return Failure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    deadline = deadline_of(job)
    if deadline is not None and now >= deadline:
        return Failure("DeadlineExceeded", "Job was active longer than specified deadline")
    return None


def _restarts(job: Job, pods: Sequence[Pod]) -> int:
    """Return how often containers of a job's pods were started again, where their pods do that themselves."""
    if (job.spec.template.get("spec") or {}).get("restartPolicy") != "OnFailure":
        return 0
    alive = [pod for pod in pods if not is_terminal(pod)]
    return sum(status.restart_count for pod in alive for status in pod.status.container_statuses)


def deadline_of(job: Job) -> UnixSeconds | None:
    """Return when a job has been active for too long; None when it may be for ever, or is not active."""
    allowed_s, start = job.spec.active_deadline_seconds, job.status.start_time
    if allowed_s is None or start is None or job.spec.suspend:
        return None
    return UnixSeconds(from_rfc3339(start) + allowed_s)


def is_complete(job: Job, tally: Tally, *, active: int) -> bool:
    """Return whether a job has reached what it was for: so many completions, or one of a work queue's pods."""
    if active:
        return False
    if job.spec.completions is None:
        return tally.succeeded > 0
    return tally.succeeded >= job.spec.completions


@dataclass(frozen=True, slots=True)
class Changes:
    """Which pods come and go."""

    delete: tuple[Pod, ...] = ()
    create: tuple[int | None, ...] = ()
    """One entry for each pod, its completion number or None."""


def next_changes(job: Job, tally: Tally) -> Changes:
    """Return what brings a job to as many active pods as it may have; too many go before others come."""
    active = len(tally.active)
    wanted = _wanted(job, tally)
    surplus = _surplus(job, tally.active, max(0, active - wanted))
    if surplus:
        return Changes(delete=surplus[:_MOST_AT_ONCE])
    leaving = tally.terminating if job.spec.waits_for_ends else 0
    missing = min(_MOST_AT_ONCE, wanted - active - leaving)
    if missing <= 0:
        return Changes()
    if not job.spec.is_indexed:
        return Changes(create=(None,) * missing)
    taken = tally.done | {index_of(pod) for pod in tally.active}
    pending = [index for index in range(job.spec.completions or 0) if index not in taken]
    return Changes(create=tuple(pending[:missing]))


def _wanted(job: Job, tally: Tally) -> int:
    if job.spec.suspend:
        return 0
    if job.spec.completions is None:  # a work queue: after the first success nobody new starts
        return len(tally.active) if tally.succeeded else job.spec.parallelism
    return max(0, min(job.spec.parallelism, job.spec.completions - tally.succeeded))


def _surplus(job: Job, active: Sequence[Pod], at_least: int) -> tuple[Pod, ...]:
    """Return the pods to delete: those whose number is taken or none, then the least advanced."""
    misplaced: list[Pod] = []
    left: list[Pod] = []
    seen: set[int | None] = set()
    for pod in sorted(active, key=_progress, reverse=True):
        index = index_of(pod)
        if job.spec.is_indexed and (not _has_place(job, pod) or index in seen):
            misplaced.append(pod)
        else:
            seen.add(index)
            left.append(pod)
    more = max(0, at_least - len(misplaced))
    return (*misplaced, *left[len(left) - more :])


def _progress(pod: Pod) -> tuple[bool, bool, bool, str]:
    return bool(pod.spec.node_name), pod.status.phase == "Running", is_ready(pod), pod.metadata.name
