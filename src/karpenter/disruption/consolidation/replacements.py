"""Replacements that cannot make a command dearer than promised, whichever of their types the cloud returns. Pure.

Source: spec v1 D-15, D-16; spec v1alpha5 DEP-55, DEP-56, DEP-59 (vectors TV-115 … TV-119); case SPOT15.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from karpenter.model import labels
from karpenter.model.instancetype import InstanceType
from karpenter.model.requirements import Requirement
from karpenter.model.units import PoolKey
from karpenter.scheduling import ClaimPlan
from karpenter.scheduling.snapshot import PoolView


def capped(plans: Sequence[ClaimPlan], pools: Mapping[PoolKey, PoolView], most: float) -> tuple[ClaimPlan, ...] | None:
    """Return the plans with those types only that together stay below a price; None when that leaves one without.

    Each plan may cost its share of `most`. What is planned as spot is asked for as spot: were on-demand left open, it
    might come at a price that nobody compared.
    """
    planned = sum(plan.price for plan in plans)
    if planned >= most:
        return None
    found: list[ClaimPlan] = []
    for plan in plans:
        cap = plan.price * most / planned if planned else most
        kept = _below(plan, pools[plan.pool].instance_types, cap)
        if kept is None:
            return None
        found.append(kept)
    return tuple(found)


def shortest(plan: ClaimPlan, types: int, pool: PoolView) -> ClaimPlan:
    """Return the plan with so many of its types only, the cheapest."""
    kept = _with_types(plan, plan.instance_types[:types])
    named = {one.name: one for one in pool.instance_types}
    return replace(kept, worst_price=max(_worst(kept, named[name]) for name in kept.instance_types))


def _below(plan: ClaimPlan, types: Iterable[InstanceType], cap: float) -> ClaimPlan | None:
    named = {one.name: one for one in types}
    asked = plan
    if plan.capacity_type == labels.SPOT:
        asked = _narrowed(plan, Requirement.of(labels.CAPACITY_TYPE, "In", (labels.SPOT,)))
    for pinned in (asked, _narrowed(asked, Requirement.of(labels.ZONE, "In", (plan.zone,)))):
        worst = {name: _worst(pinned, named[name]) for name in pinned.instance_types if name in named}
        kept = tuple(name for name in pinned.instance_types if worst.get(name, cap) < cap)
        if kept and kept[0] == plan.instance_type:
            narrowed = _with_types(pinned, kept)
            least = narrowed.requirements.allowed(labels.INSTANCE_TYPE).min_values
            if least is None or len(kept) >= least:
                return replace(narrowed, worst_price=max(worst[name] for name in kept))
    return None


def _worst(plan: ClaimPlan, kind: InstanceType) -> float:
    """Return the price of the dearest offering that the plan leaves open; infinite when there is none."""
    zone, capacity_type = (plan.requirements.allowed(key) for key in (labels.ZONE, labels.CAPACITY_TYPE))
    prices = [
        offering.price
        for offering in kind.offerings
        if offering.available and zone.allows(offering.zone) and capacity_type.allows(offering.capacity_type)
    ]
    return max(prices, default=float("inf"))


def _narrowed(plan: ClaimPlan, more: Requirement) -> ClaimPlan:
    return replace(plan, requirements=plan.requirements.intersect((more,)))


def _with_types(plan: ClaimPlan, types: tuple[str, ...]) -> ClaimPlan:
    return replace(_narrowed(plan, Requirement.of(labels.INSTANCE_TYPE, "In", types)), instance_types=types)
