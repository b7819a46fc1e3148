"""Nodes go when their life time is over: replaced first, and as many at once as the budgets allow. Pure.

Source: spec v1alpha5 §5.3 (DEP-20 … DEP-23), spec v1 L-9 (the forceful mode), case EXPIRE-HERD.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karpenter.disruption.candidates import Candidate, Candidates
from karpenter.disruption.options import DEFAULT_OPTIONS, DisruptionOptions
from karpenter.disruption.relocation import relocate
from karpenter.disruption.rolling import Due, replacing, roll
from karpenter.disruption.verdict import Command, Verdict
from karpenter.model.nodepool import NodePool
from karpenter.model.units import UnixSeconds
from karpenter.scheduling import StopCheck, never
from karpenter.scheduling.snapshot import NodeView, Snapshot

LEAD_S: Final = 900.0
"""So long before a hard deadline a node is taken whatever stands in the way: to boot a replacement, and to drain."""


def expiration(snapshot: Snapshot, options: DisruptionOptions = DEFAULT_OPTIONS, *, stop: StopCheck = never) -> Verdict:
    """Return a command for expired nodes, the longest expired first, and why others stay."""
    alone = _standalone(snapshot)
    if alone:
        # No pool has budgets for them or could replace them: they drain, and their pods look for another place.
        return Verdict((Command("Expired", alone, is_forceful=True),))
    expired = [
        (candidate, at)
        for candidate in Candidates(snapshot).all()
        if (at := expires_at(candidate.view, candidate.pool)) is not None and at <= snapshot.taken_at
    ]
    if not expired:
        return Verdict()
    if options.expiration.mode == "forceful":
        return _all_at_once([candidate for candidate, _ in expired if not _is_paused(snapshot, candidate)])
    late = _latest(snapshot, expired, options)
    if late is not None:
        return late
    due = (Due(candidate, at, "its life time is over") for candidate, at in expired)
    return roll(snapshot, due, "Expired", options=options, stop=stop)


def moments(snapshot: Snapshot, options: DisruptionOptions) -> Iterator[UnixSeconds]:
    """Yield when time alone makes a difference: lives end, and hard deadlines come close."""
    pools = {view.pool.key: view.pool for view in snapshot.pools}
    for view in snapshot.nodes:
        at = expires_at(view, pools.get(view.pool) if view.pool else None)
        if at is None:
            continue
        yield at
        if options.expiration.deadline_s is not None:
            yield UnixSeconds(at + options.expiration.deadline_s - LEAD_S)


def _standalone(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the expired nodes of claims that users made without a pool, by name."""
    mine = [view for view in snapshot.nodes if view.claim is not None and view.claim.pool is None]
    return tuple(
        view.name
        for view in mine
        if not view.is_deleting
        and view.node is not None
        and (at := expires_at(view, None)) is not None
        and at <= snapshot.taken_at
    )


def expires_at(view: NodeView, pool: NodePool | None) -> UnixSeconds | None:
    """Return when the life time of a node ends; None when it has no end.

    It counts from when the claim or the node was created, whichever was first (DEP-20).
    """
    created, life_s = created_at(view), _life_s(view, pool)
    return UnixSeconds(created + life_s) if life_s is not None and created is not None else None


def lifetime_left(view: NodeView, pool: NodePool | None, now: UnixSeconds) -> float:
    """Return the share of its life that a node has before it, 0 to 1; 1 for one that never expires (D-4)."""
    created, life_s = created_at(view), _life_s(view, pool)
    if created is None or life_s is None:
        return 1.0
    return min(max((created + life_s - now) / life_s, 0.0), 1.0) if life_s > 0 else 0.0


def created_at(view: NodeView) -> UnixSeconds | None:
    """Return when the claim or the node was created, whichever was first; None when nobody knows."""
    created = [one.metadata.created_at for one in (view.claim, view.node) if one is not None]
    return min((moment for moment in created if moment is not None), default=None)


def _life_s(view: NodeView, pool: NodePool | None) -> float | None:
    pools_s = pool.template.expire_after_s if pool else None
    own_s = view.claim.expire_after_s if view.claim else pools_s
    return pools_s if pool and pool.disruption.expires_by_pool else own_s


def _all_at_once(candidates: list[Candidate]) -> Verdict:
    if not candidates:
        return Verdict()
    names = tuple(sorted(candidate.name for candidate in candidates))
    return Verdict((Command("Expired", names, is_forceful=True),))


def _is_paused(snapshot: Snapshot, candidate: Candidate) -> bool:
    return any(view.is_paused for view in snapshot.pools if view.pool.key == candidate.pool.key)


def _latest(
    snapshot: Snapshot, expired: list[tuple[Candidate, UnixSeconds]], options: DisruptionOptions
) -> Verdict | None:
    """Return a command for the node whose deadline comes first, if it is close; its pods get places if they can."""
    deadline_s = options.expiration.deadline_s
    if deadline_s is None:
        return None
    deadlines = [(UnixSeconds(at + deadline_s), candidate) for candidate, at in expired]
    close = [
        (deadline, candidate)
        for deadline, candidate in deadlines
        if deadline - LEAD_S <= snapshot.taken_at and not _is_paused(snapshot, candidate)
    ]
    if not close:
        return None
    deadline, candidate = min(close, key=lambda one: (one[0], one[1].name))
    relocation = relocate(snapshot, frozenset({candidate.name}), options.solve)
    return Verdict((replacing(candidate, "Expired", relocation, deadline=deadline),))
