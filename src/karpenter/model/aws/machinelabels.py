"""Labels of a machine that follow from what was launched. Source: spec v1 A-45."""

from __future__ import annotations

from typing import Final

from karpenter.model import labels
from karpenter.model.instancetype import InstanceType
from karpenter.model.requirements import Requirement, Requirements

USUAL: Final = {labels.OS: "linux", labels.ARCH: "amd64"}
"""What a node is where the type and the claim leave several values open."""


def instance_labels(found: InstanceType, requirements: Requirements, place: tuple[str, str, str]) -> dict[str, str]:
    """Return the labels that follow from a launched type and offering: every single value that is left.

    `place` is what was launched: instance type, zone and capacity type. In a reservation it has that one's labels as
    well (A-28): of those that hold the type there, the first that the claim allows.
    """
    instance_type, zone, capacity_type = place
    single = {}
    for label, requirement in found.requirements.without(*labels.RESERVATION_KEYS).items():
        value = _one_value(requirement.intersect(requirements.allowed(label)), label)
        if value is not None:
            single[label] = value
    held = (
        offering.reservation_labels
        for offering in found.offerings
        if (offering.zone, offering.capacity_type) == (zone, capacity_type)
        and all(requirements.allowed(key).allows(value) for key, value in offering.reservation_labels.items())
    )
    return {
        **single,
        **next(held, {}),
        labels.INSTANCE_TYPE: instance_type,
        labels.ZONE: zone,
        labels.CAPACITY_TYPE: capacity_type,
    }


def _one_value(allowed: Requirement, label: str) -> str | None:
    if allowed.complement or not allowed.values:
        return None
    if len(allowed.values) == 1:
        return next(iter(allowed.values))
    if label not in USUAL:
        return None
    return USUAL[label] if USUAL[label] in allowed.values else min(allowed.values)
