"""Rules that make every node a domain of its own: spread and anti-affinity over hosts, affinity to a host, ports.

One form serves them all: while a host has a pod that states the rule, it may have only so many that the rule means.
A new machine could always be added, so the least count of a spread is 0 and its skew is a cap.
Source: spec v1alpha5 SCH-32, SCH-40 … SCH-44, SCH-60; spec v1 S-33, S-35, S-22.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.items import Item, Wait
from karpenter.scheduling.terms import Kind

_MANY: Final = float("inf")


@dataclass(slots=True)
class HostGroup:
    """One rule over hosts."""

    kind: Kind
    cap: int = 1
    """The skew of a spread; 1 for the other kinds."""
    is_soft: bool = False
    """Whether it is a preference: pods that state it keep nobody else away."""
    total: int = 0
    """Pods that the rule means, on all hosts."""
    _count: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _owned: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def room(self, rows: slice, *, owner: bool, meant: bool) -> Floats:
        """Return how many pods more each host takes: pods that state the rule, are meant by it, or both."""
        self._reach(rows.stop)
        count, owned = self._count[rows], self._owned[rows]
        if self.kind == "affinity":
            first = meant and not self.total
            return np.where((count > 0) | (not owner) | first, np.inf, 0.0)
        if self.kind == "anti":
            blocked = (owner & (count > 0)) | (meant & (owned > 0))
            return np.where(blocked, 0.0, 1.0 if owner and meant else np.inf)
        left = np.maximum(self.cap - count, 0.0)
        if owner:
            return left if meant else np.where(count <= self.cap, np.inf, 0.0)
        return np.where(owned > 0, left, np.inf)

    def room_on(self, row: int, *, owner: bool, meant: bool) -> float:
        """Return the same for one host."""
        self._reach(row + 1)
        count, owned = int(self._count[row]), int(self._owned[row])
        if self.kind == "affinity":
            return _MANY if count or not owner or (meant and not self.total) else 0
        if self.kind == "anti":
            if (owner and count) or (meant and owned):
                return 0
            return 1 if owner and meant else _MANY
        left = max(self.cap - count, 0)
        if owner:
            return left if meant else _MANY if count <= self.cap else 0
        return left if owned and meant else _MANY

    def has(self, rows: slice) -> Bools:
        """Return which hosts have a pod that the rule means."""
        self._reach(rows.stop)
        return np.asarray(self._count[rows] > 0)

    def lonely(self) -> list[int]:
        """Return the hosts with pods that want company there and have none, though there is some elsewhere."""
        if self.kind != "affinity":
            return []
        alone = (self._count == 0) | ((self._count == 1) & (self.total > 1))
        return np.flatnonzero((self._owned > 0) & alone).tolist()

    def count_on(self, row: int) -> int:
        """Return how many pods on a host the rule means."""
        return int(self._count[row])

    def counts(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return how many pods on each of these hosts the rule means, and how many state it."""
        self._reach(int(rows.max(initial=-1)) + 1)
        return self._count[rows], self._owned[rows]

    def add(self, row: int, pods: int, *, owner: bool, meant: bool) -> None:
        """Count pods on a host; a negative number takes them away."""
        self._reach(row + 1)
        if meant:
            self._count[row] += pods
            self.total += pods
        if owner and not self.is_soft:
            self._owned[row] += pods

    def clear(self, row: int) -> None:
        """Forget a host that is no longer."""
        self._reach(row + 1)
        self.total -= int(self._count[row])
        self._count[row] = self._owned[row] = 0

    def _reach(self, rows: int) -> None:
        if rows > len(self._count):
            more = np.zeros(max(rows, 2 * len(self._count)) - len(self._count), dtype=np.int64)
            self._count = np.concatenate((self._count, more))
            self._owned = np.concatenate((self._owned, more))


@dataclass(frozen=True, slots=True)
class HostTie:
    """What binds a profile to a rule: its pods state it, are meant by it, or both."""

    group: int
    owner: bool
    meant: bool


