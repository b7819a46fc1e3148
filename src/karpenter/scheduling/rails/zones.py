"""The zone of each machine: no zone holds more than its share of a pool, as far as that costs little.

Machines that can be in one zone only are where they are. The others go to their cheapest zone, among equal ones to that
which holds least; then those for which it costs least leave the zones that hold too much, until the money is spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Floats
from karpenter.scheduling.policy import ZoneRails

_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Quote:
    """What one machine costs in each zone, and how many vCPU it has there (Z)."""

    price: Floats
    """USD per hour; infinite where it cannot be."""
    cores: Floats

    @property
    def is_open(self) -> bool:
        """Whether there is a choice."""
        return int(np.isfinite(self.price).sum()) > 1


def share_of(zones: int, rails: ZoneRails) -> float:
    """Return how much of a pool one of so many zones may hold."""
    if zones < 2:
        return 1.0
    return rails.of_two if zones == 2 else rails.of_three


def zones_of(quotes: Mapping[int, Quote], held: Floats, *, share: float, most_cost: float) -> dict[int, int]:
    """Return the zone of each machine of one pool, by its row.

    `held` are the vCPU that the pool has in each zone (Z); levelling costs at most the share `most_cost` of what the
    machines cost in their cheapest zones.
    """
    load = held.tolist()
    chosen: dict[int, int] = {}
    # Thousands of machines have a handful of different quotes.
    read = {key: _Read.of(quote) for key, quote in {id(quote): quote for quote in quotes.values()}.items()}
    for row in _in_turn(quotes, read):
        quote = read[id(quotes[row])]
        zone = chosen[row] = min(quote.cheapest, key=load.__getitem__)
        load[zone] += quote.cores[zone]
    least = sum(read[id(quote)].least for quote in quotes.values())
    level = _Levelling(quotes, chosen, np.array(load), share, most_cost * least)
    for zone in np.argsort(-level.load, kind="stable").tolist():
        level.relieve(zone)
    return chosen


@dataclass(slots=True)
class _Levelling:
    """Moves machines out of zones that hold too much."""

    quotes: Mapping[int, Quote]
    chosen: dict[int, int]
    load: Floats
    share: float
    budget: float
    """USD per hour that may still be spent."""

    def relieve(self, zone: int) -> None:
        """Move machines out of a zone while it holds too much."""
        if self.load[zone] <= self._limit:
            return
        leaving = [row for row in self.chosen if self.chosen[row] == zone and self.quotes[row].is_open]
        for row in sorted(leaving, key=lambda row: (_dearer(self.quotes[row], zone), row)):
            if self.load[zone] <= self._limit:
                return
            self._move(row, zone)

    @property
    def _limit(self) -> float:
        return self.share * float(self.load.sum()) + _TINY

    def _move(self, row: int, zone: int) -> None:
        """Move a machine to where that costs least and helps, if it can be paid."""
        quote = self.quotes[row]
        there = self.load + quote.cores
        helps = (there <= self._limit) | (there < self.load[zone])
        helps[zone] = False
        more = np.where(helps, quote.price, np.inf) - quote.price[zone]
        best = int(np.lexsort((self.load, more))[0])
        if more[best] <= self.budget + _TINY:
            self.budget -= float(more[best])
            self.load[zone] -= quote.cores[zone]
            self.load[best] += quote.cores[best]
            self.chosen[row] = best


def _dearer(quote: Quote, zone: int) -> float:
    """Return what a vCPU of the machine costs more in the best other zone."""
    others = np.delete(quote.price, zone)
    return float((others.min() - quote.price[zone]) / max(quote.cores[zone], _TINY))


@dataclass(frozen=True, slots=True)
class _Read:
    """A quote in numbers of Python, which are read faster one by one."""

    cheapest: tuple[int, ...]
    """Zones with the least price."""
    least: float
    cores: tuple[float, ...]
    largest: float
    is_open: bool

    @classmethod
    def of(cls, quote: Quote) -> _Read:
        least = float(quote.price.min())
        cheapest = tuple(np.flatnonzero(quote.price == least).tolist())
        return cls(cheapest, least, tuple(quote.cores.tolist()), float(quote.cores.max()), quote.is_open)


def _in_turn(quotes: Mapping[int, Quote], read: Mapping[int, _Read]) -> list[int]:
    """Return the rows in the order in which they get a zone: those without a choice, then the largest first."""

    def turn(row: int) -> tuple[bool, float, int]:
        quote = read[id(quotes[row])]
        return quote.is_open, -quote.largest, row

    return sorted(quotes, key=turn)
