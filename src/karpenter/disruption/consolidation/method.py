"""The method: which nodes go for the sake of the price. Pure. Source: issue 6, point 2; spec v1 §3.6."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Final

from karpenter.disruption.candidates import Candidate
from karpenter.disruption.consolidation.appraisal import Appraiser
from karpenter.disruption.consolidation.care import Care
from karpenter.disruption.consolidation.eligible import REASON, eligible, stays
from karpenter.disruption.consolidation.kernel import Fleet
from karpenter.disruption.consolidation.moves import TINY, Move
from karpenter.disruption.consolidation.rails import Allowance, Rails
from karpenter.disruption.consolidation.search import Found, Search
from karpenter.disruption.consolidation.values import values_of
from karpenter.disruption.costs import cost_of_taking
from karpenter.disruption.expiration import lifetime_left
from karpenter.disruption.options import DEFAULT_OPTIONS, DisruptionOptions
from karpenter.disruption.verdict import Blocked, Command, Outlook, Verdict
from karpenter.model.units import UnixSeconds
from karpenter.scheduling import StopCheck, never
from karpenter.scheduling.snapshot import Snapshot

_MANY_CLASSES: Final = 150
"""Classes of pods from which on plans take seconds."""
_CLOSE: Final = 0.005
_CLOSE_IF_HARD: Final = 0.015


def consolidation(
    snapshot: Snapshot, options: DisruptionOptions = DEFAULT_OPTIONS, *, stop: StopCheck = never
) -> Verdict:
    """Return commands that each make the fleet cheaper, and why every other node with pods stays.

    All commands can be carried out together; each stands by itself. Equal snapshots give equal verdicts.
    """
    policy = options.solve.policy
    care = Care.of(snapshot, policy)
    rails = Rails(snapshot, policy, options.past, care=care)
    sorted_out = eligible(snapshot, policy)
    held = {one.name: rail for one in sorted_out.free if (rail := rails.on_node(one)) is not None}
    free = tuple(one for one in sorted_out.free if one.name not in held)
    blocked = (*sorted_out.blocked, *held.values())
    if not free:
        return Verdict(blocked=blocked)
    if stop():
        return Verdict(blocked=blocked, cut_short="multi")
    search = _search(snapshot, options, free, care=care, rails=rails)
    found = search.run(stop)
    moves = found.appraisal.moves
    return Verdict(
        tuple(_command(move) for move in moves),
        (*blocked, *_stay(search, found)),
        scores=search.appraiser.scores,
        watched=tuple(sorted(name for name, refusal in found.refusals.items() if refusal.is_watched)),
        outlook=_outlook(snapshot, free, moves, bound=search.values.bound, fee=policy.node_fee),
        cut_short=found.cut_short,
    )


def _search(
    snapshot: Snapshot, options: DisruptionOptions, free: tuple[Candidate, ...], *, care: Care, rails: Rails
) -> Search:
    policy = options.solve.policy
    fleet = Fleet(snapshot, free, options.solve)
    is_hard = len(fleet.work.waits) > _MANY_CLASSES
    values = values_of(fleet, node_fee=policy.node_fee)
    return Search(
        free=free,
        fleet=fleet,
        values=values,
        worth={one.name: values.of(fleet, one.name) for one in free},
        costs={one.name: _cost(one, snapshot.taken_at) for one in free},
        care=care,
        policy=policy,
        allowance=Allowance(snapshot, policy, options.past),
        appraiser=Appraiser(snapshot, options.solve, care=care, rails=rails, is_hard=is_hard),
        close=_CLOSE_IF_HARD if is_hard else _CLOSE,
    )


def _cost(one: Candidate, now: UnixSeconds) -> float:
    return cost_of_taking(one.pods, left=lifetime_left(one.view, one.pool, now))


def _command(move: Move) -> Command:
    return Command(
        REASON,
        tuple(sorted(candidate.name for candidate in move.candidates)),
        replacements=move.relocation.replacements,
        savings=move.saving,
        placements=move.relocation.placements,
    )


def _stay(search: Search, found: Found) -> Iterator[Blocked]:
    """Yield why each node that is in no command stays."""
    going = {one.name for move in found.appraisal.moves for one in move.candidates}
    left = search.allowance.copy()
    for move in found.appraisal.moves:
        for one in move.candidates:
            left.take(one)
    for one in search.free:
        if one.name in going:
            continue
        refusal = found.refusals.get(one.name)
        is_priced = search.alone(one) <= TINY if refusal is None else refusal.code == "Price"
        if is_priced and (preference := _by_preference(search, one)) is not None:
            yield preference
        elif refusal is not None:
            yield stays(one, refusal.code, refusal.message, since=refusal.since, until=refusal.until)
        elif search.alone(one) > TINY and (objection := left.objection(one)) is not None:
            yield objection
        else:
            yield stays(one, "Price", _words(search, one))


def _by_preference(search: Search, one: Candidate) -> Blocked | None:
    """Return that only a preference keeps the node, and what that costs."""
    kept = search.kept_by_preferences(one)
    if kept <= TINY:
        return None
    wishes = ", ".join(search.fleet.preferences(one.name))
    return stays(one, "Preference", f"kept {kept:.4g} $/h to honour {wishes}")


def _words(search: Search, one: Candidate) -> str:
    """Say what the node's end would come to."""
    probe, effort = search.probe(one), search.care.price(one.pods)
    if probe.fits and search.alone(one) <= TINY:
        return f"the others have room, but moving {len(one.pods)} pods has to be worth {effort:.4g} $/h"
    if probe.fits:
        return "the others have room for its pods, unless those of other nodes take it first"
    count = sum(count for _, count in probe.left)
    if not isfinite(probe.price):
        return f"no single machine holds the {count} pods that fit nowhere else, and several would cost as much"
    instead = f"a machine for them costs {probe.price:.4g} $/h"
    return f"{count} of its pods fit nowhere else, and {instead}, which is not cheaper"


def _outlook(
    snapshot: Snapshot, free: Iterable[Candidate], moves: Iterable[Move], *, bound: float, fee: float
) -> Outlook:
    now = sum((view.price or 0.0) + fee for view in snapshot.nodes if view.is_managed and not view.is_deleting)
    mine = sum(one.price + fee for one in free)
    return Outlook(now, bound=min(now, now - mine + bound), after=now - sum(move.saving for move in moves))
