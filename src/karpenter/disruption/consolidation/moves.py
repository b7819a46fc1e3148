"""What giving some nodes back together would save, and whether it may be done. Pure.

Every way to find nodes ends here: places for their pods come from the solver itself, so every rule that holds for new
pods holds for moved ones. Source: issue 6, point 2; spec v1 D-13 … D-16; spec v1alpha5 DEP-53 … DEP-56.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from karpenter.disruption.candidates import Candidate
from karpenter.disruption.consolidation.care import Care
from karpenter.disruption.consolidation.replacements import capped, shortest
from karpenter.disruption.consolidation.spreads import StayingSpreads
from karpenter.disruption.relocation import Relocation, relocate
from karpenter.disruption.verdict import BlockCode
from karpenter.model import labels
from karpenter.scheduling import ClaimPlan, Options, StopCheck, never
from karpenter.scheduling.snapshot import Snapshot

TINY = 1e-9
"""USD per hour that count as nothing: sums of equal prices differ by less."""


@dataclass(frozen=True, slots=True)
class Move:
    """Nodes to give back together."""

    candidates: tuple[Candidate, ...]
    relocation: Relocation
    saving: float
    """USD per hour that the fleet costs less, node fees included, at planned prices."""
    effort: float
    """USD per hour that moving the pods has to be worth."""

    @property
    def gain(self) -> float:
        """What is left of the saving when the moves are paid for."""
        return self.saving - self.effort

    @property
    def price(self) -> float:
        """USD per hour of the nodes."""
        return sum(candidate.price for candidate in self.candidates)

    @property
    def pods(self) -> int:
        """How many pods move."""
        return sum(len(candidate.pods) for candidate in self.candidates)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nodes are not given back."""

    code: BlockCode
    message: str


class Appraiser:
    """Says what moves would bring in one snapshot."""

    def __init__(self, snapshot: Snapshot, options: Options, care: Care) -> None:
        self._snapshot = snapshot
        self._options = options
        self._care = care
        self._pools = {view.pool.key: view for view in snapshot.pools}
        self._starting = frozenset(view.name for view in snapshot.nodes if not view.is_initialized)
        self._spreads = StayingSpreads(snapshot)

    def appraise(self, candidates: Sequence[Candidate], *, stop: StopCheck = never) -> Move | Refusal:
        """Return the move that gives these nodes back, whose saving is positive, or why there is none."""
        names = frozenset(candidate.name for candidate in candidates)
        relocation = relocate(self._snapshot, names, self._options, stop=stop)
        refusal = self._impossible(relocation) or self._without_saving(candidates, relocation)
        if refusal is not None:
            return refusal
        plans = capped(relocation.replacements, self._pools, self._ceiling(candidates, relocation.replacements))
        if plans is None:
            return Refusal("Price", "no cheaper machine would do, whatever the cloud returns")
        spot = self._too_few_spot_types(candidates, plans)
        if spot is not None:
            return spot
        broken = self._spreads.broken_by(names, relocation)
        if broken is not None:
            return Refusal("Unschedulable", broken)
        move = Move(
            tuple(candidates),
            replace(relocation, replacements=self._fewest_spot_types(candidates, plans)),
            saving=self._saving(candidates, relocation.replacements),
            effort=self._care.price(pod for candidate in candidates for pod in candidate.pods),
        )
        if move.gain <= TINY:
            what = f"{move.saving:.4g} $/h are saved, and moving {move.pods} pods has to be worth {move.effort:.4g}"
            return Refusal("Price", what)
        return move

    def _impossible(self, relocation: Relocation) -> Refusal | None:
        if relocation.stranded:
            first = relocation.stranded[0]
            words = "; ".join(reason.message for reason in first.reasons) or "no pool could take it"
            return Refusal("Unschedulable", f"pod {first.pod.metadata.key} would find no place: {words}")
        if not relocation.complete:
            return Refusal("Unschedulable", "there was no time to look for places")
        coming = self._starting.intersection(relocation.placements.values())
        if coming:
            return Refusal("Unschedulable", f"its pods would need node {min(coming)}, which is not ready yet")
        return None

    def _saving(self, candidates: Sequence[Candidate], plans: Sequence[ClaimPlan]) -> float:
        fee = self._options.policy.node_fee
        before = sum(candidate.price + fee for candidate in candidates)
        return before - sum(plan.price + fee for plan in plans)

    def _ceiling(self, candidates: Sequence[Candidate], plans: Sequence[ClaimPlan]) -> float:
        """Return the USD per hour below which the new machines have to stay."""
        fewer = len(candidates) - len(plans)
        return sum(candidate.price for candidate in candidates) + fewer * self._options.policy.node_fee

    def _without_saving(self, candidates: Sequence[Candidate], relocation: Relocation) -> Refusal | None:
        saving = self._saving(candidates, relocation.replacements)
        if saving > TINY:
            return None
        new = relocation.replacements
        kinds = ", ".join(sorted({f"{plan.instance_type} at {plan.price:.4g} $/h" for plan in new}))
        return Refusal("Price", f"its pods would need {len(new)} new machines ({kinds}), which is not cheaper")

    def _is_spot_swap(self, candidates: Sequence[Candidate], plans: Sequence[ClaimPlan]) -> bool:
        """Return whether one spot machine would be swapped for others: those are compared to what it costs alone."""
        if len(candidates) != 1 or candidates[0].view.capacity_type != labels.SPOT:
            return False
        return bool(plans) and all(plan.capacity_type == labels.SPOT for plan in plans)

    def _too_few_spot_types(self, candidates: Sequence[Candidate], plans: Sequence[ClaimPlan]) -> Refusal | None:
        """A spot machine is swapped for a cheaper one only if there are many: the cheapest is the first to be lost."""
        if not self._is_spot_swap(candidates, plans):
            return None
        needed, found = self._needed_spot_types, min(len(plan.instance_types) for plan in plans)
        if found >= needed:
            return None
        return Refusal("Price", f"needs {needed} cheaper spot types, has {found}")

    def _fewest_spot_types(
        self, candidates: Sequence[Candidate], plans: tuple[ClaimPlan, ...]
    ) -> tuple[ClaimPlan, ...]:
        if not self._is_spot_swap(candidates, plans):
            return plans
        return tuple(shortest(plan, self._needed_spot_types, self._pools[plan.pool]) for plan in plans)

    @property
    def _needed_spot_types(self) -> int:
        return self._options.policy.flexibility.spot_types
