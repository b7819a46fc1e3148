"""The method: which nodes go for the sake of the price. Pure. Source: issue 6, point 2; spec v1 §3.6."""

from __future__ import annotations

from karpenter.disruption.budgets import allowance
from karpenter.disruption.consolidation.care import Care
from karpenter.disruption.consolidation.eligible import REASON, eligible, over_budget, stays
from karpenter.disruption.consolidation.moves import Appraiser, Move
from karpenter.disruption.options import DEFAULT_OPTIONS, DisruptionOptions
from karpenter.disruption.verdict import Command, Verdict
from karpenter.scheduling import StopCheck, never
from karpenter.scheduling.snapshot import Snapshot


def consolidation(
    snapshot: Snapshot, options: DisruptionOptions = DEFAULT_OPTIONS, *, stop: StopCheck = never
) -> Verdict:
    """Return commands that each make the fleet cheaper, and why the other nodes with pods stay."""
    found = eligible(snapshot, options.solve.policy)
    blocked = list(found.blocked)
    care = Care.of(snapshot, options.solve.policy)
    appraiser = Appraiser(snapshot, options.solve, care)
    for candidate in sorted(found.free, key=lambda one: (-one.price / (1 + len(one.pods)), one.name)):
        if stop():
            break
        if allowance(candidate.pool, REASON, views=snapshot.nodes, now=snapshot.taken_at) < 1:
            blocked.append(over_budget(candidate))
            continue
        move = appraiser.appraise((candidate,), stop=stop)
        if isinstance(move, Move):
            return Verdict((_command(move),), tuple(blocked))
        blocked.append(stays(candidate, move.code, move.message))
    return Verdict(blocked=tuple(blocked))


def _command(move: Move) -> Command:
    return Command(
        REASON,
        tuple(sorted(candidate.name for candidate in move.candidates)),
        replacements=move.relocation.replacements,
        savings=move.saving,
        placements=move.relocation.placements,
    )
