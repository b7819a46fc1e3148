"""Fill one machine of each of many offers at once, all in step: numpy does one pass per step for all of them."""

from __future__ import annotations

import numpy as np

from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.packing.problem import Problem

_TINY = 1e-9
_UP = 1.0 + 1e-14
"""Amounts are whole numbers below 2**46 or so: this outweighs the rounding of a product and no real shortage."""
_TAKE = 0.5
"""Share of the fitting copies that a step takes. All at once costs 1 % in price, a third of them brings nothing."""


def fill(problem: Problem, offers: Ints, left: Ints, *, worth: Floats | None = None) -> Ints:
    """Return copies of each shape on one machine of each row (rows×S), never more of a shape than `left`.

    Each step a row takes one more shape, half of the copies that fit. Without `worth` that is the shape after whose
    copy the least remains, squared and in units of the machine: large shapes that lean the way the remaining room does
    come first, small ones close the gaps. With `worth` (S) it is the shape that is worth most for its part of what
    remains; worthless ones stay out.
    """
    wanted = np.flatnonzero(left if worth is None else (left > 0) & (worth > 0))
    used = np.flatnonzero(problem.request.any(axis=0))
    request, room = problem.request[np.ix_(wanted, used)], problem.room[np.ix_(offers, used)]
    able = (problem.admits[np.ix_(offers, wanted)] * left[wanted]).astype(np.float64)
    clique, spare = problem.clique[wanted], np.repeat(problem.most[None], len(offers), axis=0)
    copies = np.zeros((len(offers), len(left)), dtype=np.int64)
    with np.errstate(divide="ignore"):
        per_copy = _UP / request
    # What remains after a copy, squared and summed, is `own` less a product and what is the same for all shapes.
    unit = 1.0 / np.maximum(room, 1.0) ** 2
    own = unit @ (request**2).T
    rows = np.arange(len(offers))
    while len(rows) and len(wanted):
        fits = np.minimum(able, spare[:, clique])
        for r in range(len(used)):
            np.minimum(fits, (room[:, r, None] + _TINY) * per_copy[:, r], out=fits)
        np.floor(fits, out=fits)
        if worth is None:
            rank = own - (2.0 * unit * room) @ request.T
        else:
            rank = -worth[wanted] / np.maximum((1.0 / np.maximum(room, _TINY)) @ request.T, _TINY)
        rank[fits < 1] = np.inf
        best = rank.argmin(axis=1)
        at = np.arange(len(rows))
        going = rank[at, best] < np.inf
        if not going.all():
            rows, best, fits = rows[going], best[going], fits[going]
            able, room, unit, own, spare = able[going], room[going], unit[going], own[going], spare[going]
            at = np.arange(len(rows))
        number = np.maximum(1.0, np.floor(fits[at, best] * _TAKE))
        copies[rows, wanted[best]] += number.astype(np.int64)
        able[at, best] -= number
        spare[at, clique[best]] -= number
        room -= number[:, None] * request[best]
    return copies
