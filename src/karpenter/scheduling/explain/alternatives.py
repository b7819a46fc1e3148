"""What could be launched instead of a machine, at which price, and what the cheaper ones lack."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from karpenter.model import labels
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import PODS, Resources
from karpenter.scheduling.amounts import shown
from karpenter.scheduling.catalog import PLACE_KEYS, Bools, Floats, table_of
from karpenter.scheduling.daemons import Daemon
from karpenter.scheduling.explain.records import Alternative, Dimension, Offering
from karpenter.scheduling.holding import Holding, places
from karpenter.scheduling.lanes import Lane, can_launch, type_mask
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.snapshot import PoolView

_KEPT_OUT: Final = 3
"""Cheaper types that the pool or the pods keep out although they hold the pods."""
_DEARER: Final = 4
"""Other types that would do."""


@dataclass(frozen=True, slots=True)
class Load:
    """Pods that share a machine."""

    rules: tuple[NodeRule, ...]
    """What they demand of it, preferences left out."""
    requests: Resources
    daemons: tuple[Daemon, ...]
    well_known: frozenset[str]


@dataclass(frozen=True, slots=True)
class Bound:
    """What a rule about other pods leaves of a label over which machines differ."""

    values: frozenset[str]
    rule: str
    """In words."""


def alternatives(
    pools: Sequence[PoolView], load: Load, chosen: Offering, *, bound: Mapping[str, Bound]
) -> Iterator[Alternative]:
    """Yield other types, zones and capacity types of the chosen pool, and other pools.

    `bound` tells what rules about other pods leave of zones and capacity types.
    """
    for view in pools:
        if view.pool.key == chosen.pool:
            market = _market(view, load)
            if isinstance(market, _Market):
                yield from market.bound_by(bound, ()).types(chosen)
                for key in (labels.ZONE, labels.CAPACITY_TYPE):
                    yield from market.bound_by(bound, (key,)).along(key, chosen, bound)
    for view in pools:
        if view.pool.key != chosen.pool:
            yield _of_pool(view, load)


def cheapest(pools: Sequence[PoolView], load: Load) -> Offering | None:
    """Return the cheapest offering of all pools that would do; None without one."""
    found = [market.best() for view in pools if isinstance(market := _market(view, load), _Market)]
    return min((each for each in found if each is not None), key=lambda each: each.price, default=None)


def _of_pool(view: PoolView, load: Load) -> Alternative:
    market = _market(view, load)
    if isinstance(market, str):
        return Alternative("pool", str(view.pool.key), None, market)
    best = market.best()
    why_not = "" if best is not None else "none of its types that can be had holds them together"
    return Alternative("pool", str(view.pool.key), best, why_not)


def _market(view: PoolView, load: Load) -> _Market | str:
    """Return what a pool has for the pods; in words why nothing, if it has nothing at all."""
    if view.unready is not None:
        return f"it is not ready: {view.unready}"
    if not can_launch(view):
        return "it opens no nodes for pods"
    lane = Lane(view, table_of(view.instance_types), view.pool.node_requirements(), 0)
    wanted = Requirements()
    for rule in load.rules:
        taints = rule.untolerated(view.pool.template.taints)
        if taints:
            return f"not all tolerate its taint {', '.join(map(str, taints))}"
        fitting = [term for term in rule.terms if lane.requirements.compatible(term, well_known=load.well_known)]
        fitting = [term for term in fitting if not wanted.conflicts(term)]
        if not fitting:
            conflicts = [lane.requirements.incompatibilities(term, well_known=load.well_known) for term in rule.terms]
            return str(min(conflicts, key=len)[0]) if conflicts and all(conflicts) else "their demands exclude it"
        wanted = wanted.intersect(fitting[0])
    return _Market(lane, wanted, Holding(lane, load.daemons, load.well_known), load.requests)


@dataclass(frozen=True, slots=True)
class _Market:
    """The offerings of a pool, looked at for one load."""

    lane: Lane
    wanted: Requirements
    holding: Holding
    requests: Resources

    def bound_by(self, bound: Mapping[str, Bound], free: Collection[str]) -> _Market:
        """Return the market with what rules about other pods leave of it, some keys apart."""
        kept = (Requirement.of(key, "In", rule.values) for key, rule in bound.items() if key not in free)
        return replace(self, wanted=self.wanted.intersect(tuple(kept)))

    def types(self, chosen: Offering) -> Iterator[Alternative]:
        """Yield cheaper types with what they lack, and the cheapest others that would do.

        Of the cheaper ones those that would hold the pods come first: somebody's demand keeps them out. Of those that
        are allowed and too small, the nearest in price.
        """
        prices = self._had(places(self.lane, self._asked()))
        least, names = prices.min(axis=(1, 2)), self.lane.table.names
        good, holds = self._good(), self._open_holding().holds(self.requests)
        order = [int(at) for at in np.argsort(least, kind="stable") if names[int(at)] != chosen.instance_type]
        cheaper = [at for at in order if least[at] < chosen.price and not good[at]]
        kept_out = [at for at in cheaper if holds[at]][:_KEPT_OUT]
        too_small = [at for at in cheaper if not holds[at] and self._allowed()[at]][-1:]
        for at in (*kept_out, *too_small):
            yield Alternative("type", names[at], self._offering(prices, at), self._lack(at))
        for at in [at for at in order if good[at] and np.isfinite(least[at])][:_DEARER]:
            yield Alternative("type", names[at], self._offering(prices, at), "")

    def along(self, key: str, chosen: Offering, bound: Mapping[str, Bound]) -> Iterator[Alternative]:
        """Yield the cheapest offering of every other zone or capacity type."""
        table = self.lane.table
        values = table.zones if key == labels.ZONE else table.capacity_types
        now = chosen.zone if key == labels.ZONE else chosen.capacity_type
        # What binds this key is what the question is about; the other one stays as the pods and the pool want it.
        everywhere = self._asked().without(key)
        for value in (value for value in values if value != now):
            here = everywhere.intersect(Requirements.from_labels({key: value}))
            prices = np.where(self._good()[:, None, None], self._had(places(self.lane, here)), np.inf)
            found = self._offering(prices) if np.isfinite(prices).any() else None
            dimension: Dimension = "zone" if key == labels.ZONE else "capacity type"
            yield Alternative(dimension, value, found, self._why_not(key, value, bound, has_offer=found is not None))

    def _why_not(self, key: str, value: str, bound: Mapping[str, Bound], *, has_offer: bool) -> str:
        if not self.lane.requirements.allowed(key).allows(value):
            return f"the pool allows {self.lane.requirements[key]}"
        if not self.wanted.allowed(key).allows(value):
            return f"the pods ask for {self.wanted[key]}"
        if key in bound and value not in bound[key].values:
            return f"{bound[key].rule} keeps the pods to {', '.join(sorted(bound[key].values))}"
        return "" if has_offer else "nothing that holds them can be had there"

    def best(self) -> Offering | None:
        """Return the cheapest offering that would do; None without one."""
        prices = np.where(self._good()[:, None, None], self._had(places(self.lane, self._asked())), np.inf)
        return self._offering(prices) if np.isfinite(prices).any() else None

    def _asked(self) -> Requirements:
        return self.lane.requirements.intersect(self.wanted)

    def _had(self, where: Bools) -> Floats:
        return np.where(where[None], self.lane.table.prices, np.inf)

    def _good(self) -> Bools:
        """Return which types hold the load and are allowed (T)."""
        return self._allowed() & self.holding.holds(self.requests)

    def _allowed(self) -> Bools:
        """Return which types the pool and the pods allow (T)."""
        return type_mask(self.lane, self._asked())

    def _open_holding(self) -> Holding:
        """Return who says what types hold, those included that the pool does not allow: daemons run there too."""
        of_types = [key for key in self.lane.requirements if self.lane.table.values(key)]
        return replace(self.holding, lane=replace(self.lane, requirements=self.lane.requirements.without(*of_types)))

    def _offering(self, prices: Floats, at: int | None = None) -> Offering:
        """Return the cheapest offering, of one type if that is given (T×Z×K)."""
        table = self.lane.table
        of_type = prices if at is None else prices[at : at + 1]
        first, zone, capacity_type = np.unravel_index(int(of_type.argmin()), of_type.shape)
        kind = int(first) + (at or 0)
        price = float(of_type.min())
        return Offering(
            self.lane.view.pool.key,
            table.names[kind],
            table.zones[int(zone)],
            table.capacity_types[int(capacity_type)],
            price,
        )

    def _lack(self, at: int) -> str:
        """Return what a type lacks."""
        table = self.lane.table
        for key, requirement in self.lane.requirements.items():
            if key not in PLACE_KEYS and not table.mask(requirement)[at]:
                return f"the pool allows {requirement}"
        for key, requirement in self.wanted.items():
            if key not in PLACE_KEYS and not table.mask(requirement)[at]:
                return f"the pods ask for {requirement}"
        return self._shortage(at)

    def _shortage(self, at: int) -> str:
        short = [
            (amount - int(self.holding.room(name)[at])) / max(amount, 1)
            for name, amount in sorted(self.requests.items())
        ]
        worst = int(np.argmax(short))
        name, amount = sorted(self.requests.items())[worst]
        has = max(0, int(self.holding.room(name)[at]))
        unit = "pods" if name == PODS else name
        return f"has room for {shown(name, has)} of {shown(name, amount)} {unit}"
