"""Whether nodes may be given back, and what that brings: asked of every set that a search proposes. Pure.

Source: issue 6, points 2 and 3; spec v1 D-11, D-13 … D-16; spec v1alpha5 DEP-53 … DEP-56; case SPOT15.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from karpenter.disruption.candidates import Candidate
from karpenter.disruption.consolidation.balance import Balance
from karpenter.disruption.consolidation.care import Care
from karpenter.disruption.consolidation.moves import TINY, Move, Refusal, moves_of
from karpenter.disruption.consolidation.rails import Rails
from karpenter.disruption.consolidation.replacements import capped, open_in, shortest
from karpenter.disruption.consolidation.spreads import StayingSpreads
from karpenter.disruption.relocation import Relocation, relocate
from karpenter.disruption.verdict import Score
from karpenter.scheduling import ClaimPlan, Options, StopCheck, never
from karpenter.scheduling.snapshot import Snapshot

_MOST_TURNS: Final = 4
"""How often places are looked for anew, for those moves only that turned out to pay."""
_FEW: Final = 2
"""Nodes of a set that is one of many."""
_ROUNDS_FOR_FEW: Final = 1
_ROUNDS_FOR_MANY: Final = 2


@dataclass(frozen=True, slots=True)
class Appraisal:
    """What came of a set of nodes."""

    moves: tuple[Move, ...] = ()
    """All can be made together."""
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    """Why nodes of the set, by name, are in none of them."""

    @property
    def gain(self) -> float:
        """USD per hour that the moves bring, themselves paid for."""
        return sum(move.gain for move in self.moves)


class Appraiser:
    """Says what moves would bring in one snapshot."""

    def __init__(self, snapshot: Snapshot, options: Options, *, care: Care, rails: Rails, is_hard: bool) -> None:
        """`is_hard` says that pods are so different that a better plan takes seconds."""
        self._snapshot = snapshot
        self._options = options
        self._care = care
        self._rails = rails
        self._balance = Balance(snapshot, options.policy.balance)
        self._is_hard = is_hard
        self._open = open_in(snapshot.pools)
        self._starting = frozenset(view.name for view in snapshot.nodes if not view.is_initialized)
        self._spreads = StayingSpreads(snapshot)

    @property
    def scores(self) -> tuple[Score, ...]:
        """What Balanced pools thought of the moves so far."""
        return self._balance.scores

    def appraise(self, candidates: Sequence[Candidate], *, stop: StopCheck = never) -> Appraisal:
        """Return the moves that give these nodes back as far as that pays, and why the others are not given back."""
        found = [self._appraise(candidates, options, stop=stop) for options in self._efforts(candidates)]
        return max(found, key=lambda appraisal: appraisal.gain)

    def _efforts(self, candidates: Sequence[Candidate]) -> Iterable[Options]:
        """Return the efforts that a set is worth; where plans are quick, the first answer and a better one.

        Few nodes are one of many sets, and a plan for very different pods is bettered by the next looks.
        """
        most = self._options.rounds
        if len(candidates) <= _FEW:
            rounds = {min(most, _ROUNDS_FOR_FEW)}
        else:
            rounds = {min(most, _ROUNDS_FOR_MANY)} if self._is_hard else {0, most}
        return [replace(self._options, rounds=each) for each in sorted(rounds)]

    def _appraise(self, candidates: Sequence[Candidate], options: Options, *, stop: StopCheck) -> Appraisal:
        """Appraise with one effort.

        When some moves do not pay, places are looked for anew for the rest: they may have been counted on.
        """
        refusals: dict[str, Refusal] = {}
        left = tuple(candidates)
        for _ in range(_MOST_TURNS):
            if not left or stop():
                break
            names = frozenset(candidate.name for candidate in left)
            relocation = relocate(self._snapshot, names, options, stop=stop)
            moves = self._moves(left, relocation, refusals)
            kept = tuple(candidate for move in moves for candidate in move.candidates)
            if len(kept) == len(left):
                return Appraisal(moves, refusals)
            left = kept
        return Appraisal(refusals=refusals)

    def _moves(
        self, candidates: Sequence[Candidate], relocation: Relocation, refusals: dict[str, Refusal]
    ) -> tuple[Move, ...]:
        names = frozenset(candidate.name for candidate in candidates)
        impossible = self._impossible(names, relocation)
        if impossible is not None:
            refusals.update(dict.fromkeys(names, impossible))
            return ()
        accepted: list[Move] = []
        for move in moves_of(candidates, relocation, policy=self._options.policy, care=self._care):
            settled = self._settled(move)
            if isinstance(settled, Move):
                accepted.append(settled)
            else:
                refusals.update(dict.fromkeys((one.name for one in move.candidates), settled))
        return tuple(accepted)

    def _impossible(self, names: frozenset[str], relocation: Relocation) -> Refusal | None:
        if not relocation.complete:
            return Refusal("Unschedulable", "there was no time to look for places")
        if relocation.stranded:
            first = relocation.stranded[0]
            words = "; ".join(reason.message for reason in first.reasons) or "no pool could take it"
            return Refusal("Unschedulable", f"pod {first.pod.metadata.key} would find no place: {words}")
        coming = self._starting.intersection(relocation.placements.values())
        if coming:
            return Refusal("Unschedulable", f"its pods would need node {min(coming)}, which is not ready yet")
        broken = self._spreads.broken_by(names, relocation)
        return None if broken is None else Refusal("Unschedulable", broken)

    def _settled(self, move: Move) -> Move | Refusal:
        """Return the move with machines that keep its promise, or what speaks against it."""
        if move.saving <= TINY:
            return Refusal("Price", _not_cheaper(move.relocation.replacements))
        if move.gain <= TINY:
            what = (
                f"{move.saving:.4g} $/h would be saved, and moving {move.pods} pods has to be worth {move.effort:.4g}"
            )
            return Refusal("Price", what)
        plans = capped(move.relocation.replacements, self._open, self._ceiling(move))
        if plans is None:
            return Refusal("Price", "the cloud might return machines that cost as much")
        if move.is_spot_swap:
            if not self._options.policy.spot_to_spot:
                return Refusal("Price", "a spot machine is not swapped for another one: policy.spotToSpot is off")
            found, needed = min(len(plan.instance_types) for plan in plans), self._options.policy.flexibility.spot_types
            if found < needed:
                return Refusal("Price", f"needs {needed} cheaper spot types, has {found}")
            plans = tuple(shortest(plan, needed, self._open) for plan in plans)
        move = replace(move, relocation=replace(move.relocation, replacements=plans))
        return self._rails.on_move(move) or self._balance.on_move(move) or move

    def _ceiling(self, move: Move) -> float:
        """Return the USD per hour below which the new machines have to stay whatever the cloud returns."""
        fewer = len(move.candidates) - len(move.relocation.replacements)
        return min(move.price + fewer * self._options.policy.node_fee, _price_of_keeping_one(move))


def _price_of_keeping_one(move: Move) -> float:
    """Return what one of the nodes costs that has a type which could hold everything; infinite when none does.

    One machine for all that costs as much is worth nothing: that node could have stayed (D-11).
    """
    plans = move.relocation.replacements
    if len(plans) != 1 or len(move.candidates) < 2:
        return inf
    types = frozenset(plans[0].instance_types)
    return min((one.price for one in move.candidates if one.view.instance_type in types), default=inf)


def _not_cheaper(plans: Sequence[ClaimPlan]) -> str:
    kinds = ", ".join(sorted({f"{plan.instance_type} at {plan.price:.4g} $/h" for plan in plans}))
    return f"its pods would need new machines ({kinds}), which is not cheaper"
