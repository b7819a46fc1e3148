"""Everything that could be launched, as one table: a column for each instance type of each lane.

Source: spec v1alpha5 SCH-24 (requirements, room, offering), SCH-3 and spec v1 S-22 (daemon overhead).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, repeat
from types import MappingProxyType

import numpy as np

from karpenter.model import labels
from karpenter.model.instancetype import InstanceType
from karpenter.model.requirements import Requirements
from karpenter.model.resources import PODS, add
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.classes import Port, clash
from karpenter.scheduling.daemons import DaemonLoad
from karpenter.scheduling.flexibility import Spectrum, flexible, peers_of, spectra_of, within
from karpenter.scheduling.lanes import Lane, type_mask
from karpenter.scheduling.rules import NodeRule


@dataclass(frozen=True, slots=True)
class Columns:
    """N columns over R resources, Z zones and K capacity types. Only types that their lane admits are here."""

    lanes: tuple[Lane, ...]
    resources: tuple[str, ...]
    zones: tuple[str, ...]
    capacity_types: tuple[str, ...]
    lane: Ints
    """Position of each column's lane (N)."""
    kind: Ints
    """Position of each column's type in its lane's table (N)."""
    whole: Floats
    """What pods can use, daemons taken off (N×R); a column where daemons alone do not fit is left out."""
    size: Floats
    """The part of it that is used (N×R): all, unless policy leaves some of it free."""
    room: Floats
    """What may be planned on (N×R): less than `size` where minValues ask for types to be exchangeable."""
    loads: tuple[DaemonLoad, ...]
    """What daemons take, lane by lane."""
    price: Floats
    """USD per hour of what can be had now within the lane's zones and capacity types (N×Z×K); else infinite."""
    well_known: frozenset[str]
    slowness: Floats
    """What prices are multiplied with to be compared: the inverse speed of a vCPU (N)."""
    spectra: Mapping[int, tuple[Spectrum, ...]] = field(default_factory=dict)
    """What minValues ask of the columns of a lane, by these; lanes that they do not bind are left out."""
    peers: Mapping[int, Ints] = field(default_factory=dict)
    """For each column that minValues bind, those with which it has to be exchangeable, itself included."""
    _rows: dict[NodeRule, Bools] = field(default_factory=dict)
    _open: dict[NodeRule, Bools] = field(default_factory=dict)
    _holding: dict[bytes, Bools] = field(default_factory=dict)
    _codes: dict[NodeRule, bytes] = field(default_factory=dict)
    _nested: dict[frozenset[bytes], bool] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lane)

    def lane_of(self, column: int) -> Lane:
        """Return a column's lane."""
        return self.lanes[int(self.lane[column])]

    def type_of(self, column: int) -> InstanceType:
        """Return a column's instance type."""
        return self.lane_of(column).table.types[int(self.kind[column])]

    def names(self, columns: Ints) -> tuple[str, ...]:
        """Return the names of the instance types of columns of one lane."""
        known = self.lane_of(columns[0]).table.names
        return tuple([known[kind] for kind in self.kind[columns].tolist()])

    def find(self, lane: int, name: str) -> int:
        """Return the column of a lane's instance type. Raises IndexError when the lane has none of the name."""
        kind = self.lanes[lane].table.names.index(name)
        return int(np.flatnonzero((self.lane == lane) & (self.kind == kind))[0])

    def daemon_requests(self, column: int) -> dict[str, int]:
        """Return what daemons take of a machine of this column."""
        load, at = self.loads[self.lane[column]], self.kind[column]
        return add(*(daemon.requests for daemon, types in load.counts if types[at])) if load.counts else {}

    def kept_light(self, lane: int, wanted: Requirements) -> Requirements:
        """Return what is wanted of a machine of a lane without the labels that would bring it more daemons.

        A label that nobody decides may come up with any value; in this lane there is only room for the daemons of some.
        """
        mine, daemons = self.lanes[lane], {id(daemon) for daemon, _ in self.loads[lane].counts}
        for other, load in zip(self.lanes, self.loads, strict=True):
            is_heavier = any(id(daemon) not in daemons for daemon, _ in load.counts)
            is_akin = other.view is mine.view and other.reservation == mine.reservation
            if is_heavier and is_akin and wanted.compatible(other.requirements):
                wanted = wanted.intersect((mine.apart_from(other),))
        return wanted

    def taken(self, ports: Sequence[Port]) -> Bools:
        """Return the columns on which a daemon takes one of these host ports (N)."""
        found = np.zeros(len(self), dtype=np.bool_)
        for at, load in enumerate(self.loads):
            mine = np.flatnonzero(self.lane == at)
            for daemon, types in load.counts:
                if any(clash(port, held) for port in ports for held in daemon.ports):
                    found[mine] |= types[self.kind[mine]]
        return found

    def row(self, rule: NodeRule) -> Bools:
        """Return where the rule's pods may go (N×Z×K): taints, labels and offerings, not resources."""
        found = self._rows.get(rule)
        if found is None:
            found = self._rows[rule] = self._judge(rule)
        return found

    def open_to(self, rule: NodeRule) -> Bools:
        """Return on which columns the rule's pods may go somewhere (N), resources apart."""
        found = self._open.get(rule)
        if found is None:
            found = self._open[rule] = np.any(self.row(rule), axis=(1, 2))
        return found

    def holding(self, request: Floats) -> Bools:
        """Return which columns hold such a request (N)."""
        key = request.tobytes()
        found = self._holding.get(key)
        if found is None:
            found = self._holding[key] = np.all(self.room >= request, axis=1)
        return found

    def _judge(self, rule: NodeRule) -> Bools:
        allowed = np.zeros(self.price.shape, dtype=np.bool_)
        for at, lane in enumerate(self.lanes):
            if not rule.tolerates(lane.view.pool.template.taints):
                continue
            mine = np.flatnonzero(self.lane == at)
            for term in rule.terms:
                if lane.requirements.compatible(term, well_known=self.well_known):
                    types = type_mask(lane, term)[self.kind[mine]]
                    allowed[mine] |= types[:, None, None] & self.places(term)
        allowed &= np.isfinite(self.price)
        if rule.ports:
            allowed &= ~self.taken(rule.ports)[:, None, None]
        for at in self.spectra if self.peers else ():
            mine = np.flatnonzero(self.lane == at)
            asked = self.asked(at, allowed[mine])
            enough = flexible(asked, self.room[mine], size=self.size[mine], places=allowed[mine])
            allowed[mine] &= enough[:, None, None]
        return allowed

    def uncapped(self) -> Columns:
        """Return the same table without a cap on pods per node beside what the types allow; only rooms differ."""
        at = self.resources.index(PODS)
        room = self.room.copy()
        for index, lane in enumerate(self.lanes):
            mine = np.flatnonzero((self.lane == index) & ~np.isin(np.arange(len(self)), list(self.peers)))
            kinds = self.kind[mine]
            room[mine, at] = (lane.table.allocatable(PODS) - self.loads[index].amounts(self.resources)[:, at])[kinds]
        return replace(self, room=room, _holding={})

    def asked(self, lane: int, places: Bools) -> tuple[Spectrum, ...]:
        """Return what minValues ask of a lane's columns that can be had in these places only (columns of it×Z×K)."""
        return within(self.spectra.get(lane, ()), places, zones=self.zones, capacity_types=self.capacity_types)

    def code(self, rule: NodeRule) -> bytes:
        """Return what a rule leaves of the columns that minValues bind."""
        found = self._codes.get(rule)
        if found is None:
            found = self._codes[rule] = self.row(rule)[list(self.peers)].tobytes()
        return found

    def nested(self, codes: frozenset[bytes]) -> bool:
        """Return whether of any two codes one leaves no more than both together do.

        Each rule by itself leaves enough to choose from; so do rules together whose codes are nested, and those of them
        that stay when pods go.
        """
        found = self._nested.get(codes)
        if found is None:
            left = sorted((np.frombuffer(code, np.bool_) for code in codes), key=np.count_nonzero)
            found = self._nested[codes] = all(not (less & ~more).any() for less, more in pairwise(left))
        return found

    def places(self, term: Requirements) -> Bools:
        """Return the zones and capacity types that a set of requirements allows (Z×K)."""
        zone, kind = term.allowed(labels.ZONE), term.allowed(labels.CAPACITY_TYPE)
        zones = np.array([zone.allows(name) for name in self.zones], dtype=np.bool_)
        kinds = np.array([kind.allows(name) for name in self.capacity_types], dtype=np.bool_)
        return zones[:, None] & kinds


