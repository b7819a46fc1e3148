"""Changes to a pool: allow a value, add a label, raise a limit, ask for fewer values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from karpenter.model.nodepool import NodePool, PoolTemplate
from karpenter.model.requirements import Requirement
from karpenter.model.units import PoolKey
from karpenter.scheduling.amounts import shown
from karpenter.scheduling.remedies.change import Candidate, Change, Rank, World


def allow(key: PoolKey, now: Requirement, value: str) -> Candidate:
    """Return the change of a requirement by which the pool allows one more value."""
    wider = widened(now, value)
    message = f"allow {now.key} {value} in {key} (now {_said(now)})"
    change = Change("pool", "AllowValue", now.key, _said(now), _said(wider), message, key)
    return Candidate(change, Rank.POOL, lambda world: world.with_pool(key, lambda pool: _requiring(pool, wider)))


def widened(requirement: Requirement, value: str) -> Requirement:
    """Return the requirement that allows what it allowed, and this value: by its list, or by moving a bound."""
    if not requirement.complement:
        return replace(requirement, values=requirement.values | {value}, must_exist=False)
    kept = replace(requirement, values=requirement.values - {value})
    if kept.allows(value):
        return kept
    number = int(value) if value.isdecimal() else None
    if number is None:
        return replace(kept, gt=None, lt=None)
    return replace(
        kept,
        gt=None if kept.gt is None else min(kept.gt, number - 1),
        lt=None if kept.lt is None else max(kept.lt, number + 1),
    )


def add_label(key: PoolKey, label: str, value: str) -> Candidate:
    """Return the change by which all nodes of the pool carry a label."""
    change = Change("pool", "AddLabel", label, "", value, f"add the label {label}={value} to {key}", key)

    def labelled(pool: NodePool) -> NodePool:
        return _with_template(pool, replace(pool.template, labels={**pool.template.labels, label: value}))

    return Candidate(change, Rank.POOL, lambda world: world.with_pool(key, labelled))


def raise_limit(pool: NodePool, resource: str, amount: int) -> Candidate:
    """Return the change of one limit."""
    before, after = shown(resource, pool.limits[resource]), shown(resource, amount)
    message = f"raise the {resource} limit of {pool.key} from {before} to {after}"
    change = Change("pool", "RaiseLimit", resource, before, after, message, pool.key)
    return Candidate(change, Rank.POOL, lambda world: with_limits(world, pool.key, {resource: amount}))


def with_limits(world: World, key: PoolKey, amounts: Mapping[str, int | None]) -> World:
    """Return the world with some limits of a pool at other amounts; None takes one away."""

    def limited(pool: NodePool) -> NodePool:
        merged = {**pool.limits, **amounts}
        return replace(pool, limits={name: amount for name, amount in merged.items() if amount is not None})

    return world.with_pool(key, limited)


def lower_min_values(key: PoolKey, now: Requirement, least: int) -> Candidate:
    """Return the change by which the pool asks for fewer different values of a label."""
    lower = replace(now, min_values=least)
    message = f"lower minValues of {now.key} in {key} from {now.min_values} to {least}"
    change = Change("pool", "LowerMinValues", now.key, str(now.min_values), str(least), message, key)
    return Candidate(change, Rank.POOL, lambda world: world.with_pool(key, lambda pool: _requiring(pool, lower)))


def _requiring(pool: NodePool, requirement: Requirement) -> NodePool:
    """Return the pool with one of its requirements replaced."""
    others = pool.template.requirements.without(requirement.key)
    return _with_template(pool, replace(pool.template, requirements=others.intersect((requirement,))))


def _with_template(pool: NodePool, template: PoolTemplate) -> NodePool:
    return replace(pool, template=template)


def _said(requirement: Requirement) -> str:
    """Return a requirement without its key: `In [a, b]`, `Lt [33]`."""
    return str(requirement).removeprefix(f"{requirement.key} ")
