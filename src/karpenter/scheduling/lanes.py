"""Lanes: a pool with its open label keys decided, so that any two pods that a lane admits can share a node of it.

A pool may leave a label open (`team Exists`, `team In [a, b]`, a type that comes with two operating systems). Pods that
want different values must not meet on one node, so the pool is split into one lane for each value that matters. Zones
and capacity types are not labels in this sense: they are axes of the price table.
Source: spec v1alpha5 §1.5 (API-27, API-28).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from typing import Final

from karpenter.model.instancetype import InstanceType
from karpenter.model.requirements import Requirement, Requirements
from karpenter.scheduling.catalog import PLACE_KEYS, Bools, TypeTable, table_of
from karpenter.scheduling.reservations import NOT_RESERVED, only_in, split
from karpenter.scheduling.snapshot import PoolView

MOST_LANES: Final = 64
"""Above this many combinations of open values, one lane for each set of requirements has to do."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One way to open nodes of a pool."""

    view: PoolView
    table: TypeTable
    requirements: Requirements
    """The pool's own with the open keys decided."""
    tier: int
    """Position of the pool's weight among all weights, the heaviest first."""
    reservation: str | None = None
    """Id of the capacity reservation that its machines are launched into; None for none (S-54)."""

    @property
    def stated(self) -> Requirements:
        """What every claim of the lane says: the pool's requirements, its open keys still open, and the reservation."""
        own = self.view.pool.node_requirements()
        return own if self.reservation is None else own.intersect(only_in(self.reservation))

    @property
    def reserved_count(self) -> int:
        """How many machines its reservation holds as far as the pool knows; 0 without one."""
        offerings = (offering for found in self.table.types for offering in found.offerings)
        return max((offering.reservation_capacity or 0 for offering in offerings), default=0)

    def apart_from(self, other: Lane) -> Requirement:
        """Return what a machine of this lane has to meet so that it is none of another of the pool."""
        key = next(key for key, value in self.requirements.items() if value != other.requirements.get(key))
        values = other.requirements[key].values if key in other.requirements else ()
        return Requirement.of(key, "NotIn", values) if values else Requirement.of(key, "Exists")


def can_launch(view: PoolView) -> bool:
    """Return whether the pool takes part in opening nodes: ready, with types, and not one of a fixed size (S-65)."""
    return view.unready is None and view.pool.replicas is None and bool(view.instance_types)


def lanes_of(
    pools: Iterable[PoolView], demands: Sequence[Requirements], *, well_known: frozenset[str], reservations: bool = True
) -> tuple[Lane, ...]:
    """Return the lanes of all pools that can launch, pool by pool; without `reservations` none of these."""
    launching = [view for view in pools if can_launch(view)]
    weights = sorted({view.pool.weight for view in launching}, reverse=True)
    lanes: list[Lane] = []
    for view in launching:
        tier = weights.index(view.pool.weight)
        for types, base, reservation in _kinds(view):
            if reservation is not None and not reservations:
                continue
            table = table_of(types)
            fitting = [demand for demand in demands if base.compatible(demand, well_known=well_known)]
            lanes.extend(Lane(view, table, decided, tier, reservation) for decided in _decided(base, table, fitting))
    return tuple(lanes)


def _kinds(view: PoolView) -> Iterable[tuple[tuple[InstanceType, ...], Requirements, str | None]]:
    """Yield what a pool can launch, under which requirements, in no reservation and in each that it may use (S-52)."""
    base, parts = view.pool.node_requirements(), split(view.instance_types)
    yield parts.ordinary, base.intersect((NOT_RESERVED,)) if parts.reserved else base, None
    for identity, types in parts.reserved.items():
        if not base.conflicts(Requirements(only_in(identity))):
            yield types, base.intersect(only_in(identity)), identity


def type_mask(lane: Lane, term: Requirements) -> Bools:
    """Return which types of the lane's table have label values that both the lane and the term allow (T)."""
    joint = (lane.requirements[key].intersect(term[key]) if key in lane.requirements else term[key] for key in term)
    return lane.table.mask_all(Requirements(joint))


def _decided(base: Requirements, table: TypeTable, demands: Sequence[Requirements]) -> Iterable[Requirements]:
    """Return the pool's requirements once for each way to decide its open keys."""
    asked: dict[str, list[Requirement]] = {}
    for demand in demands:
        for key, requirement in demand.items():
            if key not in PLACE_KEYS and requirement not in asked.setdefault(key, []):
                asked[key].append(requirement)
    choices = {
        key: _atoms(base.allowed(key), requirements, may_be_absent=key not in base or base[key].allows_absence)
        for key, requirements in sorted(asked.items())
        if _is_open(base.allowed(key), table, requirements)
    }
    combinations: Iterable[tuple[Requirement, ...]] = product(*choices.values())
    if prod(map(len, choices.values())) > MOST_LANES:
        combinations = dict.fromkeys(tuple(_first_pleasing(choices, demand)) for demand in demands)
    return tuple(base.intersect(chosen) for chosen in combinations)


def _first_pleasing(choices: Mapping[str, Sequence[Requirement]], demand: Requirements) -> Iterable[Requirement]:
    for key, values in choices.items():
        yield next((value for value in values if value.overlaps(demand.allowed(key))), values[0])


def _is_open(allowed: Requirement, table: TypeTable, asked: Sequence[Requirement]) -> bool:
    """Return whether two pods of the pool could ask for different values of one label."""
    if len(asked) == 1 or table.is_decided(allowed.key):
        return False
    joint = reduce(Requirement.intersect, asked, allowed)
    if joint.operator == "DoesNotExist" and any(not requirement.allows_absence for requirement in asked):
        return True
    return any(value.overlaps(allowed) and not value.overlaps(joint) for value in table.values(allowed.key))


def _atoms(allowed: Requirement, asked: Sequence[Requirement], *, may_be_absent: bool) -> tuple[Requirement, ...]:
    """Return the label values worth a lane of their own: of those that please the same pods, one stands for all."""
    key = allowed.key
    sets = (*asked, allowed)
    named = {value for requirement in sets for value in requirement.values}
    bounds = {requirement.gt + 1 for requirement in sets if requirement.gt is not None}
    bounds |= {requirement.lt - 1 for requirement in sets if requirement.lt is not None}
    named |= {str(bound) for bound in bounds}
    named.add(next(str(number) for number in range(len(named) + 1) if str(number) not in named))
    candidates = [Requirement.of(key, "In", (value,)) for value in sorted(named) if allowed.allows(value)]
    if may_be_absent:
        candidates.append(Requirement.of(key, "DoesNotExist"))
    pleased: dict[tuple[bool, ...], Requirement] = {}
    for candidate in candidates:
        pleased.setdefault(tuple(candidate.overlaps(requirement) for requirement in asked), candidate)
    return tuple(pleased.values()) or (allowed,)