def columns_of(
    lanes: Sequence[Lane],
    resources: Sequence[str],
    daemons: Sequence[DaemonLoad],
    *,
    well_known: frozenset[str],
    most_pods: int | None,
    keeps_min_values: bool = True,
    performance: Mapping[str, float] = MappingProxyType({}),
) -> Columns:
    """Return the table for these lanes; `daemons` holds each lane's overhead, `most_pods` caps pods per node.

    `performance` is the speed of a vCPU by instance family, 1 for those not named.
    """
    zones = tuple(sorted({zone for lane in lanes for zone in lane.table.zones}))
    kinds = tuple(sorted({kind for lane in lanes for kind in lane.table.capacity_types}))
    blocks = [
        _block(lane, resources, load, zones=zones, kinds=kinds, most_pods=most_pods)
        for lane, load in zip(lanes, daemons, strict=True)
    ]
    empty = np.zeros(0, np.int64), np.zeros((0, len(resources))), np.zeros((0, len(zones), len(kinds)))
    kept, sizes, prices = zip(*(blocks or [empty]), strict=True)
    columns = Columns(
        lanes=tuple(lanes),
        resources=tuple(resources),
        zones=zones,
        capacity_types=kinds,
        lane=np.repeat(np.arange(len(kept)), [len(part) for part in kept]),
        kind=np.concatenate(kept),
        whole=np.concatenate(sizes),
        size=np.concatenate(sizes),
        room=np.concatenate(sizes),
        loads=tuple(daemons),
        price=np.concatenate(prices),
        well_known=well_known,
        slowness=np.concatenate([np.ones(0), *map(_slowness, lanes, kept, repeat(performance))]),
    )
    return _with_min_values(columns, are_kept=keeps_min_values)


