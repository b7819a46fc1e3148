"""Which machine each planned load gets: the cheapest that holds it, and the others that would do.

Source: spec v1 S-23, S-46, S-61; spec v1alpha5 SCH-24, SCH-26.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from karpenter.model import labels
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import CPU
from karpenter.model.units import PoolKey
from karpenter.scheduling.bins import Bins
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.flexibility import Spectrum, lowered, shortened, suffices
from karpenter.scheduling.items import Item
from karpenter.scheduling.lanes import type_mask
from karpenter.scheduling.limits import Budget
from karpenter.scheduling.rails.size import Sizes
from karpenter.scheduling.rules import NodeRule


@dataclass(frozen=True, slots=True)
class Choice:
    """The machines that would do for one load, and the best of them."""

    column: int
    instance_types: tuple[str, ...]
    """Cheapest first; the planned one leads."""
    price: float
    """USD per hour of the cheapest offering."""
    worst_price: float
    """USD per hour of the dearest one that the cloud may give."""
    places: Bools
    """Zones and capacity types with the cheapest price (Z×K)."""
    requirements: Requirements
    is_flexible: bool
    """Whether the types bring all the values that minValues ask for; otherwise the requirements ask for fewer."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """What loads may choose from that come under the same rules."""

    columns: Ints
    """Cheapest first."""
    price: Floats
    """USD per hour where the rules let them be (those columns×Z×K); else infinite."""
    wanted: Requirements
    asked: tuple[Spectrum, ...]
    """What minValues ask of these columns."""


class Machines:
    """Answers for loads under sets of rules; equal questions are asked often, so answers are kept."""

    def __init__(self, columns: Columns, budget: Budget, sizes: Sizes, *, most_types: int) -> None:
        self._columns = columns
        self._budget = budget
        self._sizes = sizes
        self._most_types = most_types
        self.tier = np.array([lane.tier for lane in columns.lanes], dtype=np.int64)[columns.lane]
        """Position of the weight of each column's pool, the heaviest first (N)."""
        self._joint: dict[frozenset[NodeRule], tuple[Bools, Floats]] = {}
        self._frames: dict[tuple[tuple[Requirements, ...], int], _Frame] = {}
        self._resized: dict[tuple[bytes, frozenset[NodeRule], int, int], int] = {}
        self._chosen: dict[tuple[bytes, frozenset[NodeRule], int, int, bytes], Choice] = {}

    def resize(self, bins: Bins) -> None:
        """Give every opened machine the cheapest type that holds its load, within its pool's weight and the limits."""
        for row in bins.opened():
            now = int(bins.column[row])
            load, rules, sizes = bins.load(row), bins.rules(row), self._sized(bins, row)
            key = load.tobytes(), rules, now, id(sizes)
            if key not in self._resized:
                self._resized[key] = self._cheapest(load, rules, now, sizes=sizes)
            better = self._resized[key]
            if better != now and self._budget.affords_instead(now)[better]:
                self._budget.take(now, -1)
                self._budget.take(better)
                self.retype(bins, row, better)

    def retype(self, bins: Bins, row: int, column: int) -> None:
        """Make an opened machine one of another column."""
        bins.retype(row, column, self._together(bins.rules(row))[0][column])

    def enlarged(self, bins: Bins, row: int, item: Item) -> tuple[int, float]:
        """Return the cheapest type that holds one copy more, and what it adds in USD per hour: infinite without one."""
        now = int(bins.column[row])
        rules = bins.rules(row)
        price = self._together(rules | {item.rule})[1]
        holds = (self._columns.room >= bins.load(row) + item.request).all(axis=1) & (self.tier == self.tier[now])
        holds &= self._sized(bins, row, item)
        holds &= self._budget.affords_instead(now)
        column = int(np.where(holds, price, np.inf).argmin())
        if not holds[column]:
            return now, float("inf")
        return column, float(price[column] - self._together(rules)[1][now])

    def _together(self, rules: frozenset[NodeRule]) -> tuple[Bools, Floats]:
        """Return where pods of all rules may be together (N×Z×K), and the least price there (N)."""
        found = self._joint.get(rules)
        if found is None:
            joint = np.isfinite(self._columns.price)
            for rule in rules:
                joint = joint & self._columns.row(rule)
            if self._columns.peers and len({self._columns.code(rule) for rule in rules}) > 1:
                joint[list(self._columns.peers)] = False
            found = self._joint[rules] = joint, np.where(joint, self._columns.price, np.inf).min(axis=(1, 2))
        return found

    def _sized(self, bins: Bins, row: int, *more: Item) -> Bools:
        """Return the columns that an opened machine may be of for the size of what is on it, and of one copy more."""
        return self._sizes.together((*(share.item for share in bins.shares[row]), *more))

    def _cheapest(self, load: Floats, rules: frozenset[NodeRule], now: int, *, sizes: Bools) -> int:
        price = self._together(rules)[1]
        holds = (self._columns.room >= load).all(axis=1) & (self.tier == self.tier[now]) & sizes
        best = int(np.where(holds, price, np.inf).argmin())
        return best if price[best] < price[now] else now

    def choose(self, bins: Bins, row: int) -> Choice:
        """Return the machines that would do for an opened bin: of its pool, and of its limits' share."""
        load, rules, now = bins.load(row), bins.rules(row), int(bins.column[row])
        spare = self._budget.spare(now, bins.size - len(bins.nodes))
        sizes = self._sized(bins, row)
        key = load.tobytes(), rules, now, id(sizes), spare.tobytes()
        found = self._chosen.get(key)
        if found is None:
            frame = self._frame(rules, now)
            fits = np.all(self._columns.size[frame.columns] >= load, axis=1)
            fits &= np.all(self._budget.size[frame.columns] <= np.maximum(spare, self._budget.charge[now]), axis=1)
            found = self._chosen[key] = self._choose(frame, fits, within=sizes[frame.columns])
        return found

    def _choose(self, frame: _Frame, fits: Bools, *, within: Bools) -> Choice:
        """Return the choice among the columns of a frame that fit; rails (`within`) give way to minValues."""
        columns = self._columns
        order = np.flatnonzero(fits & within)
        if not len(order) or not suffices(frame.asked, order):
            order = np.flatnonzero(fits)
        order = shortened(frame.asked, order, self._most_types)
        listed, offered = frame.columns[order], frame.price[order]
        names = columns.names(listed)
        least = offered[0].min()
        return Choice(
            column=int(listed[0]),
            instance_types=names,
            price=float(least),
            worst_price=float(offered[np.isfinite(offered)].max()),
            places=offered[0] == least,
            requirements=lowered(frame.wanted, frame.asked, order).intersect(_narrowed(columns, names, offered)),
            is_flexible=suffices(frame.asked, order),
        )

    def _frame(self, rules: frozenset[NodeRule], now: int) -> _Frame:
        """Return what loads under these rules may choose from in a column's lane."""
        lane = int(self._columns.lane[now])
        place = self._place(self._together(rules)[0][now], now)
        terms = tuple(self._term(rule, now, place) for rule in sorted(rules, key=repr))
        key = terms, lane
        found = self._frames.get(key)
        if found is None:
            found = self._frames[key] = self._make_frame(terms, lane)
        return found

    def _make_frame(self, terms: tuple[Requirements, ...], at: int) -> _Frame:
        columns = self._columns
        lane = columns.lanes[at]
        wanted = lane.view.pool.node_requirements().intersect(*terms)
        mine = np.flatnonzero(columns.lane == at)
        price = np.where(columns.places(wanted), columns.price[mine], np.inf)
        fits = np.isfinite(price).any(axis=(1, 2))
        for term in terms:
            fits &= type_mask(lane, term)[columns.kind[mine]]
        listed = np.flatnonzero(fits)
        order = listed[np.argsort(price[listed].min(axis=(1, 2)), kind="stable")]
        asked = tuple(
            replace(spectrum, values=tuple(spectrum.values[at] for at in order.tolist()))
            for spectrum in columns.asked(at, np.isfinite(price))
        )
        return _Frame(mine[order], price[order], wanted, asked)

    def _place(self, joint: Bools, column: int) -> tuple[int, int]:
        price = np.where(joint, self._columns.price[column], np.inf)
        zone, kind = np.unravel_index(int(price.argmin()), price.shape)
        return int(zone), int(kind)

    def _term(self, rule: NodeRule, column: int, place: tuple[int, int]) -> Requirements:
        """Return the alternative of the rule that the planned offering meets; the first one, if several."""
        if len(rule.terms) == 1:
            return rule.terms[0]
        return next(term for term in rule.terms if self._columns.row(rule.only(term))[column][place])


