"""Consolidation as the Go Karpenter decides it, on our kernel: for comparison only.

Own words and code after the published behaviour: candidates by price over what moving their pods costs; of several
nodes the longest prefix that is deleted or replaced by one cheaper machine, found by halving; else the first single
node; no price of moving, no rails, no node fee. Places come from our solver, which finds more than Go's first fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from karpenter.disruption.budgets import allowance
from karpenter.disruption.candidates import Candidate
from karpenter.disruption.consolidation.eligible import REASON, eligible
from karpenter.disruption.consolidation.replacements import capped, open_in
from karpenter.disruption.costs import node_cost
from karpenter.disruption.options import DEFAULT_OPTIONS, DisruptionOptions
from karpenter.disruption.relocation import relocate
from karpenter.disruption.verdict import Command, Verdict
from karpenter.scheduling import Options, Policy, StopCheck, never
from karpenter.scheduling.snapshot import Snapshot

MOST = 100
"""Nodes of one command."""
_POLICY = Policy(rails=False, node_fee=0.0, move_price=0.0)
_SOLVE = Options(_POLICY, rounds=0)


def go_strategy(
    snapshot: Snapshot, options: DisruptionOptions = DEFAULT_OPTIONS, *, stop: StopCheck = never
) -> Verdict:
    """Return the one command that the Go Karpenter's order of search comes to; settings are not heeded (D-6 … D-16)."""
    del options, stop
    found = eligible(snapshot, _POLICY)
    ordered = sorted(found.free, key=lambda one: (-one.price / node_cost(one.pods), one.name))
    chosen = _within_budgets(snapshot, ordered)
    command = _several(snapshot, chosen[:MOST]) or _single(snapshot, chosen)
    return Verdict(() if command is None else (command,), found.blocked)


def _within_budgets(snapshot: Snapshot, ordered: Sequence[Candidate]) -> list[Candidate]:
    left = {
        view.pool.key: allowance(view.pool, REASON, views=snapshot.nodes, now=snapshot.taken_at)
        for view in snapshot.pools
    }
    chosen: list[Candidate] = []
    for one in ordered:
        if left[one.pool.key] > 0:
            left[one.pool.key] -= 1
            chosen.append(one)
    return chosen


def _several(snapshot: Snapshot, candidates: Sequence[Candidate]) -> Command | None:
    best, low, high = None, 1, len(candidates) - 1
    while low <= high:
        middle = (low + high) // 2
        command = _command(snapshot, candidates[: middle + 1])
        if command is None:
            high = middle - 1
        else:
            best, low = command, middle + 1
    return best


def _single(snapshot: Snapshot, candidates: Sequence[Candidate]) -> Command | None:
    commands = (_command(snapshot, (one,)) for one in candidates)
    return next((command for command in commands if command is not None), None)


def _command(snapshot: Snapshot, candidates: Sequence[Candidate]) -> Command | None:
    names = frozenset(one.name for one in candidates)
    found = relocate(snapshot, names, _SOLVE)
    if not found.is_possible or len(found.replacements) > 1:
        return None
    price = sum(one.price for one in candidates)
    types = {name for plan in found.replacements for name in plan.instance_types}
    same = [one.price for one in candidates if len(candidates) > 1 and one.view.instance_type in types]
    plans = capped(found.replacements, open_in(snapshot.pools), min([price, *same]))
    if plans is None:
        return None
    savings = price - sum(plan.price for plan in plans)
    return Command(REASON, tuple(sorted(names)), plans, savings=savings, placements=found.placements)
