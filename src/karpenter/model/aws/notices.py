"""What EventBridge says about machines, read from the bodies of messages. Source: spec v1alpha5 INT-2, INT-5, INT-8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from karpenter.model.instance import InterruptionKind
from karpenter.model.units import UnixSeconds, from_rfc3339

SPOT_NOTICE_S: Final = 120.0
"""How long before its end a spot instance is told of it."""
_VERSION: Final = "0"


class UnreadableError(ValueError):
    """A body that is no event at all."""


class _Entity(msgspec.Struct, frozen=True, rename="camel"):
    entity_value: str = ""


class _Detail(msgspec.Struct, frozen=True, rename={"instance_id": "instance-id"}):
    instance_id: str = ""
    state: str = ""
    service: str = ""
    category: str = msgspec.field(name="eventTypeCategory", default="")
    entities: tuple[_Entity, ...] = msgspec.field(name="affectedEntities", default=())


class _Event(msgspec.Struct, frozen=True):
    """The envelope, and of the details of all kinds what is read."""

    version: str = ""
    source: str = ""
    detail_type: str = msgspec.field(name="detail-type", default="")
    time: str = ""
    detail: msgspec.Raw = msgspec.Raw(b"{}")


@dataclass(frozen=True, slots=True)
class Notice:
    """One machine that will go, or is likely to."""

    kind: InterruptionKind
    instance_id: str
    noticed_at: UnixSeconds
    deadline: UnixSeconds | None = None


_STATES: Final = {
    "stopping": InterruptionKind.STOPPING,
    "stopped": InterruptionKind.STOPPING,
    "shutting-down": InterruptionKind.TERMINATING,
    "terminated": InterruptionKind.TERMINATING,
}
_EVENT: Final = msgspec.json.Decoder(_Event)
_DETAIL: Final = msgspec.json.Decoder(_Detail)


def read_notices(body: str, received_at: UnixSeconds) -> tuple[Notice, ...]:
    """Return what a message says about machines; nothing for one of another kind. `received_at` is for undated ones.

    Raises:
        UnreadableError: it is no event, or an event of a known kind with other details than that kind has.
    """
    if not body:
        return ()
    try:
        event = _EVENT.decode(body)
        if event.version != _VERSION:
            return ()
        at = _moment(event.time, received_at)
        match (event.source, event.detail_type):
            case ("aws.ec2", "EC2 Spot Instance Interruption Warning"):
                ends_at = UnixSeconds(at + SPOT_NOTICE_S)
                return _one(event, InterruptionKind.SPOT_INTERRUPTION, at, deadline=ends_at)
            case ("aws.ec2", "EC2 Instance Rebalance Recommendation"):
                return _one(event, InterruptionKind.REBALANCE_RECOMMENDATION, at)
            case ("aws.ec2", "EC2 Instance State-change Notification"):
                kind = _STATES.get(_DETAIL.decode(event.detail).state.lower())
                return _one(event, kind, at) if kind else ()
            case ("aws.health", "AWS Health Event"):
                return _scheduled(_DETAIL.decode(event.detail), at)
            case _:
                return ()
    except msgspec.DecodeError as error:
        raise UnreadableError(str(error)) from error


def _one(
    event: _Event, kind: InterruptionKind, at: UnixSeconds, *, deadline: UnixSeconds | None = None
) -> tuple[Notice, ...]:
    instance_id = _DETAIL.decode(event.detail).instance_id
    return (Notice(kind, instance_id, at, deadline),) if instance_id else ()


def _scheduled(detail: _Detail, at: UnixSeconds) -> tuple[Notice, ...]:
    if detail.service != "EC2" or detail.category != "scheduledChange":
        return ()
    kind = InterruptionKind.SCHEDULED_CHANGE
    return tuple(Notice(kind, entity.entity_value, at) for entity in detail.entities if entity.entity_value)


def _moment(text: str, otherwise: UnixSeconds) -> UnixSeconds:
    try:
        return from_rfc3339(text)
    except ValueError:
        return otherwise