def _narrowed(columns: Columns, names: Sequence[str], price: Floats) -> tuple[Requirement, ...]:
    """Return the types, zones and capacity types in which something can be had (price: listed types×Z×K)."""
    there: Bools = np.any(np.isfinite(price), axis=0)
    zones = [columns.zones[at] for at in np.flatnonzero(there.any(axis=1))]
    kinds = [columns.capacity_types[at] for at in np.flatnonzero(there.any(axis=0))]
    return (
        Requirement.of(labels.INSTANCE_TYPE, "In", names),
        Requirement.of(labels.ZONE, "In", zones),
        Requirement.of(labels.CAPACITY_TYPE, "In", kinds),
    )


@dataclass(slots=True)
class ZoneBalance:
    """How much of each pool is in each zone, so that equal prices do not all end in one."""

    _cpu: dict[tuple[PoolKey, str], int] = field(default_factory=dict)

    def add(self, pool: PoolKey, zone: str, capacity: Mapping[str, int]) -> None:
        """Count a machine."""
        self._cpu[pool, zone] = self._cpu.get((pool, zone), 0) + capacity.get(CPU, 0)

    def emptiest(self, pool: PoolKey, zones: Sequence[str]) -> str:
        """Return the zone that has least of the pool; the first by name among equals."""
        return min(zones, key=lambda zone: (self._cpu.get((pool, zone), 0), zone))
