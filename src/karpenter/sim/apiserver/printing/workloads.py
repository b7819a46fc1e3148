"""Workloads: how many pods there should be, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpenter.model.units import UnixSeconds, from_rfc3339
from karpenter.runtime.kube import RawObject
from karpenter.sim.apiserver.printing.durations import age, human
from karpenter.sim.apiserver.printing.table import (
    NONE,
    UNSET,
    Cell,
    Printer,
    columns,
    containers,
    created,
    name_of,
    pairs,
    part,
    selector,
)

_WIDE: Final = "Containers|Images|Selector"


def _deployment(deployment: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    spec, status = part(deployment, "spec"), part(deployment, "status")
    return (
        name_of(deployment),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(created(deployment), now),
        *containers(part(spec, "template")),
        selector(spec.get("selector")),
    )


def _replica_set(replica_set: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    spec, status = part(replica_set, "spec"), part(replica_set, "status")
    wanted = spec.get("selector")
    return (
        name_of(replica_set),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(created(replica_set), now),
        *containers(part(spec, "template")),
        pairs(wanted) if replica_set["kind"] == "ReplicationController" else selector(wanted),
    )


def _daemon_set(daemon_set: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    spec, status = part(daemon_set, "spec"), part(daemon_set, "status")
    return (
        name_of(daemon_set),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        pairs(part(spec, "template", "spec").get("nodeSelector")),
        age(created(daemon_set), now),
        *containers(part(spec, "template")),
        selector(spec.get("selector")),
    )


def _stateful_set(stateful_set: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    spec, status = part(stateful_set, "spec"), part(stateful_set, "status")
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return (name_of(stateful_set), ready, age(created(stateful_set), now), *containers(part(spec, "template")))


def _job(job: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    spec, status = part(job, "spec"), part(job, "status")
    return (
        name_of(job),
        _job_status(job),
        _completions(job),
        _duration(status.get("startTime"), status.get("completionTime"), now),
        age(created(job), now),
        *containers(part(spec, "template")),
        selector(spec.get("selector")),
    )


def _job_status(job: RawObject) -> str:
    status = part(job, "status")
    holding = {one["type"] for one in status.get("conditions") or () if one["status"] == "True"}
    for condition, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if condition in holding:
            return word
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    if "Suspended" in holding:
        return "Suspended"
    return "FailureTarget" if "FailureTarget" in holding else "Running"


def _completions(job: RawObject) -> str:
    spec, succeeded = part(job, "spec"), part(job, "status").get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(start: str | None, end: str | None, now: UnixSeconds) -> str:
    if start is None:
        return ""
    return human((from_rfc3339(end) if end else now) - from_rfc3339(start))


def _cron_job(cron_job: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    spec, status = part(cron_job, "spec"), part(cron_job, "status")
    last = status.get("lastScheduleTime")
    return (
        name_of(cron_job),
        spec.get("schedule", ""),
        spec.get("timeZone", NONE),
        "True" if spec.get("suspend") else "False",
        len(status.get("active") or ()),
        age(last, now) if last else NONE,
        age(created(cron_job), now),
        *containers(part(spec, "jobTemplate", "spec", "template")),
        selector(part(spec, "jobTemplate", "spec").get("selector")),
    )


def _budget(budget: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    spec, status = part(budget, "spec"), part(budget, "status")
    return (
        name_of(budget),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        status.get("disruptionsAllowed", 0),
        age(created(budget), now),
    )


def _revision(revision: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    owners = revision["metadata"].get("ownerReferences") or ()
    controller = next((f"{one['kind'].lower()}/{one['name']}" for one in owners if one.get("controller")), NONE)
    return (name_of(revision), controller, revision.get("revision", UNSET), age(created(revision), now))


_REPLICAS: Final = "Name|#Desired|#Current|#Ready|Age"
DEPLOYMENT: Final = Printer(columns("Name|Ready|Up-to-date|Available|Age", _WIDE), _deployment)
REPLICA_SET: Final = Printer(columns(_REPLICAS, _WIDE), _replica_set)
DAEMON_SET: Final = Printer(
    columns("Name|#Desired|#Current|#Ready|#Up-to-date|#Available|Node Selector|Age", _WIDE), _daemon_set
)
STATEFUL_SET: Final = Printer(columns("Name|Ready|Age", "Containers|Images"), _stateful_set)
JOB: Final = Printer(columns("Name|Status|Completions|Duration|Age", _WIDE), _job)
CRON_JOB: Final = Printer(columns("Name|Schedule|Timezone|Suspend|#Active|Last Schedule|Age", _WIDE), _cron_job)
BUDGET: Final = Printer(columns("Name|Min Available|Max Unavailable|#Allowed Disruptions|Age"), _budget)
CONTROLLER_REVISION: Final = Printer(columns("Name|Controller|#Revision|Age"), _revision)
