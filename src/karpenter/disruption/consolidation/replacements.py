"""Replacements that cannot make a command dearer than promised, whichever of their types the cloud returns. Pure.

Source: spec v1 D-15, D-16; spec v1alpha5 DEP-55, DEP-56, DEP-59 (vectors TV-115 … TV-119); case SPOT15.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from karpenter.disruption.consolidation.moves import TINY
from karpenter.model import labels
from karpenter.model.instancetype import InstanceType
from karpenter.model.requirements import Requirement
from karpenter.model.units import PoolKey
from karpenter.scheduling import ClaimPlan
from karpenter.scheduling.rails.lists import expected_of
from karpenter.scheduling.snapshot import PoolView


def open_in(pools: Iterable[PoolView]) -> Mapping[PoolKey, OpenOffers]:
    """Return what each pool can get now."""
    return {view.pool.key: OpenOffers(view.instance_types) for view in pools}


def capped(
    plans: Sequence[ClaimPlan], open_now: Mapping[PoolKey, OpenOffers], most: float
) -> tuple[ClaimPlan, ...] | None:
    """Return the plans with those types only that together stay below a price; None when that leaves one without.

    Each plan may cost its share of `most`. What is planned as spot is asked for as spot: were on-demand left open, it
    might come at a price that nobody compared.
    """
    planned = sum(plan.price for plan in plans)
    if planned >= most - TINY:
        return None
    found: list[ClaimPlan] = []
    for plan in plans:
        cap = plan.price * most / planned if planned else most
        kept = _below(plan, open_now[plan.pool], cap)
        if kept is None:
            return None
        found.append(kept)
    return tuple(found)


def shortest(plan: ClaimPlan, types: int, open_now: Mapping[PoolKey, OpenOffers]) -> ClaimPlan:
    """Return the plan with so many of its types only, the cheapest."""
    kept = _with_types(plan, plan.instance_types[:types])
    return _priced(kept, open_now[plan.pool].of(kept))


def _below(plan: ClaimPlan, open_now: OpenOffers, cap: float) -> ClaimPlan | None:
    asked = plan
    if plan.capacity_type == labels.SPOT:
        asked = _narrowed(plan, Requirement.of(labels.CAPACITY_TYPE, "In", (labels.SPOT,)))
    for pinned in (asked, _narrowed(asked, Requirement.of(labels.ZONE, "In", (plan.zone,)))):
        prices = open_now.of(pinned)
        kept = tuple(name for name in pinned.instance_types if max(prices.get(name, (cap,))) < cap - TINY)
        if kept and kept[0] == plan.instance_type:
            narrowed = _with_types(pinned, kept)
            least = narrowed.requirements.allowed(labels.INSTANCE_TYPE).min_values
            if least is None or len(kept) >= least:
                return _priced(narrowed, prices)
    return None


def _priced(plan: ClaimPlan, prices: Mapping[str, Sequence[float]]) -> ClaimPlan:
    """Return the plan with what it may cost now that it lists fewer types."""
    offered = np.sort([price for name in plan.instance_types for price in prices[name]])
    expected = expected_of(offered, is_spot=plan.capacity_type == labels.SPOT)
    return replace(plan, expected_price=expected, worst_price=float(offered[-1]))


class OpenOffers:
    """Prices of the offerings that plans of one pool leave open; what was asked once is remembered."""

    def __init__(self, types: Iterable[InstanceType]) -> None:
        self._types = tuple(types)
        self._known: dict[tuple[Requirement, Requirement], dict[str, list[float]]] = {}

    def of(self, plan: ClaimPlan) -> Mapping[str, Sequence[float]]:
        """Return the prices by type; types without an offering are left out."""
        zone, kind = (plan.requirements.allowed(key) for key in (labels.ZONE, labels.CAPACITY_TYPE))
        found = self._known.get((zone, kind))
        if found is None:
            available = ((one, offering) for one in self._types for offering in one.offerings if offering.available)
            found = self._known[zone, kind] = {}
            for one, offering in available:
                if zone.allows(offering.zone) and kind.allows(offering.capacity_type):
                    found.setdefault(one.name, []).append(offering.price)
        return found


def _narrowed(plan: ClaimPlan, more: Requirement) -> ClaimPlan:
    return replace(plan, requirements=plan.requirements.intersect((more,)))


def _with_types(plan: ClaimPlan, types: tuple[str, ...]) -> ClaimPlan:
    return replace(_narrowed(plan, Requirement.of(labels.INSTANCE_TYPE, "In", types)), instance_types=types)
