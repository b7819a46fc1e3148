"""Packing as the Go Karpenter does it: large copies first, each on the machine with the fewest, types left open.

It fills few, large machines. That is seldom cheap, but where there are only a handful of machines or no more may be
launched it is hard to beat, and with it among the members of the portfolio no plan is dearer than the peer's. Copies
of one shape are placed at once: those that take turns on the emptiest machines raise these to one level, like water.
"""

from __future__ import annotations

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.groups import GroupTable
from karpenter.scheduling.packing.ledger import Ledger
from karpenter.scheduling.packing.problem import Packing, Problem
from karpenter.scheduling.packing.thin import roomiest

_HALF_A_UNIT = 0.25
"""Amounts are whole numbers: this much more room makes up for rounding and is no room for anything."""


def first_fit(problem: Problem) -> Packing:
    """Return a packing in the peer's order; its machines are of large offers and want a cheaper one that holds them."""
    machines = _Machines(problem)
    for shape in np.lexsort(tuple(-problem.request[:, at] for at in reversed(range(problem.request.shape[1])))):
        machines.place(int(shape))
    ledger = Ledger(problem)
    for offer, copies in machines.filled():
        ledger.take(offer, copies, 1)
    return ledger.packing()


class _Machines:
    """B machines in the making, each still of any of the L roomiest offers that hold what is on it."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._offers = roomiest(problem)
        self._groups = GroupTable(problem.groups, problem.clique, problem.most)
        self._copies: Ints = np.zeros((0, len(problem.count)), dtype=np.int64)
        self._load: Floats = np.zeros((0, problem.request.shape[1]))
        self._open: Bools = np.zeros((0, len(self._offers)), dtype=np.bool_)
        """Offers that admit all that is on the machine (B×L)."""
        self._most = most_machines(problem)

    def place(self, shape: int) -> None:
        """Place all copies of a shape, on new machines when the others are full."""
        left = int(self._problem.count[shape])
        if len(self._copies):
            self._add(shape, _levelled(self._copies.sum(axis=1), self._fits(shape, left), left))
            left -= int(self._copies[:, shape].sum())
        alone = self._problem.admits[self._offers, shape]
        fits = int(self._fits(shape, left, empty=alone[None])[0]) if left else 0
        if fits:
            number = int(min(-(-left // fits), self._most - len(self._copies)))
            self._grow(number)
            begun = np.minimum(fits, left - fits * np.arange(number))
            self._add(shape, np.concatenate((np.zeros(len(self._copies) - number, dtype=np.int64), begun)))

    def _fits(self, shape: int, most: int, *, empty: Bools | None = None) -> Ints:
        """Return how many copies more each machine takes; with `empty` (1×L) how many an empty one does."""
        problem, request = self._problem, self._problem.request[shape]
        load = self._load if empty is None else np.zeros((1, len(request)))
        copies = self._copies if empty is None else np.zeros((1, len(problem.count)), dtype=np.int64)
        fits = np.full((len(load), len(self._offers)), float(most))
        for resource in range(len(request)):
            room = problem.room[self._offers, resource] + _HALF_A_UNIT - load[:, resource, None]
            fits[room < 0] = 0.0
            if request[resource]:
                np.minimum(fits, room / request[resource], out=fits)
        admitted = problem.admits[self._offers, shape] & (self._open if empty is None else empty)
        held = np.where(admitted, np.floor(fits), 0.0).max(axis=1, initial=0.0)
        own, counted = self._groups.owners[shape][None], self._groups.matched[shape][None]
        spare, owned = self._groups.cap - copies @ self._groups.matched, copies @ self._groups.owners > 0
        caps = self._groups.limit(own, counted, spare=spare, owned=owned)
        return np.asarray(np.minimum(held, caps).astype(np.int64))

    def _add(self, shape: int, more: Ints) -> None:
        self._copies[:, shape] += more
        self._load += more[:, None] * self._problem.request[shape]
        self._open[more > 0] &= self._problem.admits[self._offers, shape]

    def _grow(self, number: int) -> None:
        self._copies = np.concatenate((self._copies, np.zeros((number, self._copies.shape[1]), dtype=np.int64)))
        self._load = np.concatenate((self._load, np.zeros((number, self._load.shape[1]))))
        self._open = np.concatenate((self._open, np.ones((number, self._open.shape[1]), dtype=np.bool_)))

    def filled(self) -> list[tuple[int, Ints]]:
        """Return an offer that holds each machine's load, the cheapest of those it is open to, and the copies."""
        problem = self._problem
        holds = self._open & np.all(problem.room[self._offers] + _HALF_A_UNIT >= self._load[:, None], axis=2)
        price = np.where(holds, problem.price[self._offers], np.inf)
        chosen = self._offers[price.argmin(axis=1)].tolist() if len(price) else []
        return list(zip(chosen, self._copies, strict=True))


def most_machines(problem: Problem) -> float:
    """Return how many machines the limits pay for in which all offers count alike: limits on nodes."""
    alike = np.flatnonzero((problem.charge == problem.charge[:1]).all(axis=0) & (problem.charge[:1] > 0).all(axis=0))
    return float(np.floor(problem.budget[alike] / problem.charge[0, alike]).min(initial=np.inf))


def _levelled(held: Ints, fits: Ints, amount: int) -> Ints:
    """Return how many copies each machine gets, the emptiest first: as level as what they take (`fits`) allows."""
    if fits.sum() <= amount:
        return fits
    low, high = int(held.min()), int((held + fits).max())
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.clip(middle - held, 0, fits).sum() <= amount else (low, middle - 1)
    given = np.clip(low - held, 0, fits)
    more = np.flatnonzero((given < fits) & (held + given == low))[: amount - int(given.sum())]
    given[more] += 1
    return given