def _slowness(lane: Lane, kept: Ints, performance: Mapping[str, float]) -> Floats:
    if not performance:
        return np.ones(len(kept))
    families = [lane.table.types[kind].requirements.allowed(labels.INSTANCE_FAMILY) for kind in kept.tolist()]
    speeds = [performance.get(min(family.values, default=""), 1.0) for family in families]
    return 1.0 / np.array(speeds, dtype=np.float64)


def _with_min_values(columns: Columns, *, are_kept: bool) -> Columns:
    """Return the table with what minValues ask for and, if they are kept at any price, what they take of the room."""
    room = columns.room.copy()
    peers: dict[int, Ints] = {}
    spectra: dict[int, tuple[Spectrum, ...]] = {}
    for at, lane in enumerate(columns.lanes):
        mine = np.flatnonzero(columns.lane == at)
        asked = spectra_of(lane.requirements, [lane.table.types[kind] for kind in columns.kind[mine]])
        if asked:
            spectra[at] = asked
        if asked and are_kept:
            places = np.isfinite(columns.price[mine])
            here = within(asked, places, zones=columns.zones, capacity_types=columns.capacity_types)
            for column, found in zip(mine.tolist(), peers_of(here, columns.size[mine], places), strict=True):
                peers[column] = mine[found]
                room[column] = columns.size[mine[found]].min(axis=0) if len(found) else -1.0
    return replace(columns, room=room, peers=peers, spectra=spectra) if spectra else columns


def _block(
    lane: Lane,
    resources: Sequence[str],
    load: DaemonLoad,
    *,
    zones: Sequence[str],
    kinds: Sequence[str],
    most_pods: int | None,
) -> tuple[Ints, Floats, Floats]:
    """Return one lane's columns: type positions, sizes and prices on the common axes."""
    table = lane.table
    room = np.stack([table.allocatable(resource) for resource in resources], axis=1)
    if most_pods is not None and PODS in resources:
        at = resources.index(PODS)
        room[:, at] = np.minimum(room[:, at], most_pods)
    room -= load.amounts(resources)
    prices = np.full((len(table), len(zones), len(kinds)), np.inf)
    own = lane.requirements
    zone, kind = own.allowed(labels.ZONE), own.allowed(labels.CAPACITY_TYPE)
    for i, zone_name in enumerate(table.zones):
        for j, kind_name in enumerate(table.capacity_types):
            if zone.allows(zone_name) and kind.allows(kind_name):
                prices[:, zones.index(zone_name), kinds.index(kind_name)] = table.prices[:, i, j]
    fits = type_mask(lane, own) & load.fits & np.isfinite(prices).any(axis=(1, 2))
    kept = np.flatnonzero(fits)
    return kept, room[kept], prices[kept]
