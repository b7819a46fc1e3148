"""Pack: place as many copies as limits allow, then pay as little as can be found with the effort given."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Ints
from karpenter.scheduling.packing.master import Master
from karpenter.scheduling.packing.problem import Packing, Problem
from karpenter.scheduling.packing.sequence import sequence
from karpenter.scheduling.packing.thin import promising, undominated
from karpenter.scheduling.packing.worth import worth_of

FIRST_ROUNDS: Final = 4
"""Rounds of better patterns in a first answer; most inputs end after one, because it brings next to nothing."""
_WORTHWHILE: Final = 1e-3
"""The share of the cost that a round of the first answer has to gain for another to follow."""
_FRUGAL: Final = 100.0
"""How much more than the dearest machine the whole of a limited amount costs when limits bind."""
_TINY: Final = 1e-9


def pack(problem: Problem, *, rounds: int = 0) -> Packing:
    """Return a packing of low cost that places all it can under the limits.

    `rounds` is effort beyond the first answer.
    """
    offers = undominated(problem)
    if not len(offers) or not problem.count.any():
        return Packing((), problem.count.copy(), 0.0)
    packing = _cheap(problem, offers, rounds=rounds)
    if not packing.unplaced or not problem.charge.any():
        return packing
    # Limits stopped it. Placing pods comes before price, so now the limited amounts are what a machine costs.
    scarce = (problem.charge / np.maximum(problem.budget, _TINY)).sum(axis=1)
    dear = problem.price + scarce * problem.price.max() * _FRUGAL
    frugal = _cheap(replace(problem, price=dear), offers, rounds=rounds)
    cost = sum(pattern.times * float(problem.price[pattern.offer]) for pattern in frugal.patterns)
    return min(packing, replace(frugal, cost=cost), key=_rank)


def _cheap(problem: Problem, offers: Ints, *, rounds: int) -> Packing:
    worth = worth_of(problem, offers)
    few = promising(problem, offers, worth)
    first = sequence(problem, few, worth.shapes)
    if first.unplaced:
        return first
    master = Master(problem, few, first.patterns)
    master.improve(FIRST_ROUNDS, worthwhile=_WORTHWHILE)
    if rounds:
        master.improve(rounds)
    elif first.cost <= master.cost * (1 + _WORTHWHILE):
        return first
    return min(first, master.rounded(), key=_rank)


def _rank(packing: Packing) -> tuple[int, float]:
    return packing.unplaced, packing.cost
