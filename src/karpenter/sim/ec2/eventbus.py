"""What EventBridge sends into the queue: four kinds of events in their exact shapes (spec v1alpha5 INT-5, INT-8)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from karpenter.model.instance import Interruption, InterruptionKind
from karpenter.sim.ec2.backend import ACCOUNT_ID, Backend
from karpenter.sim.market.instances import InstanceState
from karpenter.sim.market.watch import InstanceChange

_STATES: Final[Mapping[InstanceState, str]] = {
    InstanceState.PENDING: "pending",
    InstanceState.RUNNING: "running",
    InstanceState.TERMINATING: "shutting-down",
    InstanceState.GONE: "terminated",
}


def notice_event(backend: Backend, notice: Interruption) -> str | None:
    """Return the event of a notice; None for an end, which the change of state tells."""
    identity = notice.provider_id.rpartition("/")[2]
    at = notice.noticed_at
    match notice.kind:
        case InterruptionKind.SPOT_INTERRUPTION:
            detail = {"instance-id": identity, "instance-action": "terminate"}
            return _event(
                backend, ("aws.ec2", "EC2 Spot Instance Interruption Warning"), detail, identity=identity, at=at
            )
        case InterruptionKind.REBALANCE_RECOMMENDATION:
            kind = ("aws.ec2", "EC2 Instance Rebalance Recommendation")
            return _event(backend, kind, {"instance-id": identity}, identity=identity, at=at)
        case InterruptionKind.SCHEDULED_CHANGE:
            return _event(
                backend, ("aws.health", "AWS Health Event"), _health(backend, identity, at), identity=identity, at=at
            )
        case _:
            return None


def change_event(backend: Backend, change: InstanceChange) -> str:
    """Return the event of an instance that has changed its state just now."""
    identity = change.instance.id
    detail = {"instance-id": identity, "state": _STATES[change.state]}
    kind = ("aws.ec2", "EC2 Instance State-change Notification")
    return _event(backend, kind, detail, identity=identity, at=backend.clock.now())


def _health(backend: Backend, identity: str, at: float) -> dict[str, Any]:
    arn = f"arn:aws:health:{backend.region}::event/EC2/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED/{identity}"
    return {
        "eventArn": arn,
        "service": "EC2",
        "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
        "eventTypeCategory": "scheduledChange",
        "startTime": _time(at + 14 * 86400, "%a, %d %b %Y %H:%M:%S GMT"),
        "endTime": _time(at + 14 * 86400, "%a, %d %b %Y %H:%M:%S GMT"),
        "eventDescription": [{"language": "en_US", "latestDescription": f"{identity} is scheduled for retirement."}],
        "affectedEntities": [{"entityValue": identity}],
    }


def _event(backend: Backend, kind: tuple[str, str], detail: Mapping[str, Any], *, identity: str, at: float) -> str:
    envelope = {
        "version": "0",
        "id": backend.new_uuid(),
        "detail-type": kind[1],
        "source": kind[0],
        "account": ACCOUNT_ID,
        "time": _time(at, "%Y-%m-%dT%H:%M:%SZ"),
        "region": backend.region,
        "resources": [backend.arn("ec2", f"instance/{identity}")],
        "detail": detail,
    }
    return msgspec.json.encode(envelope).decode()


def _time(at: float, form: str) -> str:
    return datetime.fromtimestamp(at, UTC).strftime(form)
