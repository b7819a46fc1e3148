"""Fewer offers to look at: those that no other beats, and of these the ones that plans are made of."""

from __future__ import annotations

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.problem import Problem, kinds_of
from karpenter.scheduling.packing.worth import Worth

_BLOCK = 64
_BEST_RATES = 24
"""Offers kept for each group of shapes because a unit of worth is cheapest on them."""


def undominated(problem: Problem) -> Ints:
    """Return the offers to which no other is equal or better in room, price, shapes and limits."""
    used = problem.request.any(axis=0)
    amounts = np.concatenate((problem.room[:, used], -problem.price[:, None], -problem.charge), axis=1)
    codes = kinds_of(problem.admits)
    kept = [_undominated(amounts, np.flatnonzero(codes == code)) for code in range(codes.max(initial=-1) + 1)]
    return np.sort(np.concatenate(kept)) if kept else np.zeros(0, dtype=np.int64)


def roomiest(problem: Problem) -> Ints:
    """Return the offers to which no other is equal or better in room and shapes, whatever their price."""
    codes = kinds_of(problem.admits)
    used = problem.request.any(axis=0)
    kept = [
        _undominated(problem.room[:, used], np.flatnonzero(codes == code)) for code in range(codes.max(initial=-1) + 1)
    ]
    return np.sort(np.concatenate(kept)) if kept else np.zeros(0, dtype=np.int64)


def _undominated(amounts: Floats, rows: Ints) -> Ints:
    """Return those of the rows that no other of them matches or exceeds in all amounts; of equal ones the first."""
    # Whoever dominates has the larger sum in any positive scale, so it comes first in this order.
    scale = 1.0 / np.maximum(np.abs(amounts[rows]).max(axis=0, initial=0.0), 1e-9)
    order = rows[np.lexsort((rows, -(amounts[rows] * scale).sum(axis=1)))]
    kept = np.zeros(0, dtype=np.int64)
    for start in range(0, len(order), _BLOCK):
        block = order[start : start + _BLOCK]
        block = block[~_beaten(amounts[block], amounts[kept])]
        within = _matched(amounts[block], amounts[block])
        block = block[~np.tril(within, -1).any(axis=1)]
        kept = np.concatenate((kept, block))
    return kept


def _beaten(amounts: Floats, by: Floats) -> Bools:
    return np.asarray(_matched(amounts, by).any(axis=1))


def _matched(amounts: Floats, by: Floats) -> Bools:
    """Return which rows of `by` (m) are as large in all amounts as which rows (n): n×m."""
    found = np.ones((len(amounts), len(by)), dtype=np.bool_)
    # Amount by amount: reductions over so few numbers take many times as long.
    for at in range(amounts.shape[1]):
        found &= by[:, at] >= amounts[:, at, None]
    return found


def promising(problem: Problem, offers: Ints, worth: Worth) -> Ints:
    """Return the offers worth filling: what linear programs buy, the best rates, and the best of every size.

    For sizes, offers are sorted into steps of doubling price; of each step the best for every group of shapes and for
    every single resource stays.
    """
    kept: set[int] = set(worth.basis)
    for members, resources in worth.groups:
        open_to = offers[problem.admits[offers][:, np.flatnonzero(members)[0]]]
        room, price = problem.room[open_to], problem.price[open_to]
        rates = [price / np.maximum(room @ resources, 1e-12)]
        rates += [price / np.maximum(room[:, r], 1e-12) for r in np.flatnonzero(problem.request.any(axis=0))]
        kept.update(open_to[np.argsort(rates[0], kind="stable")[:_BEST_RATES]])
        step = np.floor(np.log2(price / price.min()))
        for size in np.unique(step):
            of_size = np.flatnonzero(step == size)
            kept.update(open_to[of_size[rate[of_size].argmin()]] for rate in rates)
    for shape in range(len(problem.count)):
        kept.update(_smallest(problem, offers, shape))
    return np.array(sorted(int(at) for at in kept), dtype=np.int64)


def _smallest(problem: Problem, offers: Ints, shape: int) -> set[int]:
    """Return the cheapest offer that holds a copy of the shape, and the one that takes least of every limit."""
    holds = problem.admits[offers, shape] & (problem.room[offers] >= problem.request[shape]).all(axis=1)
    held = offers[holds]
    if not len(held):
        return set()
    limited = np.flatnonzero(problem.charge[held].any(axis=0))
    leasts = [problem.price[held], *(problem.charge[held, q] for q in limited)]
    return {int(held[least.argmin()]) for least in leasts}
