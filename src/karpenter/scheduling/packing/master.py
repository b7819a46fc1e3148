"""The best mixture of known patterns: a linear program over patterns that asks for better ones until none comes.

This is column generation: the program's duals say what a copy of each shape is worth in the mixture, `fill` looks for
patterns worth more than their price, and these join the program. Its solution is then rounded to whole machines.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.packing.fill import fill
from karpenter.scheduling.packing.linear import Optimum, cover
from karpenter.scheduling.packing.problem import Packing, Pattern, Problem, affordable_times
from karpenter.scheduling.packing.sequence import sequence

_NEW_A_ROUND: Final = 16
_EDGE: Final = 1e-6


class Master:
    """Patterns known so far, and what the best mixture of them costs."""

    def __init__(self, problem: Problem, offers: Ints, patterns: tuple[Pattern, ...]) -> None:
        self._problem = problem
        self._offers = offers
        self._offer: list[int] = []
        self._copies: list[Ints] = []
        self._known: set[tuple[int, bytes]] = set()
        for pattern in patterns:
            self._add(pattern.offer, pattern.copies)
        self._optimum = self._solve()

    def _add(self, offer: int, copies: Ints) -> bool:
        key = offer, copies.tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        self._offer.append(offer)
        self._copies.append(copies)
        return True

    def _solve(self) -> Optimum:
        """Solve for the patterns known: every copy placed, limits kept."""
        problem = self._problem
        demand = np.array(self._copies, dtype=np.float64).T
        charge = -problem.charge[self._offer].T
        return cover(
            problem.price[self._offer],
            np.concatenate((demand, charge)),
            np.concatenate((problem.count.astype(np.float64), -problem.budget)),
        )

    @property
    def cost(self) -> float:
        """USD per hour of the best mixture, machines taken in fractions."""
        return self._optimum.objective

    def improve(self, rounds: int, *, worthwhile: float = 0.0) -> None:
        """Look for better patterns, so many rounds at most; one that gains less than this share is the last."""
        for number in range(rounds):
            before = self.cost
            if not self._price(lean=number % 2 == 1):
                return
            self._optimum = self._solve()
            if before - self.cost < worthwhile * before:
                return

    def _price(self, *, lean: bool) -> bool:
        """Add patterns that are worth more than they cost; return whether there were any."""
        problem = self._problem
        worth = self._optimum.duals[: len(problem.count)]
        scarcity = self._optimum.duals[len(problem.count) :]
        copies = fill(problem, self._offers, problem.count, worth=None if lean else worth)
        rate = (copies @ worth) / (problem.price[self._offers] + problem.charge[self._offers] @ scarcity)
        best = np.argsort(-rate, kind="stable")[:_NEW_A_ROUND]
        better = [at for at in best if rate[at] > 1 + _EDGE]
        return sum(self._add(int(self._offers[at]), copies[at]) for at in better) > 0

    def rounded(self) -> Packing:
        """Return whole machines: the mixture rounded down, and the rest packed by what it is worth in the mixture."""
        problem = self._problem
        left, budget = problem.count.copy(), problem.budget.copy()
        patterns: list[Pattern] = []
        whole = np.floor(self._optimum.x + _EDGE)
        for at in np.lexsort((np.arange(len(whole)), whole - self._optimum.x)):
            offer, copies = self._offer[at], self._copies[at]
            wanted = whole[at] + (self._optimum.x[at] - whole[at] >= 0.5)
            some = copies > 0
            times = int(min(wanted, (left[some] // copies[some]).min(), affordable_times(problem, offer, budget)))
            if times > 0:
                left -= times * copies
                budget -= times * problem.charge[offer]
                patterns.append(Pattern(offer, copies, times))
        rest = problem.less(left, budget)
        worth: Floats = np.maximum(self._optimum.duals[: len(left)], _EDGE)
        last = sequence(rest, self._offers, worth)
        cost = sum(pattern.times * float(problem.price[pattern.offer]) for pattern in patterns)
        return Packing((*patterns, *last.patterns), last.left, cost + last.cost)
