"""The stage of a trial: the places of a plan as they are before its pods come, and the pods that go there.

Large plans are tried on a sample of their machines, with just the pods that were planned on these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.resources import CPU, MEMORY
from karpenter.scheduling.bins import Bins, Share
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.dealing import DomainRules
from karpenter.scheduling.domains import DomainGroup
from karpenter.scheduling.hosts import HostRules
from karpenter.scheduling.items import Item, Wait
from karpenter.scheduling.rules import NOMINATION, NodeRule

_SPREAD_OWNERS: Final = frozenset({"ReplicaSet", "StatefulSet", "ReplicationController"})
UNSTATED: Final = np.array([100.0, 200.0 * 2**20])
"""What scoring counts for a pod that requests no cpu or no memory."""


class Seat(NamedTuple):
    """The planned offering of a machine to launch: positions of its column, zone and capacity type."""

    column: int
    zone: int
    kind: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A finished solve."""

    bins: Bins
    waits: Sequence[Wait]
    hosts: HostRules
    domains: DomainRules
    seats: Sequence[Seat]
    """Of each opened machine, in the order of `bins.opened()`."""


@dataclass(frozen=True, slots=True)
class Places:
    """B places before any of the tried pods is bound; R resources."""

    rows: Ints
    """Their rows among the bins (B)."""
    room: Floats
    """B×R."""
    total: Floats
    """Allocatable cpu and memory (B×2)."""
    used: Floats
    """What is requested of these already (B×2)."""
    is_there: Bools
    """Whether the node is there from the beginning (B)."""
    zone: Ints
    """Position of each place's zone (B)."""


class Bond(NamedTuple):
    """A rule about other pods that binds a kind: its pods state it, are meant by it, or both."""

    group: int
    owner: bool
    meant: bool


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The D domains of a rule over a label."""

    group: DomainGroup
    names: tuple[str, ...]
    code: Ints
    """Each place's domain, -1 where the label is absent or not decided (B)."""
    counted: Bools
    """Places on which the rule counts pods (B)."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Pods that the scheduler does not tell apart."""

    item: Item
    """One of them, with what is required of a node."""
    request: Floats
    """R."""
    scored: Floats
    """Cpu and memory as scoring counts them (2)."""
    admits: Bools
    """B."""
    liked: Bools | None
    """Places that keep the preferences about nodes (B); None when there are none."""
    hosts: tuple[Bond, ...]
    domains: tuple[Bond, ...]
    is_spread: bool
    """Whether scoring spreads them over hosts and zones, because a workload owns them."""

    @property
    def is_best_effort(self) -> bool:
        """Whether they request neither cpu nor memory."""
        return not self.request[:2].any()


@dataclass(frozen=True, slots=True)
class Crowd:
    """Pods of one class that are tried together."""

    kind: int
    count: int
    cls: int
    """Position of the class."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Everything that a trial starts from; trials change copies."""

    places: Places
    kinds: tuple[Kind, ...]
    crowds: tuple[Crowd, ...]
    others: Ints
    """Rows of nodes that take none of the pods: they count for spreads."""
    moved: tuple[tuple[int, Share], ...]
    """Each share of the tried pods with its place among the B: where they were planned."""
    regions: Mapping[int, Region]
    """Of the rules over labels that bind any kind."""
    share: float
    """How much of the plan's machines is tried."""


def ground_of(plan: Plan, rows: Ints, *, share: float) -> Ground:
    """Return the stage of a trial on these rows of the bins.

    Pods with volumes that others share, and those nominated by the scheduler, stay where they were planned. So do all
    on other machines: they count for the rules about other pods.
    """
    reader = _Reader(plan, rows)
    moved = [
        (at, each) for at, row in enumerate(rows.tolist()) for each in plan.bins.shares[row] if _is_free(plan, each)
    ]
    crowds: dict[tuple[int, int], int] = {}
    for _, each in moved:
        key = reader.kind(each.item), each.item.index
        crowds[key] = crowds.get(key, 0) + each.count
    bound = sorted({bond.group for kind in reader.kinds for bond in kind.domains})
    return Ground(
        places=_places(plan, rows, moved, zone=reader.codes(labels.ZONE)[1]),
        kinds=tuple(reader.kinds),
        crowds=tuple(Crowd(kind, count, cls) for (kind, cls), count in sorted(crowds.items())),
        others=np.setdiff1d(np.arange(len(plan.bins.nodes)), rows),
        moved=tuple(moved),
        regions={at: reader.region(plan.domains.groups[at]) for at in bound},
        share=share,
    )


def _is_free(plan: Plan, share: Share) -> bool:
    """Return whether the scheduler may put these pods elsewhere than planned."""
    item = share.item
    levels = plan.waits[item.index].levels
    nominated = len(levels) > 1 and item.at == 0 and levels[1].given_up.startswith(NOMINATION)
    return not item.cls.shared and not nominated


