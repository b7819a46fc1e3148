"""Sequential value packing: the pattern that gives the most worth for its price is used as often as demand allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.packing.fill import fill
from karpenter.scheduling.packing.problem import Packing, Pattern, Problem, affordable, affordable_times

_GOOD_ENOUGH: Final = 0.985
"""Patterns this close to the best are used too before new ones are made."""
_SHORT_LIST: Final = 24
"""Offers that are filled anew in every round; all are when the best of these falls behind."""


@dataclass(slots=True)
class _Run:
    """A packing in the making."""

    left: Ints
    budget: Floats
    patterns: list[Pattern]
    cost: float = 0.0

    def apply(self, problem: Problem, offer: int, copies: Ints) -> bool:
        """Use a pattern as often as demand and limits allow; return whether that was at all."""
        some = copies > 0
        times = min(float((self.left[some] // copies[some]).min()), affordable_times(problem, offer, self.budget))
        if times < 1:
            return False
        self.left -= int(times) * copies
        self.budget -= times * problem.charge[offer]
        self.cost += times * float(problem.price[offer])
        self.patterns.append(Pattern(offer, copies, int(times)))
        return True


def sequence(problem: Problem, offers: Ints, worth: Floats) -> Packing:
    """Return a packing that takes pattern after pattern, each the one that gives most worth (S) for its price.

    Only these offers are used. Whenever all that is left fits one machine, that way to end is kept in mind, and the
    cheapest end wins.
    """
    run = _Run(problem.count.copy(), problem.budget.copy(), [])
    short = np.arange(len(offers))
    reference = np.inf
    complete: Packing | None = None
    while run.left.any():
        complete = _better(complete, _complete(problem, run))
        alive = short[affordable(problem, run.budget)[offers[short]]]
        copies = fill(problem, offers[alive], run.left)
        rate = (copies @ worth) / problem.price[offers[alive]]
        order = np.argsort(-rate, kind="stable")
        best = rate[order[0]] if len(order) else 0.0
        if len(short) < len(offers) and best < reference * _GOOD_ENOUGH:
            short, reference = np.arange(len(offers)), np.inf
            continue
        if best <= 0:
            break
        if len(short) == len(offers):
            reference = best
            short = np.sort(alive[order[:_SHORT_LIST]])
        for at in order:
            if rate[at] < best * _GOOD_ENOUGH:
                break
            run.apply(problem, int(offers[alive[at]]), copies[at])
    made = Packing(tuple(run.patterns), run.left, run.cost)
    return made if complete is None or (made.unplaced == 0 and made.cost <= complete.cost) else complete


def _complete(problem: Problem, run: _Run) -> Packing | None:
    """Return the packing that puts all that is left on one machine, the cheapest that holds it; None without one."""
    rest = run.left @ problem.request
    some = run.left > 0
    holds = (problem.room >= rest).all(axis=1) & problem.admits[:, some].all(axis=1)
    holds &= affordable(problem, run.budget)
    together = np.bincount(problem.clique[some] % len(problem.most), run.left[some], len(problem.most))
    if not holds.any() or (together > problem.most).any():
        return None
    offer = int(np.where(holds, problem.price, np.inf).argmin())
    last = Pattern(offer, run.left.copy(), 1)
    return Packing((*run.patterns, last), np.zeros_like(run.left), run.cost + float(problem.price[offer]))


def _better(first: Packing | None, second: Packing | None) -> Packing | None:
    if first is None or second is None:
        return second if first is None else first
    return second if second.cost < first.cost else first
