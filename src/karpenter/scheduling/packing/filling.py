"""Fill many machines at once, each with its own shapes in its own order.

All machines advance together, one shape a step, so a step is a handful of array operations whatever the number of
machines. Arrays have machines last: sums and minima over the few resources then run along the machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.groups import Group, GroupTable
from karpenter.scheduling.packing.problem import Problem

_HALF_A_UNIT: Final = 0.25
"""Amounts are whole numbers below 2**46: this much more room makes up for rounding and is no room for anything."""


class Filling:
    """What the machines of a problem hold. W amounts: resources, and caps on the sum of some shapes' copies."""

    def __init__(self, problem: Problem) -> None:
        used = np.flatnonzero(problem.request.any(axis=0))
        cliques = [
            Group(problem.clique == at, problem.clique == at, int(cap)) for at, cap in enumerate(problem.most[:-1])
        ]
        sums = [group for group in (*cliques, *problem.groups) if np.array_equal(group.owners, group.matched)]
        others = [group for group in problem.groups if not np.array_equal(group.owners, group.matched)]
        takes = [problem.request[:, used].T, *(group.owners[None].astype(np.float64) for group in sums)]
        caps = [problem.room[:, used].T, *(np.full((1, len(problem.room)), float(group.cap)) for group in sums)]
        self._request: Floats = np.concatenate(takes)
        """W×S."""
        self._room: Floats = np.concatenate(caps) + _HALF_A_UNIT
        """W×J."""
        with np.errstate(divide="ignore"):
            self._per_copy: Floats = 1.0 / self._request
        rules = GroupTable(others, np.full(len(problem.count), -1), np.array([np.inf]))
        self._rules = _Rules(rules) if others else None

    def take(self, offers: Ints, order: Ints, most: Floats, *, share: Floats, base: Ints) -> Floats:
        """Return how many copies each machine (n) takes of its shapes (`order`, steps×n), never more than `most`.

        It begins with `base` (n×S) and takes of each shape in turn a `share` of what fits, but one at least; then it
        tops up with all that fits.
        """
        loads = base.astype(np.float64)
        room = np.ascontiguousarray(self._room[:, offers]) - self._request @ loads.T
        request, per_copy = self._request[:, order], self._per_copy[:, order]
        rules = None if self._rules is None else self._rules.begin(order, loads)
        taken, more = np.zeros(order.shape), most.copy()
        fits, amounts = np.empty(len(offers)), np.empty(room.shape)
        some = np.empty(len(offers))
        for topping_up in (False, True):
            for step in range(len(order)):
                np.multiply(room, per_copy[:, step], out=amounts)
                np.minimum.reduce(amounts, axis=0, out=fits)
                np.minimum(fits, more[step], out=fits)
                if rules is not None:
                    rules.cap(step, fits)
                np.floor(fits, out=fits)
                if not topping_up:
                    np.floor(np.multiply(fits, share[step], out=some), out=some)
                    np.minimum(np.maximum(some, 1.0, out=some), fits, out=fits)
                taken[step] += fits
                more[step] -= fits
                room -= np.multiply(request[:, step], fits, out=amounts)
                if rules is not None:
                    rules.count(step, fits)
        return taken


class _Rules:
    """Rules that bind only machines with an owner, while machines are filled: G rules."""

    def __init__(self, table: GroupTable) -> None:
        self._table = table
        self._counts_owners = bool((table.matched | ~table.owners).all())

    def begin(self, order: Ints, loads: Floats) -> _Held:
        """Return how the rules stand for machines with these loads (n×S) that take shapes in this order (steps×n)."""
        table = self._table
        owners, matched = table.owners.T, table.matched.T
        return _Held(
            owners=owners[:, order],
            matched=matched[:, order],
            spare=table.cap[:, None] - matched.astype(np.float64) @ loads.T,
            owned=owners.astype(np.float64) @ loads.T > 0,
            counts_owners=self._counts_owners,
        )


@dataclass(slots=True)
class _Held:
    """How the rules stand while machines are filled."""

    owners: Bools
    """Which rules the shape of each step states (G×steps×n)."""
    matched: Bools
    """Which rules count it (G×steps×n)."""
    spare: Floats
    """What is left of each cap on each machine (G×n)."""
    owned: Bools
    """Where owners are (G×n)."""
    counts_owners: bool
    """Whether every rule counts all who state it."""

    def cap(self, step: int, fits: Floats) -> None:
        """Lower how many copies fit (n) to what the rules allow."""
        owners, matched = self.owners[:, step], self.matched[:, step]
        limit = np.maximum(self.spare, 0.0)
        if not self.counts_owners:
            # Who is not counted may come to an owner's machine unless too many that are counted are there already.
            limit = np.where(matched, limit, np.where(self.spare >= 0, np.inf, 0.0))
        binding = owners | (matched & self.owned)
        np.minimum(fits, np.where(binding, limit, np.inf).min(axis=0), out=fits)

    def count(self, step: int, fits: Floats) -> None:
        """Count the copies that were taken (n)."""
        self.spare -= self.matched[:, step] * fits
        self.owned |= self.owners[:, step] & (fits > 0)