def _places(plan: Plan, rows: Ints, moved: Sequence[tuple[int, Share]], *, zone: Ints) -> Places:
    bins, columns = plan.bins, plan.bins.columns
    seats = dict(zip(bins.opened(), plan.seats, strict=True))
    room = bins.room[rows].copy()
    total = np.zeros((len(rows), 2))
    is_there = np.zeros(len(rows), dtype=np.bool_)
    for at, row in enumerate(rows.tolist()):
        if row < len(bins.nodes):
            view = bins.nodes.views[row]
            is_there[at] = view.is_initialized
            total[at] = view.allocatable.get(CPU, 0), view.allocatable.get(MEMORY, 0)
        else:
            column = seats[row].column
            room[at] = columns.whole[column] - bins.load(row)
            lane, kind = columns.lane_of(column), columns.kind[column]
            total[at] = lane.table.allocatable(CPU)[kind], lane.table.allocatable(MEMORY)[kind]
    for at, share in moved:
        room[at] += share.count * share.item.request
    return Places(rows, room, total, np.maximum(total - room[:, :2], 0.0), is_there, zone)


class _Reader:
    """Tells kinds apart."""

    def __init__(self, plan: Plan, rows: Ints) -> None:
        self.kinds: list[Kind] = []
        self._plan = plan
        known = len(plan.bins.nodes)
        self._nodes = rows[rows < known]
        seats = dict(zip(plan.bins.opened(), plan.seats, strict=True))
        self._seats = np.array([seats[row] for row in rows[rows >= known].tolist()], dtype=np.int64).reshape(-1, 3)
        self._groups = {id(group): at for at, group in enumerate(plan.domains.groups)}
        self._masks: dict[NodeRule, Bools] = {}
        self._known: dict[tuple[object, ...], int] = {}
        self._of_class: dict[int, int] = {}

    def kind(self, item: Item) -> int:
        """Return the position of an item's kind."""
        if item.index not in self._of_class:
            self._of_class[item.index] = self._read(item)
        return self._of_class[item.index]

    def _read(self, item: Item) -> int:
        wait = self._plan.waits[item.index]
        last = len(wait.levels) - 1
        rule = wait.levels[last].rule
        admits, strict = self.mask(rule), self.mask(wait.levels[0].rule)
        liked = strict & admits
        hosts = self._hosts(item.cls.profile, last)
        domains = self._domains(item.cls.profile, last)
        is_spread = not wait.levels[last].terms and _is_spread_by_default(item.cls.pods[0])
        key = item.request.tobytes(), admits.tobytes(), liked.tobytes(), hosts, domains, is_spread
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.kinds)
            scored = np.where(item.request[:2] > 0, item.request[:2], UNSTATED)
            required = Item(item.index, item.cls, last, rule, item.request, 0)
            self.kinds.append(
                Kind(
                    required,
                    item.request,
                    scored,
                    admits,
                    None if (liked == admits).all() else liked,
                    hosts,
                    domains,
                    is_spread,
                )
            )
        return found

    def _hosts(self, profile: int, level: int) -> tuple[Bond, ...]:
        ties = self._plan.hosts.ties.get((profile, level), ())
        groups = self._plan.hosts.groups
        return tuple(Bond(tie.group, tie.owner, tie.meant) for tie in ties if not groups[tie.group].is_soft)

    def _domains(self, profile: int, level: int) -> tuple[Bond, ...]:
        ties = self._plan.domains.ties.get((profile, level), ())
        return tuple(
            Bond(self._groups[id(tie.group)], tie.owner, tie.meant) for tie in ties if not tie.group.term.is_soft
        )

    def mask(self, rule: NodeRule) -> Bools:
        found = self._masks.get(rule)
        if found is None:
            column, zone, kind = self._seats.T
            there = self._plan.bins.nodes.row(rule)[self._nodes]
            found = np.concatenate((there, self._plan.bins.columns.row(rule)[column, zone, kind]))
            self._masks[rule] = found
        return found

    def region(self, group: DomainGroup) -> Region:
        """Return where the domains of a rule are."""
        names, code = self.codes(group.term.key)
        everywhere = np.ones(len(code), dtype=np.bool_)
        return Region(group, names, code, everywhere if group.counted is None else self.mask(group.counted))

    def codes(self, key: str) -> tuple[tuple[str, ...], Ints]:
        """Return the values of a label, and each place's position among them: -1 without one (B)."""
        values, codes = self._plan.bins.nodes.label(key)
        names = [values[code] for code in codes[self._nodes].tolist()]
        names += [self._value(seat, key) for seat in self._seats.tolist()]
        known = tuple(sorted({name for name in names if name is not None}))
        position = {name: at for at, name in enumerate(known)}
        return known, np.array([-1 if name is None else position[name] for name in names], dtype=np.int64)

    def _value(self, seat: Sequence[int], key: str) -> str | None:
        columns = self._plan.bins.columns
        if key == labels.ZONE:
            return columns.zones[seat[1]]
        if key == labels.CAPACITY_TYPE:
            return columns.capacity_types[seat[2]]
        return self._plan.domains.map.of_each_column(key)[seat[0]]


def _is_spread_by_default(pod: Pod) -> bool:
    """Return whether scoring spreads a pod without constraints of its own over hosts and zones."""
    owner = pod.metadata.controller()
    return not pod.spec.topology_spread_constraints and owner is not None and owner.kind in _SPREAD_OWNERS
