"""Nodes without pods go once they have been empty for long enough. Pure.

Source: spec v1alpha5 §5.5 (DEP-40 … DEP-42) and §1.2; spec v1 D-10.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from karpenter.disruption.budgets import allowance
from karpenter.disruption.candidates import Candidate, Candidates
from karpenter.disruption.options import DEFAULT_OPTIONS, DisruptionOptions
from karpenter.disruption.relocation import places_now
from karpenter.disruption.verdict import BlockCode, Blocked, Command, Verdict
from karpenter.model.nodepool import DisruptionReason
from karpenter.model.pods import is_reschedulable
from karpenter.model.units import PoolKey, UnixSeconds
from karpenter.scheduling import StopCheck, never
from karpenter.scheduling.snapshot import NodeView, Snapshot

_REASON: Final[DisruptionReason] = "Empty"


def is_empty(view: NodeView) -> bool:
    """Return whether no pod on the node would have to move: daemon, static and finished pods do not count."""
    return not any(is_reschedulable(pod) for pod in view.pods)


def emptiness(snapshot: Snapshot, options: DisruptionOptions = DEFAULT_OPTIONS, *, stop: StopCheck = never) -> Verdict:
    """Return the empty nodes that are due, as one command, and why other empty nodes stay."""
    candidates = Candidates(snapshot)
    due: list[Candidate] = []
    blocked: list[Blocked] = []
    for candidate in candidates.all():
        if candidate.pods:
            continue
        reason = candidates.obstacle(candidate.view, _REASON) or _not_due(candidate, snapshot.taken_at)
        if reason is None:
            due.append(candidate)
        else:
            blocked.append(reason)
    unneeded, needed = _unneeded(snapshot, due, options, stop=stop)
    chosen, over = _within_budgets(snapshot, unneeded)
    blocked.extend((*needed, *over))
    if not chosen:
        return Verdict(blocked=tuple(blocked))
    names = tuple(sorted(candidate.name for candidate in chosen))
    savings = sum(candidate.price for candidate in chosen)
    return Verdict((Command(_REASON, names, savings=savings),), tuple(blocked))


def _not_due(candidate: Candidate, now: UnixSeconds) -> Blocked | None:
    """Return why an empty node that nothing else keeps stays; None when it may go now, budgets apart."""
    view, pool = candidate.view, candidate.pool
    ttl_s = pool.disruption.empty_after_s
    if ttl_s is None:
        return _stays(view, "PolicyOff", f"{pool.key} does not say when empty nodes go")
    if view.empty_since is None:
        return _stays(view, "Timer", "it was not seen empty yet")
    due_at = UnixSeconds(view.empty_since + ttl_s)
    return _stays(view, "Timer", f"it has to be empty for {ttl_s:g} s first", until=due_at) if now < due_at else None


def _unneeded(
    snapshot: Snapshot, due: list[Candidate], options: DisruptionOptions, *, stop: StopCheck
) -> tuple[list[Candidate], list[Blocked]]:
    """Part the nodes that nobody needs from those that pods will come to.

    Those are pods that wait for a node just now, and the pods of leaving nodes, whose replacement this may be.
    """
    if not due or not snapshot.pending or stop():
        return due, []
    needed = set(places_now(snapshot, snapshot.pending, options.solve).values())
    expected = [
        _stays(one.view, "Nominated", "pods that look for a node fit here") for one in due if one.name in needed
    ]
    return [candidate for candidate in due if candidate.name not in needed], expected


def _within_budgets(snapshot: Snapshot, due: list[Candidate]) -> tuple[list[Candidate], list[Blocked]]:
    """Part what the pools' budgets let go now, the longest empty first, from the rest."""
    by_pool: defaultdict[PoolKey, list[Candidate]] = defaultdict(list)
    for candidate in sorted(due, key=lambda one: (one.view.empty_since or 0.0, one.name)):
        by_pool[candidate.pool.key].append(candidate)
    chosen: list[Candidate] = []
    over: list[Blocked] = []
    for key in sorted(by_pool):
        ordered = by_pool[key]
        allowed = allowance(ordered[0].pool, _REASON, views=snapshot.nodes, now=snapshot.taken_at)
        chosen.extend(ordered[:allowed])
        message = "the pool's budget for empty nodes is used up"
        over.extend(_stays(candidate.view, "Budget", message) for candidate in ordered[allowed:])
    return chosen, over


def _stays(view: NodeView, code: BlockCode, message: str, *, until: UnixSeconds | None = None) -> Blocked:
    return Blocked(view.name, code, message, view.empty_since, until, view.price, _REASON)