class Part(NamedTuple):
    """What an item does under rules over hosts that are no clique."""

    keeps_off: bool
    """It states a rule by which others, or too many of its own, are kept off its host."""
    is_kept_off: bool
    """Such a rule means it."""
    is_bound: bool
    """Any rule at all speaks of it."""


@dataclass(slots=True)
class HostRules:
    """All rules over hosts. A `Constraint`."""

    groups: Sequence[HostGroup]
    ties: Mapping[tuple[int, int], tuple[HostTie, ...]]
    """What binds each profile at each of its levels; absent when nothing does."""
    cliques: Mapping[int, int]
    """For profiles that keep apart from exactly each other: the position of the largest rule that says so."""
    _parts: dict[tuple[int, int], Part] = field(default_factory=dict)
    _seeking: set[tuple[int, int]] = field(default_factory=set)
    """Profiles at levels at which they want company on their host."""

    def __post_init__(self) -> None:
        for level, ties in self.ties.items():
            if any(tie.owner and self.groups[tie.group].kind == "affinity" for tie in ties):
                self._seeking.add(level)

    def clique(self, item: Item) -> tuple[int, int] | None:
        """Return the rule by which the item and its likes keep apart, and how many it lets be together."""
        group = self.cliques.get(item.cls.profile) if item.at == 0 else None
        return None if group is None else (group, self.groups[group].cap)

    def of(self, item: Item | Wait) -> tuple[HostTie, ...]:
        """Return what binds copies at their level."""
        return self.ties.get((item.cls.profile, item.at), ())

    def part(self, item: Item) -> Part:
        """Return which part an item plays."""
        level = item.cls.profile, item.at
        found = self._parts.get(level)
        if found is None:
            found = self._parts[level] = self._part(item)
        return found

    def _part(self, item: Item) -> Part:
        ties = self.of(item)
        clique = self.clique(item)
        caps = [tie for tie in ties if self.groups[tie.group].kind != "affinity" and (tie.group,) != (clique or ())[:1]]
        return Part(any(tie.owner for tie in caps), any(tie.meant for tie in caps), bool(ties))

    def needs_company(self, item: Item | Wait) -> bool:
        """Return whether copies have to be on a host with certain other pods."""
        return (item.cls.profile, item.at) in self._seeking

    def is_company(self, other: Wait, wait: Wait) -> bool:
        """Return whether other copies are company that these copies want on their host."""
        wanted = {tie.group for tie in self.of(wait) if tie.owner and self.groups[tie.group].kind == "affinity"}
        return any(tie.meant and tie.group in wanted for tie in self.of(other))

    def founds(self, item: Item | Wait) -> bool:
        """Return whether the item's first copy decides the host: copies want each other, and none is anywhere."""
        return self.needs_company(item) and any(
            tie.owner and tie.meant and self.groups[tie.group].kind == "affinity" and not self.groups[tie.group].total
            for tie in self.of(item)
        )

    def room(self, item: Item, rows: slice) -> Floats | None:
        """Return how many copies more each of the rows takes; None when no rule binds the item."""
        ties = self.of(item)
        if not ties:
            return None
        room = np.full(rows.stop - rows.start, np.inf)
        for tie in ties:
            np.minimum(room, self.groups[tie.group].room(rows, owner=tie.owner, meant=tie.meant), out=room)
        return room

    def room_on(self, item: Item, row: int) -> float:
        """Return how many copies more one host takes: `room` for a single row, many times as fast."""
        left = _MANY
        for tie in self.of(item):
            left = min(left, self.groups[tie.group].room_on(row, owner=tie.owner, meant=tie.meant))
            if not left:
                break
        return left

    def put(self, row: int, item: Item, count: int) -> None:
        """Count copies that were put into a bin; a negative number takes them out."""
        for tie in self.of(item):
            self.groups[tie.group].add(row, count, owner=tie.owner, meant=tie.meant)

    def closed(self, row: int) -> None:
        """Forget a bin."""
        for group in self.groups:
            group.clear(row)
