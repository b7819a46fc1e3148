"""What giving some nodes back would save, as moves that stand by themselves. Pure.

Every way to find nodes ends here: places for their pods come from the solver itself, so every rule that holds for new
pods holds for moved ones. Source: issue 6, point 2; spec v1 D-13 … D-16; spec v1alpha5 DEP-53 … DEP-56.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from karpenter.disruption.candidates import Candidate
from karpenter.disruption.consolidation.care import Care
from karpenter.disruption.relocation import Relocation
from karpenter.disruption.verdict import BlockCode
from karpenter.model import labels
from karpenter.model.units import UnixSeconds
from karpenter.scheduling import Policy

TINY: Final = 1e-9
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

    @property
    def is_spot_swap(self) -> bool:
        """Whether one spot machine would be swapped for others: that is about prices of spot, not about room."""
        plans = self.relocation.replacements
        if len(self.candidates) != 1 or self.candidates[0].view.capacity_type != labels.SPOT:
            return False
        return bool(plans) and all(plan.capacity_type == labels.SPOT for plan in plans)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nodes are not given back."""

    code: BlockCode
    message: str
    since: UnixSeconds | None = None
    until: UnixSeconds | None = None
    is_watched: bool = False
    """Whether the nodes wait only for time to show that a price lasts."""


def moves_of(
    candidates: Sequence[Candidate], relocation: Relocation, *, policy: Policy, care: Care
) -> tuple[Move, ...]:
    """Return the parts of a relocation that stand by themselves: nodes whose pods share no new machine are apart."""
    parts: dict[str, list[Candidate]] = {}
    new = {plan.name for plan in relocation.replacements}
    apart = _Groups(candidate.name for candidate in candidates)
    for candidate in candidates:
        for pod in candidate.pods:
            place = relocation.placements[pod.metadata.key]
            if place in new:
                apart.join(candidate.name, place)
    for candidate in candidates:
        parts.setdefault(apart.of(candidate.name), []).append(candidate)
    return tuple(_part(own, relocation, policy=policy, care=care) for own in parts.values())


def _part(candidates: Sequence[Candidate], relocation: Relocation, *, policy: Policy, care: Care) -> Move:
    keys = [pod.metadata.key for candidate in candidates for pod in candidate.pods]
    placements = {key: relocation.placements[key] for key in keys}
    places = set(placements.values())
    plans = tuple(plan for plan in relocation.replacements if plan.name in places)
    fee = policy.node_fee
    before = sum(candidate.price + fee for candidate in candidates)
    return Move(
        tuple(candidates),
        replace(relocation, replacements=plans, placements=placements),
        saving=before - sum(plan.price + fee for plan in plans),
        effort=care.price(pod for candidate in candidates for pod in candidate.pods),
    )


class _Groups:
    """Names that belong together."""

    def __init__(self, names: Iterable[str]) -> None:
        self._leader = {name: name for name in names}

    def of(self, name: str) -> str:
        """Return the name that stands for the group."""
        leader = self._leader.setdefault(name, name)
        while leader != self._leader[leader]:
            leader = self._leader[leader]
        self._leader[name] = leader
        return leader

    def join(self, one: str, other: str) -> None:
        """Put two names into one group."""
        self._leader[self.of(other)] = self.of(one)
