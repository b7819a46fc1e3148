"""The best packing of a small problem, by trying them all.

A state says how many copies of each shape are placed; a step adds one machine with its cheapest offer. Small means that
there are few states: a dozen different pods, or thirty equal ones and two others.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.groups import GroupTable
from karpenter.scheduling.packing.ledger import packing_of
from karpenter.scheduling.packing.problem import Packing, Pattern, Problem

MOST_STATES: Final = 600
"""Problems with more are not small; work grows with the square."""


def states_of(problem: Problem) -> int:
    """Return how many states a problem has: ways to choose some of its copies."""
    return math.prod(int(count) + 1 for count in problem.count)


def best_packing(problem: Problem, offers: Ints) -> Packing:
    """Return the cheapest packing with these offers that places all copies for which there is one.

    Limits are not looked at: the problem has none that bind.
    """
    singles = np.eye(len(problem.count), dtype=np.int64)
    count = np.where(np.isfinite(_cheapest_machines(problem, singles, offers)[0]), problem.count, 0)
    states = np.stack(np.unravel_index(np.arange(int(np.prod(count + 1))), count + 1), axis=1).astype(np.int64)
    price, offer = _cheapest_machines(problem, states, offers)
    least = np.full(len(states), np.inf)
    least[0] = 0.0
    last = np.zeros(len(states), dtype=np.int64)
    fits = np.flatnonzero(np.isfinite(price[1:])) + 1
    loads, prices = states[fits], price[fits]
    for state in range(1, len(states)):
        # Machines are added in an order that leaves no choice which comes first: each holds the first copy missing.
        first = int(np.flatnonzero(states[state])[0])
        able = (loads[:, first] > 0) & (loads <= states[state]).all(axis=1)
        totals = np.where(able, prices + least[state - np.where(able, fits, state)], np.inf)
        best = int(totals.argmin())
        least[state], last[state] = totals[best], fits[best]
    patterns: list[Pattern] = []
    state = len(states) - 1
    while state:
        patterns.append(Pattern(int(offer[last[state]]), states[last[state]], 1))
        state -= int(last[state])
    return packing_of(problem, patterns)


def _cheapest_machines(problem: Problem, loads: Ints, offers: Ints) -> tuple[Floats, Ints]:
    """Return the price of the cheapest machine for each load (n) and its offer; infinite where none holds it."""
    amounts = loads @ problem.request
    by_price = offers[np.argsort(problem.price[offers], kind="stable")]
    holds: Bools = np.all(problem.room[by_price] >= amounts[:, None], axis=2)
    holds &= ~((loads > 0) @ ~problem.admits[by_price].T)
    holds &= GroupTable(problem.groups, problem.clique, problem.most).allow(loads)[:, None]
    first = holds.argmax(axis=1)
    return np.where(holds.any(axis=1), problem.price[by_price[first]], np.inf), by_price[first]
