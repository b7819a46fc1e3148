"""What is to be packed: shapes to be placed, offers to place them on, amounts that limits leave."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.groups import Group


@dataclass(frozen=True, slots=True)
class Problem:
    """S shapes, J offers, R resources, Q limited amounts."""

    request: Floats
    """What one copy of each shape needs (S×R)."""
    count: Ints
    """Copies of each shape to place (S)."""
    clique: Ints
    """Position of the clique that each shape belongs to, -1 for none (S)."""
    most: Floats
    """Copies of all shapes of a clique together that one machine may hold, and infinity last (G+1)."""
    room: Floats
    """What a machine of each offer holds (J×R)."""
    price: Floats
    """USD per hour of each offer, the node fee included (J)."""
    admits: Bools
    """Which shapes may run on which offer, their size apart (J×S)."""
    charge: Floats
    """What a machine of each offer takes of each limited amount (J×Q)."""
    budget: Floats
    """What is left of each limited amount (Q)."""
    groups: tuple[Group, ...] = ()
    """Rules about shapes on one machine, beside `most`."""

    def less(self, left: Ints, budget: Floats) -> Problem:
        """Return what remains of the problem: copies still to place (S) and limited amounts still to spend (Q)."""
        return replace(self, count=left, budget=budget)


@dataclass(frozen=True, slots=True)
class Pattern:
    """`times` machines of one offer, all filled alike."""

    offer: int
    copies: Ints
    """Copies of each shape on one machine (S)."""
    times: int


@dataclass(frozen=True, slots=True)
class Packing:
    """A way to place as many copies as could be placed."""

    patterns: tuple[Pattern, ...]
    left: Ints
    """Copies of each shape that found no machine (S)."""
    cost: float
    """USD per hour of all machines, fees included."""

    @property
    def unplaced(self) -> int:
        """How many copies found no machine."""
        return int(self.left.sum())

    @property
    def machines(self) -> int:
        """How many machines there are."""
        return sum(pattern.times for pattern in self.patterns)

    def rank(self) -> tuple[int, float]:
        """Return what makes one packing better than another: fewer copies without a machine, then less to pay."""
        return self.unplaced, self.cost


def affordable(problem: Problem, budget: Floats) -> Bools:
    """Return the offers of which the budget (Q) pays for one machine more (J)."""
    paid: Bools = np.all((problem.charge <= budget) | (problem.charge == 0), axis=1)
    return paid


def affordable_times(problem: Problem, offer: int, budget: Floats) -> float:
    """Return how many machines of an offer the budget pays for; infinite when no limit speaks of it."""
    counted = problem.charge[offer] > 0
    return float(np.floor(budget[counted] / problem.charge[offer, counted]).min(initial=np.inf))


def may_bind(problem: Problem) -> bool:
    """Return whether a machine for every single copy could take more of a limited amount than there is."""
    most = problem.charge.max(axis=0, initial=0.0) * problem.count.sum()
    return bool((most > problem.budget).any())


def kinds_of(masks: Bools) -> Ints:
    """Return the position of each row (n×m) among the different ones, sorted (n)."""
    # `np.unique` over rows does the same in ten times the time.
    names = [row.tobytes() for row in np.packbits(masks, axis=1)]
    position = {name: at for at, name in enumerate(sorted(set(names)))}
    return np.array([position[name] for name in names], dtype=np.int64)
