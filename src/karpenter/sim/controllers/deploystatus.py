"""What a Deployment's status says, as a function of Deployment, ReplicaSets and time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from karpenter.model.units import UnixSeconds, from_rfc3339, to_rfc3339
from karpenter.sim.controllers.revisions import Revisions
from karpenter.sim.controllers.rollout import surge_and_unavailable
from karpenter.sim.kinds import Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet

NO_DEADLINE_S: Final = 2**31 - 1
"""A progress deadline that means there is none."""


def deployment_status(deployment: Deployment, revisions: Revisions, *, now: UnixSeconds) -> DeploymentStatus:
    """Return the status of a Deployment as its ReplicaSets stand."""
    every, new = revisions.every, revisions.new
    total, available = _sum(every, "replicas"), _sum(every, "available_replicas")
    counted = DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=total,
        updated_replicas=new.status.replicas if new is not None else 0,
        ready_replicas=_sum(every, "ready_replicas"),
        available_replicas=available,
        unavailable_replicas=max(0, total - available),
        collision_count=deployment.status.collision_count,
    )
    told = (_availability(deployment, counted), _progress(deployment, revisions, counted, now=now))
    conditions = tuple(_settled(deployment, one, now) for one in told if one is not None)
    kept = tuple(one for one in deployment.status.conditions if one.type not in {new.type for new in conditions})
    return msgspec.structs.replace(counted, conditions=(*kept, *conditions))


def _sum(every: Sequence[ReplicaSet], field: str) -> int:
    return sum(getattr(one.status, field) for one in every)


def _condition(kind: str, status: str, reason: str, message: str) -> DeploymentCondition:  # noqa: PLR0917 - a row
    return DeploymentCondition(type=kind, status=status, reason=reason, message=message)


def _availability(deployment: Deployment, counted: DeploymentStatus) -> DeploymentCondition:
    _, unavailable = surge_and_unavailable(deployment)
    if counted.available_replicas >= deployment.spec.replicas - unavailable:
        return _condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    return _condition(
        "Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
    )


def _progress(
    deployment: Deployment, revisions: Revisions, counted: DeploymentStatus, *, now: UnixSeconds
) -> DeploymentCondition | None:
    """Return how the rollout goes; None when nothing new is to be said."""
    known = find(deployment.status.conditions, "Progressing")
    if deployment.spec.progress_deadline_seconds >= NO_DEADLINE_S:
        return None
    if is_complete(deployment, counted):
        return _named(deployment, revisions, "NewReplicaSetAvailable", what="has successfully progressed.")
    if known is None:
        if revisions.new is None:
            return None
        text = f'Created new replica set "{revisions.new.metadata.name}"'
        return _condition("Progressing", "True", "NewReplicaSetCreated", text)
    if _moved(deployment.status, counted):
        return _named(deployment, revisions, "ReplicaSetUpdated", what="is progressing.")
    if _has_timed_out(deployment, known, now):
        late = _named(deployment, revisions, "ProgressDeadlineExceeded", what="has timed out progressing.")
        return msgspec.structs.replace(late, status="False")
    return None


def is_complete(deployment: Deployment, counted: DeploymentStatus) -> bool:
    """Return whether all pods are of the current template and available, and no others are left."""
    wanted = deployment.spec.replicas
    return counted.updated_replicas == counted.replicas == counted.available_replicas == wanted


def _moved(before: DeploymentStatus, after: DeploymentStatus) -> bool:
    return (
        after.updated_replicas > before.updated_replicas
        or after.replicas - after.updated_replicas < before.replicas - before.updated_replicas
        or after.ready_replicas > before.ready_replicas
        or after.available_replicas > before.available_replicas
    )


def _has_timed_out(deployment: Deployment, known: DeploymentCondition, now: UnixSeconds) -> bool:
    if known.reason == "ProgressDeadlineExceeded":
        return True
    if known.reason == "NewReplicaSetAvailable" or known.last_update_time is None:
        return False
    return now - from_rfc3339(known.last_update_time) > deployment.spec.progress_deadline_seconds


def progress_deadline(deployment: Deployment, status: DeploymentStatus) -> UnixSeconds | None:
    """Return when a rollout that stands still has to be called late; None when none is under way."""
    known = find(status.conditions, "Progressing")
    if (
        known is None
        or known.last_update_time is None
        or known.reason
        in {
            "NewReplicaSetAvailable",
            "ProgressDeadlineExceeded",
        }
    ):
        return None
    if deployment.spec.progress_deadline_seconds >= NO_DEADLINE_S or deployment.spec.paused:
        return None
    return UnixSeconds(from_rfc3339(known.last_update_time) + deployment.spec.progress_deadline_seconds + 1)


def _named(deployment: Deployment, revisions: Revisions, reason: str, *, what: str) -> DeploymentCondition:
    if revisions.new is None:
        subject = f'Deployment "{deployment.metadata.name}"'
    else:
        subject = f'ReplicaSet "{revisions.new.metadata.name}"'
    return _condition("Progressing", "True", reason, f"{subject} {what}")


def _settled(deployment: Deployment, told: DeploymentCondition, now: UnixSeconds) -> DeploymentCondition:
    """Return a condition with its times: the transition is when the status changed, the update when anything did."""
    known, moment = find(deployment.status.conditions, told.type), to_rfc3339(now)
    if known is None:
        return msgspec.structs.replace(told, last_transition_time=moment, last_update_time=moment)
    same_words = (known.status, known.reason, known.message) == (told.status, told.reason, told.message)
    if same_words and told.reason != "ReplicaSetUpdated":
        return known
    since = known.last_transition_time if known.status == told.status else moment
    return msgspec.structs.replace(told, last_transition_time=since, last_update_time=moment)


def find(conditions: Sequence[DeploymentCondition], kind: str) -> DeploymentCondition | None:
    """Return the condition of a type; None when there is none."""
    return next((one for one in conditions if one.type == kind), None)
