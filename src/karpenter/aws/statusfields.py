"""What a node class's status lists of what was found. Source: spec v1 §1.8, spec v1alpha5 §1.8."""

from __future__ import annotations

from collections.abc import Mapping

from karpenter.aws.resolved import Reservation, ResolvedNodeClass
from karpenter.model.requirements import Requirements
from karpenter.model.units import to_rfc3339


def status_fields(resolved: ResolvedNodeClass) -> Mapping[str, object]:
    """Return the fields as they are written; None takes one away that holds nothing any more."""
    fields: dict[str, object] = {
        "subnets": [_present(id=one.id, zone=one.zone, zoneID=one.zone_id) for one in resolved.subnets],
        "securityGroups": [_present(id=one.id, name=one.name) for one in resolved.security_groups],
        "amis": [
            _present(
                id=one.id, name=one.name, deprecated=one.is_deprecated, requirements=_requirements(one.requirements)
            )
            for one in resolved.amis
        ],
        "instanceProfile": resolved.instance_profile,
        "capacityReservations": [_reservation(one) for one in resolved.reservations],
    }
    if not resolved.node_class.is_ec2_node_class:
        fields = {name: fields[name] for name in ("subnets", "securityGroups", "amis")}
    return {name: value or None for name, value in fields.items()}


def _present(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value}


def _requirements(requirements: Requirements) -> list[dict[str, object]]:
    return [
        _present(key=key, operator=operator, values=list(values))
        for key, requirement in sorted(requirements.items())
        for operator, values in requirement.entries()
    ]


def _reservation(one: Reservation) -> dict[str, object]:
    return _present(
        id=one.id,
        availabilityZone=one.zone,
        instanceType=one.instance_type,
        ownerID=one.owner_id,
        instanceMatchCriteria=one.match_criteria,
        reservationType=one.kind,
        state=one.state,
        interruptible=one.is_interruptible,
        endTime=None if one.ends_at is None else to_rfc3339(one.ends_at),
    )
