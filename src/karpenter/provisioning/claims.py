"""From a planned machine to the NodeClaim that asks for it. Pure.

Source: spec v1 §1.5, spec v1alpha5 SCH-28, API-28, LIF-3.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from karpenter.model import labels
from karpenter.model.meta import ObjectMeta
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import Resources, format_amount
from karpenter.scheduling.snapshot import PoolView
from karpenter.scheduling.solution import ClaimPlan

_DECIDED_BY_CLOUD: Final = labels.WELL_KNOWN | {labels.HOSTNAME}


def claim_for(
    plan: ClaimPlan,
    pool: NodePool,
    *,
    well_known: frozenset[str] = frozenset(),
    name: str = "",
    annotations: Mapping[str, str] = MappingProxyType({}),
) -> NodeClaim:
    """Return the claim to write for a plan: constraints, taints, owner, finalizer, hash.

    Without a `name` the server makes one up; `annotations` come on top of the pool's.

    The finalizer is there from the start: deletion then always finds the machine, wherever we crash.
    """
    return NodeClaim(
        metadata=ObjectMeta(
            name=name,
            generate_name="" if name else f"{pool.name}-",
            labels={**pool.template.labels, **chosen_labels(plan.requirements, well_known), **_owners_labels(pool)},
            annotations={
                **pool.template.annotations,
                **pool.hash_annotations,
                labels.MIN_VALUES_RELAXED: relaxed(plan),
                **annotations,
            },
            finalizers=(labels.TERMINATION_FINALIZER,),
            owner_references=(pool.owner_reference(),),
        ),
        requirements=plan.requirements,
        requests=plan.requests,
        node_class_ref=pool.template.node_class_ref,
        taints=pool.template.taints,
        startup_taints=pool.template.startup_taints,
        expire_after_s=pool.template.expire_after_s,
        termination_grace_period_s=pool.template.termination_grace_period_s,
        pool=pool.key,
    )


def _owners_labels(pool: NodePool) -> dict[str, str]:
    """Return what says whose the node is: its pool and, as of v1, its node class (spec v1 §1.2)."""
    key, name = pool.identity
    reference = pool.template.node_class_ref
    return {key: name, **(reference.labels if key == labels.NODEPOOL and reference is not None else {})}


def relaxed(plan: ClaimPlan) -> str:
    """Return whether the claim asks for fewer values than its pool, in the words of annotation and metric (S-45)."""
    return "true" if plan.min_values_relaxed else "false"


def chosen_labels(requirements: Requirements, well_known: frozenset[str]) -> dict[str, str]:
    """Return a value for every custom label the machine must carry; the cloud decides the well-known ones (API-28)."""
    chosen: dict[str, str] = {}
    for key, requirement in requirements.items():
        if key in _DECIDED_BY_CLOUD or key in well_known:
            continue
        value = _any_value(requirement)
        if value is not None:
            chosen[key] = value
    return chosen


def _any_value(requirement: Requirement) -> str | None:
    """Return the smallest admissible value; for open sets the smallest integer inside the bounds, None for absence."""
    if not requirement.complement:
        return min(requirement.values, default=None)
    candidate = 0 if requirement.gt is None else requirement.gt + 1
    if requirement.gt is None and requirement.lt is not None:
        candidate = min(0, requirement.lt - 1)
    while str(candidate) in requirement.values:
        candidate += 1
    return str(candidate)


def exceeded_limit(view: PoolView) -> str | None:
    """Return which limit the pool exceeds already, in words; None while it exceeds none (SCH-28: equal is allowed)."""
    over = _over(view.usage, view.pool.limits)
    if over is None:
        return None
    used, limit = (format_amount(over, amounts[over]) for amounts in (view.usage, view.pool.limits))
    return f"{view.pool.key} uses {used} {over}, its limit is {limit}"


def _over(usage: Resources, limits: Mapping[str, int]) -> str | None:
    return next((name for name in sorted(limits) if usage.get(name, 0) > limits[name]), None)
