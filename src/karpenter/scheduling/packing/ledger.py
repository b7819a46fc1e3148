"""A packing in the making: what is left to place and to spend, and the machines decided on so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.packing.problem import Packing, Pattern, Problem, affordable_times


class Ledger:
    """Takes machines one pattern at a time, never more than demand and limits allow."""

    def __init__(self, problem: Problem, patterns: Iterable[Pattern] = ()) -> None:
        self._problem = problem
        self.left: Ints = problem.count.copy()
        """Copies of each shape still to place (S)."""
        self.budget: Floats = problem.budget.copy()
        """What is left of each limited amount (Q)."""
        self.cost = 0.0
        """USD per hour of the machines so far."""
        self._patterns: list[Pattern] = []
        for pattern in patterns:
            self.take(pattern.offer, pattern.copies, pattern.times)

    def take(self, offer: int, copies: Ints, times: float) -> bool:
        """Use a pattern so often, or as often as can be; return whether that was at all."""
        some = copies > 0
        if not some.any():
            return False
        most = min(times, int((self.left[some] // copies[some]).min()))
        number = int(min(most, affordable_times(self._problem, offer, self.budget)))
        if number < 1:
            return False
        self.left = self.left - number * copies
        self.budget = self.budget - number * self._problem.charge[offer]
        self.cost += number * float(self._problem.price[offer])
        self._patterns.append(Pattern(offer, copies, number))
        return True

    def packing(self, *last: Pattern) -> Packing:
        """Return what was decided on, and these machines."""
        return packing_of(self._problem, [*self._patterns, *last])


def packing_of(problem: Problem, patterns: Sequence[Pattern]) -> Packing:
    """Return the packing that these patterns make; equal ones are added up."""
    times: dict[tuple[int, bytes], int] = {}
    for pattern in patterns:
        key = pattern.offer, pattern.copies.tobytes()
        times[key] = times.get(key, 0) + pattern.times
    kept = tuple(
        Pattern(offer, np.frombuffer(copies, dtype=np.int64), number) for (offer, copies), number in times.items()
    )
    placed = sum((pattern.times * pattern.copies for pattern in kept), np.zeros_like(problem.count))
    cost = sum(pattern.times * float(problem.price[pattern.offer]) for pattern in kept)
    return Packing(kept, problem.count - placed, cost)
