"""Whether a command still makes sense, looked at again when its replacements are ready. Pure.

Source: issue 6, points 3 and 6; spec v1 D-17, D-31; case DND-RACE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from karpenter.disruption.budgets import budget_use
from karpenter.disruption.candidates import Candidates
from karpenter.disruption.emptiness import is_empty
from karpenter.disruption.expiration import expires_at
from karpenter.disruption.relocation import places_now
from karpenter.disruption.verdict import BlockCode
from karpenter.model.nodeclaim import DRIFTED
from karpenter.model.nodepool import DisruptionReason, NodePool
from karpenter.model.pods import is_reschedulable
from karpenter.scheduling import Options
from karpenter.scheduling.snapshot import NodeView, Snapshot

_PASSING: Final[frozenset[BlockCode]] = frozenset({"PodDisruptionBudget"})
"""What may be over in a minute: a budget allows nothing while one of its pods restarts."""


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a command is not carried on now."""

    message: str
    is_final: bool
    """Whether to give the command up; otherwise it waits."""


def objection(snapshot: Snapshot, nodes: Iterable[str], reason: DisruptionReason) -> Objection | None:
    """Return the first thing about the nodes themselves that speaks against disrupting them; None when nothing does.

    Whoever asks has tainted them, and read pods and budgets afresh.
    """
    views = _views(snapshot, nodes)
    return (
        _without_cause(snapshot, views, reason)
        or _blocked(snapshot, views, reason)
        or _over_budget(snapshot, views, reason)
    )


def homeless(
    snapshot: Snapshot, nodes: Iterable[str], reason: DisruptionReason, *, options: Options
) -> Objection | None:
    """Return that some pods of the leaving nodes have no place yet that is ready for them; None when all have one."""
    pods = [pod for view in _views(snapshot, nodes) for pod in view.pods if is_reschedulable(pod)]
    places = places_now(snapshot, pods, options)
    left = [pod for pod in pods if pod.metadata.key not in places]
    if not left:
        return None
    # What consolidation wins by fitting things in is lost when they do not fit; the others have to go anyway.
    message = f"{len(left)} pods, {left[0].metadata.key} among them, find no place that is ready for them"
    return Objection(message, is_final=reason == "Underutilized")


def _views(snapshot: Snapshot, nodes: Iterable[str]) -> list[NodeView]:
    wanted = frozenset(nodes)
    return [view for view in snapshot.nodes if view.name in wanted]


def _without_cause(snapshot: Snapshot, views: Sequence[NodeView], reason: DisruptionReason) -> Objection | None:
    """A node that is no longer empty, drifted or expired stays."""
    pools = {view.pool.key: view.pool for view in snapshot.pools}
    for view in views:
        pool = pools.get(view.pool) if view.pool else None
        if pool is None:
            return Objection(f"the pool of node {view.name} is gone", is_final=True)
        if not _has_cause(snapshot, view, pool, reason=reason):
            return Objection(f"node {view.name} is not {reason.lower()} any more", is_final=True)
    return None


def _has_cause(snapshot: Snapshot, view: NodeView, pool: NodePool, *, reason: DisruptionReason) -> bool:
    match reason:
        case "Empty":
            return is_empty(view)
        case "Drifted":
            return view.claim is not None and view.claim.is_true(DRIFTED)
        case "Expired":
            at = expires_at(view, pool)
            return at is not None and at <= snapshot.taken_at
        case "Underutilized":
            return True


def _blocked(snapshot: Snapshot, views: Sequence[NodeView], reason: DisruptionReason) -> Objection | None:
    candidates = Candidates(snapshot)
    found = [blocked for view in views if (blocked := candidates.obstacle(view, reason)) is not None]
    for blocked in sorted(found, key=lambda one: one.code in _PASSING):
        return Objection(f"node {blocked.node}: {blocked.message}", is_final=blocked.code not in _PASSING)
    return None


def _over_budget(snapshot: Snapshot, views: Sequence[NodeView], reason: DisruptionReason) -> Objection | None:
    """Judge by what uses the budget up already, which the nodes themselves do once they count as leaving."""
    pools = {view.pool.key: view.pool for view in snapshot.pools}
    for key in sorted({view.pool for view in views if view.pool is not None}):
        limit, used = budget_use(pools[key], reason, views=snapshot.nodes, now=snapshot.taken_at)
        if used > limit:
            return Objection(f"the budget of {key} for {reason} lets only {limit} nodes go now", is_final=limit == 0)
    return None
