"""Which broken nodes are replaced, and when a pool has too many of them to dare. Pure.

Source: spec v1 §3.10 (D-35, D-36), vector V33, case REPAIR.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from karpenter.model.instance import RepairPolicy
from karpenter.model.meta import find_condition
from karpenter.model.units import PoolKey, UnixSeconds
from karpenter.scheduling.snapshot import NodeView, Snapshot

MOST_UNHEALTHY: Final = 0.2
"""Share of a pool, rounded up, beyond which the fault is taken to be elsewhere."""


@dataclass(frozen=True, slots=True)
class Sickness:
    """A node condition that means that the machine is broken."""

    view: NodeView
    condition: str
    due_at: UnixSeconds
    """When it has lasted for long enough."""


@dataclass(frozen=True, slots=True)
class Checkup:
    """What the nodes' conditions call for."""

    repair: tuple[Sickness, ...] = ()
    """To be replaced now."""
    blocked: tuple[tuple[Sickness, str], ...] = ()
    """Due, but left alone, and why."""
    next_due: UnixSeconds | None = None
    """When the next one is due; None when no other node is sick."""


def check_up(snapshot: Snapshot, policies: Sequence[RepairPolicy]) -> Checkup:
    """Return which nodes to replace now. A pool with too many sick nodes keeps them all.

    Nodes of no pool are judged together with the whole cluster.
    """
    ours = [view for view in snapshot.nodes if view.node is not None and view.claim is not None and view.is_initialized]
    sick = [found for view in ours if (found := sickness(view, policies)) is not None]
    due = [one for one in sick if one.due_at <= snapshot.taken_at and not one.view.is_deleting]
    too_many = _too_many(ours, sick)
    later = [one.due_at for one in sick if one.due_at > snapshot.taken_at]
    return Checkup(
        repair=tuple(one for one in due if too_many.get(one.view.pool) is None),
        blocked=tuple((one, why) for one in due if (why := too_many.get(one.view.pool)) is not None),
        next_due=min(later, default=None),
    )


def sickness(view: NodeView, policies: Sequence[RepairPolicy]) -> Sickness | None:
    """Return the condition for which a node is to be replaced first; None for a healthy node."""
    found: list[Sickness] = []
    for policy in policies:
        condition = find_condition(view.node.status.conditions, policy.condition_type) if view.node else None
        if condition is None or condition.status != policy.condition_status or condition.since is None:
            continue
        found.append(Sickness(view, policy.condition_type, UnixSeconds(condition.since + policy.toleration_s)))
    return min(found, key=lambda one: one.due_at, default=None)


def _too_many(ours: Sequence[NodeView], sick: Sequence[Sickness]) -> dict[PoolKey | None, str]:
    """Return, by pool, why none of its nodes is replaced."""
    members = _by_pool(ours)
    ill = _by_pool(one.view for one in sick)
    reasons: dict[PoolKey | None, str] = {}
    for pool, views in members.items():
        count, allowed = len(ill[pool]), math.ceil(MOST_UNHEALTHY * len(views))
        if count > allowed:
            whose = str(pool) if pool else "the cluster"
            reasons[pool] = f"{count} nodes of {whose} are unhealthy, more than {allowed} ({MOST_UNHEALTHY:.0%})"
    return reasons


def _by_pool(views: Iterable[NodeView]) -> defaultdict[PoolKey | None, list[NodeView]]:
    """Return the views by pool; those of no pool stand for the whole cluster (D-36)."""
    everyone = list(views)
    grouped: defaultdict[PoolKey | None, list[NodeView]] = defaultdict(list)
    for view in everyone:
        if view.pool is not None:
            grouped[view.pool].append(view)
    grouped[None] = everyone
    return grouped
