"""Which nodes to propose: sets that might make the fleet cheaper, the likeliest first. Pure.

A node's possible saving is what it costs less what its pods are worth and what moving them has to be worth. It ranks
nodes, and no set of nodes that could save nothing is ever tried. Proposals: nodes that the others have room for, taken
greedily; all nodes that could save much, packed anew; the same with fewer of them; single nodes. Source: issue 6,
point 2; solver design, consolidation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Literal

from karpenter.disruption.candidates import Candidate
from karpenter.disruption.consolidation.appraisal import Appraisal, Appraiser
from karpenter.disruption.consolidation.care import Care
from karpenter.disruption.consolidation.kernel import Fleet, Probe
from karpenter.disruption.consolidation.moves import TINY, Refusal
from karpenter.disruption.consolidation.rails import Allowance
from karpenter.disruption.consolidation.values import Values
from karpenter.scheduling import Policy, StopCheck

_WORTH_PACKING: Final = 0.05
"""Nodes that could save less than this share of their price are not packed anew."""
_MOST_TOGETHER: Final = 64
"""Nodes that would pay by themselves, of which all are tried at once when no larger set pays."""
_MOST_SINGLES: Final = 8
"""Single nodes that are looked at closely when no set pays."""
_SMALL: Final = 5
"""Fleets up to which every set of nodes is tried."""
_MOST_PAIRS: Final = 4
_HOPEFUL: Final = 0.9
"""Sets whose greatest possible saving is a smaller share of another set's are not tried beside it."""
_WORTH_ALL: Final = 0.02
"""A fleet that could save a larger share of its price is packed anew as a whole, too."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to."""

    appraisal: Appraisal
    """The best of what was tried; without moves when nothing pays."""
    refusals: dict[str, Refusal]
    """What close looks at nodes, by name, had against them."""
    cut_short: Literal["", "multi", "single"] = ""
    """What was being tried, several nodes or one, when time was up; empty when it was not."""


