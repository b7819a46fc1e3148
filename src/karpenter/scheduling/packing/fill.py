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
    request = problem.request[np.ix_(wanted, np.flatnonzero(problem.request.any(axis=0)))]
    room = problem.room[np.ix_(offers, np.flatnonzero(problem.request.any(axis=0)))]
    able = np.minimum(problem.admits[np.ix_(offers, wanted)] * left[wanted], problem.most[wanted]).astype(np.float64)
    copies = np.zeros((len(offers), len(left)), dtype=np.int64)
    with np.errstate(divide="ignore"):
        per_copy = 1.0 / request
    # What is left after a copy, squared and summed, is this less a part that is the same for all shapes of a row.
    unit = 1.0 / np.maximum(room, 1.0) ** 2
    own = unit @ (request**2).T
    rows = np.arange(len(offers))
    while len(rows):
        fits = able.copy()
        for r in range(room.shape[1]):
            np.minimum(fits, (room[:, r, None] + SLACK) * per_copy[:, r], out=fits)
        np.floor(fits, out=fits)
        after = own - (2.0 * unit * room) @ request.T
        after[fits < 1] = np.inf
        best = after.argmin(axis=1)
        at = np.arange(len(rows))
        going = after[at, best] < np.inf
        if not going.all():
            rows, best, fits, take = rows[going], best[going], fits[going], take[going]
            able, room, unit, own = able[going], room[going], unit[going], own[going]
            at = np.arange(len(rows))
        number = np.maximum(1.0, np.floor(fits[at, best] * take))
        copies[rows, wanted[best]] += number.astype(np.int64)
        able[at, best] -= number
        room -= number[:, None] * request[best]
    return copies
