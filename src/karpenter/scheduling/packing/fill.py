"""Fill one machine of each of many offers at once, all in step: numpy does one pass per step for all of them."""

from __future__ import annotations

import numpy as np

from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.packing.problem import SLACK, Problem


def fill(problem: Problem, offers: Ints, left: Ints, *, take: Floats) -> Ints:
    """Return copies of each shape on one machine of each row (rows×S), never more of a shape than `left`.

    Each step a row takes the shape after whose copy the least remains, squared and in units of the machine: large
    shapes that lean the way the remaining room does come first, small ones close the gaps. Of the copies that fit it
    takes the share `take` (one for each row); a lower share mixes more.
    """
    wanted = np.flatnonzero(left)
    request = problem.request[wanted]
    room = problem.room[offers]
    unit = 1.0 / np.maximum(room, 1.0)
    able = np.minimum(problem.admits[np.ix_(offers, wanted)] * left[wanted], problem.most[wanted]).astype(np.float64)
    taken = np.zeros((len(offers), len(wanted)))
    asked = np.flatnonzero(request.any(axis=0))
    inverse = [np.where(request[:, r] > 0, 1.0 / np.maximum(request[:, r], SLACK), 0.0) for r in asked]
    rows = np.arange(len(offers))
    while len(rows):
        fits = able[rows]
        after = np.zeros_like(fits)
        for r, per in zip(asked, inverse, strict=True):
            remaining = room[rows, r][:, None]
            copies = np.floor((remaining + SLACK) * per)
            copies[:, per == 0] = np.inf
            np.minimum(fits, copies, out=fits)
            after += ((remaining - request[:, r]) * unit[rows, r][:, None]) ** 2
        after[fits < 1] = np.inf
        best = after.argmin(axis=1)
        at = np.arange(len(rows))
        going = np.isfinite(after[at, best])
        rows, best, at = rows[going], best[going], at[going]
        number = np.maximum(1.0, np.floor(fits[at, best] * take[rows]))
        taken[rows, best] += number
        able[rows, best] -= number
        room[rows] -= number[:, None] * request[best]
    copies_of = np.zeros((len(offers), len(left)), dtype=np.int64)
    copies_of[:, wanted] = taken
    return copies_of
