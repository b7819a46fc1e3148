"""Put copies on machines that are planned already, on larger ones where that is what they take.

This is how the last copies find room when a limit lets no further machine be opened, and how a machine is done without.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.groups import GroupTable
from karpenter.scheduling.packing.ledger import packing_of
from karpenter.scheduling.packing.problem import Packing, Pattern, Problem

_HALF_A_UNIT: Final = 0.25
"""Amounts are whole numbers: this much more room makes up for rounding and is no room for anything."""
_MOST_STEPS: Final = 400


def inserted(problem: Problem, packing: Packing, offers: Ints, *, may_open: bool = True) -> Packing:
    """Return the packing with as many of the copies that it leaves as limits allow, each where it adds least.

    A machine may become one of another of the `offers`; without `may_open` no machine is added.
    """
    machines = _Machines(problem, packing, offers)
    share = (problem.request / np.maximum(problem.room[offers].max(axis=0, initial=1.0), 1.0)).max(axis=1)
    stuck = np.zeros(len(share), dtype=np.bool_)
    for _ in range(_MOST_STEPS):
        waiting = (machines.left > 0) & ~stuck
        if not waiting.any():
            break
        shape = int(np.where(waiting, share, -1.0).argmax())
        if not machines.insert(shape, may_open=may_open):
            stuck[shape] = True
    return packing_of(problem, machines.patterns())


class _Machines:
    """The machines of a packing, equal ones in one row; the last row is the machine that is not there yet."""

    def __init__(self, problem: Problem, packing: Packing, offers: Ints) -> None:
        self._problem = problem
        self._offers = offers
        self._groups = GroupTable(problem.groups, problem.clique, problem.most)
        shapes = len(problem.count)
        self._offer = np.array([*(each.offer for each in packing.patterns), -1], dtype=np.int64)
        self._copies = np.array([*(each.copies for each in packing.patterns), np.zeros(shapes)], dtype=np.int64)
        self._times = np.array([each.times for each in packing.patterns], dtype=np.int64)
        amounts = self._copies.astype(np.float64)
        self._load = amounts @ problem.request
        """What is on the machines of each row (n×R)."""
        self._barred: Bools = (amounts > 0).astype(np.float64) @ ~problem.admits[offers].T > 0
        """Offers that do not admit all of it (n×offers)."""
        self.left = packing.left.copy()
        self._budget = problem.budget - self._charge(self._offer[:-1]).T @ self._times

    def _charge(self, offers: Ints) -> Floats:
        return np.where(offers[:, None] >= 0, self._problem.charge[offers], 0.0)

    def insert(self, shape: int, *, may_open: bool) -> bool:
        """Put copies of a shape where they cost least; return whether there was a place."""
        fits = self._fits(shape)
        fits[:-1][self._times == 0] = 0
        if not may_open:
            fits[-1] = 0
        price = np.where(self._offer >= 0, self._problem.price[self._offer], 0.0)
        added = self._problem.price[self._offers] - price[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(fits > 0, added / fits, np.inf)
        row, at = np.unravel_index(int(each.argmin()), each.shape)
        if not np.isfinite(each[row, at]):
            return False
        number, offer = int(fits[row, at]), int(self._offers[at])
        more = self._problem.charge[offer] - self._charge(self._offer[row : row + 1])[0]
        affordable = float(np.floor(self._budget[more > 0] / more[more > 0]).min(initial=np.inf))
        times = int(
            min(self.left[shape] // number, affordable, np.inf if row == len(self._times) else self._times[row])
        )
        copies = self._copies[row].copy()
        copies[shape] += number
        self._change(int(row), offer, copies, times=times)
        self._load = np.insert(self._load, -1, self._load[row] + number * self._problem.request[shape], axis=0)
        barred = self._barred[row] | ~self._problem.admits[self._offers, shape]
        self._barred = np.insert(self._barred, -1, barred, axis=0)
        self.left[shape] -= times * number
        self._budget = self._budget - times * more
        return True

    def _fits(self, shape: int) -> Ints:
        """Return how many copies of a shape each row takes more as a machine of each offer, limits kept (n×offers)."""
        problem = self._problem
        load, request = self._load, problem.request[shape]
        fits = np.full((len(self._offer), len(self._offers)), float(self.left[shape]))
        for resource in np.flatnonzero(request):
            room = problem.room[self._offers, resource] + _HALF_A_UNIT - load[:, resource, None]
            np.minimum(fits, np.floor(room / request[resource]), out=fits)
        roomy: Bools = np.all(problem.room[self._offers] >= load[:, None], axis=2)
        fits[~roomy | self._barred] = 0
        fits[:, ~problem.admits[self._offers, shape]] = 0
        own, counted = self._groups.owners[shape][None], self._groups.matched[shape][None]
        spare, owned = self._groups.cap - self._copies @ self._groups.matched, self._copies @ self._groups.owners > 0
        caps = self._groups.limit(own, counted, spare=spare, owned=owned)
        np.minimum(fits, np.floor(caps)[:, None], out=fits)
        now = self._charge(self._offer)
        for limit, budget in enumerate(self._budget.tolist()):
            more = problem.charge[self._offers, limit] - now[:, limit, None]
            fits[(more > budget) & (more > 0)] = 0
        return np.asarray(np.maximum(fits, 0).astype(np.int64))

    def _change(self, row: int, offer: int, copies: Ints, *, times: int) -> None:
        """Make so many machines of a row machines of this offer with these copies."""
        if row < len(self._times):
            self._times[row] -= times
        last = len(self._times)
        self._offer = np.insert(self._offer, last, offer)
        self._copies = np.insert(self._copies, last, copies, axis=0)
        self._times = np.append(self._times, times)

    def patterns(self) -> list[Pattern]:
        """Return the machines."""
        rows = zip(self._offer[:-1].tolist(), self._copies[:-1], self._times.tolist(), strict=True)
        return [Pattern(offer, copies, times) for offer, copies, times in rows if times]
