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

    @property
    def lacks_choice(self) -> bool:
        """Whether it fell back with few types to choose from, which is worth a warning (AWS-44)."""
        return self.fell_back and len({found.name for found, _ in self.options}) < FLEXIBLE_ENOUGH


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A type that would do, with the offerings that the claim allows, which are available; at least one."""

    found: InstanceType
    offerings: tuple[Offering, ...]

    @property
    def cheapest(self) -> float:
        return min(offering.price for offering in self.offerings)


def plan_launch(types: Iterable[InstanceType], requirements: Requirements, requests: Resources) -> LaunchPlan | None:
    """Return what to ask for; None when no type is compatible, large enough and on offer (AWS-40)."""
    candidates = _reserved_alone(_candidates(types, requirements, requests))
    if not any(requirement.min_values for requirement in requirements.values()):
        candidates = _without_dear_spot(_without_exotic(candidates))
    candidates = sorted(candidates, key=lambda one: (one.cheapest, one.found.name))[:MOST_TYPES]
    if not candidates:
        return None
    offered = {offering.capacity_type for one in candidates for offering in one.offerings}
    # A custom catalogue may name others; the order of preference is upstream's, then the alphabet's.
    capacity_type = min(offered, key=lambda kind: ({labels.RESERVED: 0, labels.SPOT: 1}.get(kind, 2), kind))
    options = [
        (one.found, offering)
        for one in candidates
        for offering in one.offerings
        if offering.capacity_type == capacity_type
    ]
    options.sort(key=lambda option: (option[1].price, option[0].name, option[1].zone))
    options = _of_one_reservation_type(options)
    spot_allowed = requirements.allowed(labels.CAPACITY_TYPE).allows(labels.SPOT)
    return LaunchPlan(capacity_type, tuple(options), fell_back=spot_allowed and capacity_type == labels.ON_DEMAND)


def _reserved_alone(candidates: Sequence[_Candidate]) -> Sequence[_Candidate]:
    """Return what reservations hold, where they hold anything: it is paid for already (A-34, A-36)."""
    held = [
        _Candidate(one.found, tuple(offering for offering in one.offerings if offering.reservation_id is not None))
        for one in candidates
    ]
    return [one for one in held if one.offerings] or candidates


def _of_one_reservation_type(options: list[tuple[InstanceType, Offering]]) -> list[tuple[InstanceType, Offering]]:
    """Return the options that one request can name: reservations of one type, and of capacity blocks only one (A-34).

    The cheapest option decides. Nothing changes where nothing is reserved.
    """
    first = options[0][1]
    if first.reservation_id is None:
        return options
    if first.reservation_type == "capacity-block":
        return [option for option in options if option[1].reservation_id == first.reservation_id]
    return [option for option in options if option[1].reservation_type == first.reservation_type]


def _candidates(types: Iterable[InstanceType], requirements: Requirements, requests: Resources) -> list[_Candidate]:
    names = requirements.allowed(labels.INSTANCE_TYPE)
    candidates = []
    for found in types:
        # By name first: a claim lists its types, and comparing sixty requirement sets is cheaper than a thousand.
        if not names.allows(found.name) or not fits(requests, found.allocatable):
            continue
        offerings = tuple(
            offering for offering in found.offerings if offering.available and _is_allowed(offering, requirements)
        )
        if offerings and _is_compatible(found, requirements):
            candidates.append(_Candidate(found, offerings))
    return candidates


def _is_allowed(offering: Offering, requirements: Requirements) -> bool:
    """Return whether a claim may be launched there; into a reservation only while that holds machines (A-28)."""
    if offering.reservation_id is None:
        if any(not requirements.allowed(key).allows_absence for key in labels.RESERVATION_KEYS & requirements.keys()):
            return False
    elif not offering.reservation_capacity:
        return False
    place = {labels.ZONE: offering.zone, labels.CAPACITY_TYPE: offering.capacity_type, **offering.reservation_labels}
    return all(requirements.allowed(key).allows(value) for key, value in place.items())


def _is_compatible(found: InstanceType, requirements: Requirements) -> bool:
    """Return what `not found.requirements.conflicts(requirements)` would, several times faster for fixed labels."""
    for key, wanted in requirements.items():
        has = found.requirements.get(key)
        if has is None:
            continue
        if has.operator == "In":
            if not any(wanted.allows(value) for value in has.values):
                return False
        elif not has.overlaps(wanted):
            return False
    return True


def _without_exotic(candidates: Sequence[_Candidate]) -> Sequence[_Candidate]:
    """Leave out types that are bare metal or carry devices, unless nothing else is left (AWS-41)."""
    return [one for one in candidates if not is_exotic(one.found)] or candidates


def is_exotic(found: InstanceType) -> bool:
    """Return whether a type is bare metal or has GPUs or other accelerators, fractions of one included."""
    has_devices = any(found.requirements.allowed(key).values for key in _DEVICE_LABELS)
    return found.is_metal or has_devices or any(found.capacity.get(resource) for resource in _DEVICES)


def _without_dear_spot(candidates: Sequence[_Candidate]) -> Sequence[_Candidate]:
    """Leave out types whose cheapest offering is dearer than the cheapest on-demand one of all (AWS-42).

    Only where both spot and on-demand are allowed and on offer.
    """
    offered = [offering for one in candidates for offering in one.offerings]
    on_demand = [offering.price for offering in offered if offering.capacity_type == labels.ON_DEMAND]
    if not on_demand or len(on_demand) == len(offered):
        return candidates
    return [one for one in candidates if one.cheapest <= min(on_demand)]
