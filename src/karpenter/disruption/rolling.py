"""Nodes that have to go for their own sake are replaced one by one: what expiration and drift have in common. Pure.

Source: spec v1 D-18, spec v1alpha5 DEP-22, DEP-23, DEP-34.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from karpenter.disruption.budgets import allowance
from karpenter.disruption.candidates import Candidate, Candidates
from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.relocation import Relocation, relocate
from karpenter.disruption.verdict import Blocked, Command, Verdict
from karpenter.model.nodepool import DisruptionReason
from karpenter.model.units import PoolKey, UnixSeconds
from karpenter.scheduling import StopCheck
from karpenter.scheduling.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Due:
    """A node that should go."""

    candidate: Candidate
    since: UnixSeconds
    """Since when; the longest due goes first."""
    why: str
    """In words, as part of a sentence: `it expired`."""


def roll(
    snapshot: Snapshot,
    due: Iterable[Due],
    reason: DisruptionReason,
    *,
    options: DisruptionOptions,
    stop: StopCheck,
) -> Verdict:
    """Return a command for the due nodes without pods together, else for the first whose pods all find a place.

    A price is not asked for: several machines may replace one. Nodes behind the chosen one simply wait for their turn.
    """
    candidates = Candidates(snapshot)
    ordered = sorted(due, key=lambda one: (bool(one.candidate.pods), one.since, one.candidate.name))
    blocked: list[Blocked] = []
    free: list[Due] = []
    for one in ordered:
        obstacle = candidates.obstacle(one.candidate.view, reason)
        if obstacle is None:
            free.append(one)
        else:
            blocked.append(obstacle)
    allowed, over = _within_budgets(snapshot, free, reason)
    blocked.extend(over)
    empty = [one.candidate for one in allowed if not one.candidate.pods]
    if empty:
        names = tuple(sorted(candidate.name for candidate in empty))
        savings = sum(candidate.price for candidate in empty)
        return Verdict((Command(reason, names, savings=savings),), tuple(blocked))
    for one in allowed:
        if stop():
            break
        relocation = relocate(snapshot, frozenset({one.candidate.name}), options.solve, stop=stop)
        if relocation.is_possible:
            return Verdict((replacing(one.candidate, reason, relocation),), tuple(blocked))
        if relocation.complete:
            blocked.append(_stranded(one, reason, relocation))
    return Verdict(blocked=tuple(blocked))


def replacing(
    candidate: Candidate, reason: DisruptionReason, relocation: Relocation, *, deadline: UnixSeconds | None = None
) -> Command:
    """Return the command that moves one node's pods as planned."""
    return Command(
        reason,
        (candidate.name,),
        replacements=relocation.replacements,
        savings=candidate.price - relocation.price,
        placements=relocation.placements,
        deadline=deadline,
    )


def _within_budgets(
    snapshot: Snapshot, due: Iterable[Due], reason: DisruptionReason
) -> tuple[list[Due], list[Blocked]]:
    """Return what the pools' budgets let go now, in the order given, and the rest."""
    left: dict[PoolKey, int] = {}
    allowed: list[Due] = []
    over: list[Blocked] = []
    for one in due:
        pool = one.candidate.pool
        if pool.key not in left:
            left[pool.key] = allowance(pool, reason, views=snapshot.nodes, now=snapshot.taken_at)
        if left[pool.key] > 0:
            left[pool.key] -= 1
            allowed.append(one)
        else:
            over.append(_over_budget(one, reason))
    return allowed, over


def _over_budget(one: Due, reason: DisruptionReason) -> Blocked:
    view = one.candidate.view
    message = f"{one.why}; the budget of {one.candidate.pool.key} for {reason} is used up"
    return Blocked(view.name, "Budget", message, one.since, price=view.price, reason=reason)


def _stranded(one: Due, reason: DisruptionReason, relocation: Relocation) -> Blocked:
    view = one.candidate.view
    first = relocation.stranded[0]
    words = "; ".join(each.message for each in first.reasons) or "no pool could take it"
    message = f"{one.why}; pod {first.pod.metadata.key} would find no place: {words}"
    return Blocked(view.name, "Unschedulable", message, one.since, price=view.price, reason=reason)
