"""Capacity reservations as instance types of their own: what a pool can launch, told apart by who holds it.

A reservation holds so many machines of one type in one zone, paid for already. Types without them and the type of each
reservation go into lanes of their own, so that a planned machine is of one reservation or of none, and counts are kept
exactly within a batch. Source: spec v1 S-52, S-54; A-28.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from karpenter.model import labels
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.requirements import Requirement, Requirements

AMOUNT: Final = "capacity-reservation/"
"""Begins the name of the amount that counts what a reservation still holds."""
NOT_RESERVED: Final = Requirement.of(labels.CAPACITY_TYPE, "NotIn", (labels.RESERVED,))
_MOST_REMEMBERED: Final = 64


@dataclass(frozen=True, slots=True)
class Split:
    """Types of a pool, apart by reservation."""

    ordinary: tuple[InstanceType, ...]
    """All types, without what is reserved."""
    reserved: Mapping[str, tuple[InstanceType, ...]]
    """For each reservation that holds machines, by id, the types that it holds, with nothing else on offer."""


_splits: dict[int, tuple[tuple[InstanceType, ...], Split]] = {}


def split(types: tuple[InstanceType, ...]) -> Split:
    """Return the types apart: the split made before when it is the same tuple, so that tables by identity last."""
    known = _splits.get(id(types))
    if known is None or known[0] is not types:
        if len(_splits) >= _MOST_REMEMBERED:
            del _splits[next(iter(_splits))]
        known = _splits[id(types)] = (types, _split(types))
    return known[1]


def only_in(identity: str) -> tuple[Requirement, ...]:
    """Return what a claim says that is launched into a reservation (S-54)."""
    return (
        Requirement.of(labels.CAPACITY_TYPE, "In", (labels.RESERVED,)),
        Requirement.of(labels.RESERVATION_ID, "In", (identity,)),
    )


def _split(types: tuple[InstanceType, ...]) -> Split:
    reserved: dict[str, list[InstanceType]] = {}
    ordinary = []
    for found in types:
        held = [offering for offering in found.offerings if offering.reservation_id is not None]
        for offering in held:
            if offering.available and offering.reservation_capacity:
                reserved.setdefault(offering.reservation_id or "", []).append(_held(found, offering))
        ordinary.append(_without(found) if held else found)
    if not any(one is not found for one, found in zip(ordinary, types, strict=True)):
        return Split(types, {})
    return Split(tuple(ordinary), {identity: tuple(reserved[identity]) for identity in sorted(reserved)})


def _without(found: InstanceType) -> InstanceType:
    offerings = tuple(offering for offering in found.offerings if offering.reservation_id is None)
    absent = (Requirement.of(key, "DoesNotExist") for key in sorted(labels.RESERVATION_KEYS))
    return replace(found, offerings=offerings, requirements=_with(found.requirements, absent))


def _held(found: InstanceType, offering: Offering) -> InstanceType:
    values = (Requirement.of(key, "In", (value,)) for key, value in offering.reservation_labels.items())
    return replace(found, offerings=(offering,), requirements=_with(found.requirements, values))


def _with(requirements: Requirements, others: Iterable[Requirement]) -> Requirements:
    return requirements.without(*labels.RESERVATION_KEYS).intersect(others)
