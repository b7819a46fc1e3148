"""What one launch asks EC2 for: which types, in which zones, as which capacity type.

Source: spec v1alpha5 §3.5 (AWS-40 … AWS-44); spec v1 §4.7 for claims with `minValues`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from karpenter.model import labels
from karpenter.model.aws.allocatable import AMD_GPU, GAUDI, NEURON, NVIDIA_GPU
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.requirements import Requirements
from karpenter.model.resources import Resources, fits

MOST_TYPES: Final = 60
"""How many instance types one request may name (AWS-43)."""
FLEXIBLE_ENOUGH: Final = 5
"""Fewer types than this make a fallback to on-demand worth a warning (AWS-44)."""

_DEVICES: Final = frozenset({NVIDIA_GPU, AMD_GPU, NEURON, GAUDI})
_DEVICE_LABELS: Final = (labels.INSTANCE_GPU_COUNT, labels.INSTANCE_ACCELERATOR_COUNT)


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What to ask for. One request has one capacity type (AWS-44)."""

    capacity_type: str
    options: tuple[tuple[InstanceType, Offering], ...]
    """Every allowed available offering of that capacity type, cheapest first, ties by type and zone name."""
    fell_back: bool
    """Whether spot was allowed, and on-demand is asked for because no spot offering is left."""


def plan_launch(types: Iterable[InstanceType], requirements: Requirements, requests: Resources) -> LaunchPlan | None:
    """Return what to ask for; None when no type is compatible, large enough and on offer (AWS-40)."""
    chosen = [found for found in types if _fits(found, requirements, requests)]
    if not any(requirement.min_values for requirement in requirements.values()):
        chosen = without_dear_spot(without_exotic(chosen), requirements)
    chosen = sorted(chosen, key=lambda found: (_cheapest(found, requirements), found.name))[:MOST_TYPES]
    if not chosen:
        return None
    capacity_type = _capacity_type(chosen, requirements)
    options = [
        (found, offering)
        for found in chosen
        for offering in allowed_offerings(found, requirements)
        if offering.capacity_type == capacity_type
    ]
    options.sort(key=lambda option: (option[1].price, option[0].name, option[1].zone))
    spot_allowed = requirements.allowed(labels.CAPACITY_TYPE).allows(labels.SPOT)
    return LaunchPlan(capacity_type, tuple(options), fell_back=spot_allowed and capacity_type == labels.ON_DEMAND)


def allowed_offerings(found: InstanceType, requirements: Requirements) -> list[Offering]:
    """Return the available offerings of a type in the zones and capacity types that the requirements allow."""
    zones, capacity_types = requirements.allowed(labels.ZONE), requirements.allowed(labels.CAPACITY_TYPE)
    return [
        offering
        for offering in found.offerings
        if offering.available and zones.allows(offering.zone) and capacity_types.allows(offering.capacity_type)
    ]


def _fits(found: InstanceType, requirements: Requirements, requests: Resources) -> bool:
    # By name first: a claim lists its types, and comparing sixty requirement sets is cheaper than a thousand.
    return (
        requirements.allowed(labels.INSTANCE_TYPE).allows(found.name)
        and bool(allowed_offerings(found, requirements))
        and not found.requirements.conflicts(requirements)
        and fits(requests, found.allocatable)
    )


def without_exotic(types: Sequence[InstanceType]) -> list[InstanceType]:
    """Return the types that are neither bare metal nor carry devices; all when nothing else is left (AWS-41)."""
    ordinary = [found for found in types if not is_exotic(found)]
    return ordinary or list(types)


def is_exotic(found: InstanceType) -> bool:
    """Return whether a type is bare metal or has GPUs or other accelerators, fractions of one included."""
    is_metal = any(size.startswith("metal") for size in found.requirements.allowed(labels.INSTANCE_SIZE).values)
    has_devices = any(found.requirements.allowed(key).values for key in _DEVICE_LABELS)
    return is_metal or has_devices or any(found.capacity.get(resource) for resource in _DEVICES)


def without_dear_spot(types: Sequence[InstanceType], requirements: Requirements) -> list[InstanceType]:
    """Return the types whose cheapest offering is not dearer than the cheapest on-demand one (AWS-42).

    Applies when both spot and on-demand are allowed and on offer; otherwise the types come back as they are.
    """
    offered = [offering for found in types for offering in allowed_offerings(found, requirements)]
    on_demand = [offering.price for offering in offered if offering.capacity_type == labels.ON_DEMAND]
    if not on_demand or len(on_demand) == len(offered):
        return list(types)
    return [found for found in types if _cheapest(found, requirements) <= min(on_demand)]


def _cheapest(found: InstanceType, requirements: Requirements) -> float:
    return min(offering.price for offering in allowed_offerings(found, requirements))


def _capacity_type(types: Sequence[InstanceType], requirements: Requirements) -> str:
    offered = {offering.capacity_type for found in types for offering in allowed_offerings(found, requirements)}
    # A custom catalogue may name others; the order of preference is upstream's, then the alphabet's.
    return min(offered, key=lambda kind: ({labels.RESERVED: 0, labels.SPOT: 1}.get(kind, 2), kind))