@dataclass(frozen=True, slots=True)
class Search:
    """One search over the nodes that may go."""

    free: Sequence[Candidate]
    fleet: Fleet
    values: Values
    worth: dict[str, float]
    """What the pods of each node are worth."""
    costs: dict[str, float]
    """What taking each node costs by the words of its pods, less near the end of its life (D-3, D-6, DEP-52)."""
    care: Care
    policy: Policy
    allowance: Allowance
    appraiser: Appraiser
    close: float
    """Share of the price that the bound leaves to be saved at most, where a closer look is no longer worth it."""
    _probes: dict[str, Probe] = field(default_factory=dict)

    def run(self, stop: StopCheck) -> Found:
        """Return the best moves found. Sets are tried first; single nodes, and small sets, when none of those pays.

        Close to the bound only what the fleet's own reckoning calls a gain is looked at: more is not worth the time.
        """
        if self._possible_of(self.free) < self.close * sum(one.price for one in self.free):
            return self._best_of((self._with_singles(), self._greedily(), self._singles(splitting=False)), stop)
        return self._best_of((self._large_sets(), self._smaller_sets(), self._singles(), self._small_sets()), stop)

    def _best_of(self, ways: Iterable[Iterable[Sequence[Candidate]]], stop: StopCheck) -> Found:
        best = Appraisal()
        refusals: dict[str, Refusal] = {}
        tried: set[frozenset[str]] = set()
        for proposals in ways:
            for proposal in proposals:
                names = frozenset(candidate.name for candidate in proposal)
                if not names or names in tried:
                    continue
                tried.add(names)
                appraisal = self.appraiser.appraise(proposal, stop=stop)
                if len(names) == 1:
                    refusals.update(appraisal.refusals)
                if appraisal.gain > best.gain + TINY:
                    best = appraisal
                if stop():
                    return Found(best, refusals, "single" if len(names) == 1 else "multi")
            if best.moves:
                break
        return Found(best, refusals)

    def possible(self, candidate: Candidate) -> float:
        """Return the most that a node's end could save, moves paid, if its pods went to new machines."""
        return candidate.price + self.policy.node_fee - self.worth[candidate.name] - self.care.price(candidate.pods)

    def alone(self, candidate: Candidate) -> float:
        """Return what the end of this node alone would save by the fleet's own reckoning, moves paid."""
        return self._gain(candidate, self.probe(candidate))

    def probe(self, candidate: Candidate) -> Probe:
        """Return what would become of this node's pods if it alone went."""
        found = self._probes.get(candidate.name)
        if found is None:
            found = self._probes[candidate.name] = self.fleet.probe(candidate.name)
        return found

    def kept_by_preferences(self, candidate: Candidate) -> float:
        """Return what the end of this node alone would save if nobody heeded what its pods prefer, moves paid."""
        if not self.fleet.preferences(candidate.name):
            return 0.0
        return self._gain(candidate, self.fleet.probe_without_preferences(candidate.name))

    def _gain(self, candidate: Candidate, probe: Probe) -> float:
        fee = self.policy.node_fee
        instead = probe.price + fee if probe.left else 0.0
        return candidate.price + fee - instead - self.care.price(candidate.pods)

    def _possible_of(self, candidates: Iterable[Candidate]) -> float:
        return sum(map(self.possible, candidates))

    def _greedily(self) -> Iterator[Sequence[Candidate]]:
        yield self._greedy()

    def _large_sets(self) -> Iterator[Sequence[Candidate]]:
        """Yield the greedy set if it could be best, and what is worth packing, in two sizes if they differ much."""
        greedy, much = self._greedy(), self.allowance.first(self._worth_packing(_WORTH_PACKING))
        if sum(one.price + self.policy.node_fee - self.care.price(one.pods) for one in greedy) > (
            _HOPEFUL * self._possible_of(much)
        ):
            yield greedy
        yield much
        every = self.allowance.first(self._worth_packing(0.0))
        price = sum(one.price for one in every)
        if sum(one.price for one in much) < _HOPEFUL * price and self._possible_of(every) > _WORTH_ALL * price:
            yield every

    def _smaller_sets(self) -> Iterator[Sequence[Candidate]]:
        chosen = self.allowance.first(self._worth_packing(_WORTH_PACKING))
        while len(chosen) > 2:
            chosen = chosen[: (len(chosen) + 1) // 2]
            yield chosen

    def _with_singles(self) -> Iterator[Sequence[Candidate]]:
        """Yield the greedy set together with single nodes that would be replaced at a profit."""
        chosen = {one.name: one for one in (*self._greedy(), *self._paying(splitting=False)[:_MOST_TOGETHER])}
        yield self.allowance.first(chosen.values())

    def _singles(self, *, splitting: bool = True) -> Iterator[Sequence[Candidate]]:
        """Yield nodes that would go, or be replaced, at a profit; and those that several small machines may better.

        They are tried together first: those that get in each other's way are sorted out there.
        """
        paying = self._paying(splitting=splitting)
        yield self.allowance.first(paying[:_MOST_TOGETHER])
        for one in paying[:_MOST_SINGLES]:
            if self.allowance.objection(one) is None:
                yield (one,)

    def _paying(self, *, splitting: bool) -> list[Candidate]:
        gains = [(max(self.alone(one), self._by_splitting(one) if splitting else 0.0), one) for one in self.free]
        paying = sorted(((gain, one) for gain, one in gains if gain > TINY), key=lambda pair: (-pair[0], pair[1].name))
        return [one for _, one in paying]

    def _by_splitting(self, candidate: Candidate) -> float:
        """Return what several machines for what finds no room elsewhere could save, if it is worth a try."""
        left = self.probe(candidate).left
        worth = sum(count * float(self.values.worth[kind.item.index]) for kind, count in left)
        gain = candidate.price + self.policy.node_fee - worth - self.care.price(candidate.pods)
        return gain if gain > _WORTH_PACKING * candidate.price else 0.0

    def _small_sets(self) -> Iterator[Sequence[Candidate]]:
        if len(self.free) <= _SMALL:
            sets: Iterator[Sequence[Candidate]] = (
                chosen for size in range(2, len(self.free) + 1) for chosen in combinations(self.free, size)
            )
        else:
            first = sorted(self.free, key=lambda one: (-self.possible(one), one.name))
            pairs = combinations(first[:_MOST_PAIRS], 2)
            sets = iter(sorted(pairs, key=lambda pair: -self._possible_of(pair))[:_MOST_PAIRS])
        for chosen in sets:
            if len(self.allowance.first(chosen)) == len(chosen) and self._possible_of(chosen) > TINY:
                yield chosen

    def _worth_packing(self, least: float) -> list[Candidate]:
        """Return the nodes that could save more than this share of their price, most for each pod first."""
        saving = [(self.possible(one), one) for one in self.free]
        worth = [(gain, one) for gain, one in saving if gain > least * one.price + TINY]
        worth.sort(key=lambda pair: (-pair[0] / self.costs[pair[1].name], pair[1].name))
        return [one for _, one in worth]

    def _greedy(self) -> list[Candidate]:
        """Return nodes that the others have room for, one after the other; each changes what is left for the next."""
        fleet, left, taken = self.fleet, self.allowance.copy(), []
        gains = [(self.possible(one), one) for one in self.free if self._pays_to_delete(one)]
        for _, one in sorted(gains, key=lambda pair: (-pair[0] / self.costs[pair[1].name], pair[1].name)):
            if left.objection(one) is None and fleet.take(one.name):
                left.take(one)
                taken.append(one)
        fleet.put_back()
        return taken

    def _pays_to_delete(self, candidate: Candidate) -> bool:
        return candidate.price + self.policy.node_fee > self.care.price(candidate.pods) + TINY
