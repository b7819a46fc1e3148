"""The last decision: zone and list of types of every machine to launch, with what its pool has already in mind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from karpenter.model import labels
from karpenter.model.resources import CPU
from karpenter.model.units import PoolKey
from karpenter.scheduling.bins import Bins
from karpenter.scheduling.catalog import Floats
from karpenter.scheduling.choosing import Choice, Chooser
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.policy import Policy
from karpenter.scheduling.rails.spot import SpotShares
from karpenter.scheduling.rails.zones import Quote, share_of, zones_of
from karpenter.scheduling.snapshot import NodeView


@dataclass(frozen=True, slots=True)
class Settled:
    """What one machine is to be."""

    choice: Choice
    zone: str
    capacity_type: str
    extra: float
    """USD per hour more than in the cheapest zone, with the cheapest type."""


@dataclass(frozen=True, slots=True)
class Settler:
    """Settles the opened machines of a finished solve."""

    chooser: Chooser
    policy: Policy

    def settle(self, bins: Bins) -> dict[int, Settled]:
        """Return what each opened machine is to be, by its row.

        Under the rails a machine is for its zone only: it launches there or not at all, and then its pods are planned
        anew. Otherwise the zone is where it is likely to be, and the cloud may choose another of the same price.
        """
        quotes = {row: self.chooser.quote(bins, row) for row in bins.opened()}
        zones = self._zones(bins, quotes)
        chosen = {row: self._choose(bins, row, zone) for row, zone in zones.items()}
        if self.policy.rails:
            chosen = self._shared_out(bins, zones, chosen)
        return {
            row: _settled(bins.columns, choice, zones[row], least=float(quotes[row].price.min()))
            for row, choice in chosen.items()
        }

    def _choose(self, bins: Bins, row: int, zone: int, *, without: frozenset[str] = frozenset()) -> Choice:
        return self.chooser.choose(bins, row, zone=zone if self.policy.rails else None, without=without)

    def _zones(self, bins: Bins, quotes: Mapping[int, Quote]) -> dict[int, int]:
        """Return the zone of each opened machine, pool by pool."""
        by_pool: dict[PoolKey, dict[int, Quote]] = {}
        for row, quote in quotes.items():
            by_pool.setdefault(_pool(bins, row), {})[row] = quote
        held = _held(bins.nodes.views, bins.columns.zones)
        rails = self.policy.zones
        zones: dict[int, int] = {}
        for pool, of_pool in by_pool.items():
            there = held.get(pool, np.zeros(len(bins.columns.zones)))
            share = share_of(_open_zones(bins.columns, pool), rails) if self.policy.rails else 1.0
            zones |= zones_of(of_pool, there, share=share, most_cost=rails.most_cost)
        return {row: zones[row] for row in quotes}

    def _shared_out(self, bins: Bins, zones: Mapping[int, int], chosen: Mapping[int, Choice]) -> dict[int, Choice]:
        """Return the choices with no spot type of a zone taken too often."""
        settled = {row: _settled(bins.columns, choice, zones[row], least=0.0) for row, choice in chosen.items()}
        spot = [row for row, machine in settled.items() if machine.capacity_type == labels.SPOT]
        shares = SpotShares.of(self.policy.flexibility, bins.nodes.views, (_pool(bins, row) for row in spot))
        kept = dict(chosen)
        for row in spot:
            pool, zone = _pool(bins, row), settled[row].zone
            gone = shares.exhausted(pool, zone)
            if gone.intersection(kept[row].instance_types):
                kept[row] = self._choose(bins, row, zones[row], without=gone)
            shares.add(pool, kept[row].instance_types[0], zone)
        return kept


def _pool(bins: Bins, row: int) -> PoolKey:
    return bins.columns.lane_of(int(bins.column[row])).view.pool.key


def _held(views: Iterable[NodeView], zones: tuple[str, ...]) -> dict[PoolKey, Floats]:
    """Return the vCPU that each pool has in each of these zones (Z)."""
    held: dict[PoolKey, Floats] = {}
    for view in views:
        if view.pool is not None and view.zone in zones:
            there = held.setdefault(view.pool, np.zeros(len(zones)))
            there[zones.index(view.zone)] += view.capacity.get(CPU, 0) / 1000
    return held


def _open_zones(columns: Columns, pool: PoolKey) -> int:
    """Return in how many zones a pool can launch anything."""
    lanes = [at for at, lane in enumerate(columns.lanes) if lane.view.pool.key == pool]
    return int(np.isfinite(columns.price[np.isin(columns.lane, lanes)]).any(axis=(0, 2)).sum())


def _settled(columns: Columns, choice: Choice, zone: int, *, least: float) -> Settled:
    if not choice.places[zone].any():
        # The claim is for several zones, and the cheapest type is not the one by which its zone was found.
        zone = int(np.flatnonzero(choice.places.any(axis=1))[0])
    extra = max(choice.price - least, 0.0)
    return Settled(choice, columns.zones[zone], _capacity_type(columns, choice, zone), extra)


def _capacity_type(columns: Columns, choice: Choice, zone: int) -> str:
    return columns.capacity_types[int(np.flatnonzero(choice.places[zone])[0])]
