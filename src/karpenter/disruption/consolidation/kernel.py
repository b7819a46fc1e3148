"""A fleet on which thousands of "what if this node went" are tried: free amounts, take out, put elsewhere, undo. Pure.

Pods stay in the domains (zones and the like) that they are in, so that spreads over these hold for moved pods and for
those that stay. Other rules are the solver's own. An answer here is a hint: what is done is planned by the solver.
Source: issue 6, point 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from karpenter.disruption.candidates import Candidate
from karpenter.scheduling import Demand, Options
from karpenter.scheduling.catalog import Bools, Floats
from karpenter.scheduling.items import Item, Wait
from karpenter.scheduling.nodes import Nodes
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.snapshot import NodeView, Snapshot
from karpenter.scheduling.solver import beginning
from karpenter.scheduling.work import Work


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Pods of one class in the same domains."""

    item: Item
    steps: tuple[Item, ...]
    """The same at each level of preferences that a new machine cannot keep better, the most first."""
    masks: tuple[Bools, ...]
    """Which nodes admit it at each of these levels, room and other pods apart (each B)."""
    asked: tuple[tuple[int, float], ...]
    """Resources, by position, and how much of them one copy takes."""
    size: float
    """How large a copy is, all resources together."""
    is_bound: bool
    """Whether rules over hosts speak of it."""
    last: Item
    """The same with every preference given up …"""
    last_mask: Bools
    """… and the nodes that admit it then (B)."""
    preferences: tuple[str, ...]
    """What is given up between the steps and that, in words."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What would become of a node's pods."""

    left: tuple[tuple[Kind, int], ...]
    """Those that find no room on the other nodes."""
    price: float
    """USD per hour of the cheapest machine that holds all of these; 0 when there are none, infinite without any."""

    @property
    def fits(self) -> bool:
        """Whether the other nodes have room for all."""
        return not self.left


@dataclass(slots=True)
class _Journal:
    """What to undo, in order."""

    puts: list[tuple[int, Item, Kind]] = field(default_factory=list)
    row: int = -1
    free: Floats | None = None
    slack: float = 0.0


class Fleet:
    """The nodes of a snapshot, with the pods of some of them as pieces to be moved."""

    def __init__(self, snapshot: Snapshot, candidates: Sequence[Candidate], options: Options) -> None:
        self.work = _beginning(snapshot, candidates, options)
        self._nodes: Nodes = self.work.bins.nodes
        self._hosts = self.work.hosts
        self._columns = self.work.bins.columns
        self._rows = {view.name: row for row, view in enumerate(self._nodes.views)}
        self._kinds: dict[tuple[int, tuple[tuple[str, str], ...]], Kind] = {}
        self._prices: dict[frozenset[NodeRule], Floats] = {}
        self._free = np.ascontiguousarray(self.work.bins.room.T)
        self._scale = 1.0 / np.maximum(np.maximum(self._free, 0).mean(axis=1), 1.0)
        starting = [row for row, view in enumerate(self._nodes.views) if not view.is_initialized]
        self._free[:, starting] = -1.0
        self._slack = self._scale @ self._free
        self.pods = {one.name: self._pieces(one) for one in candidates}
        """What is on each candidate: its own pods, the hardest to place first, then those that were put there."""
        self._taken: list[_Journal] = []
        self._pieces_on = {self._rows[name]: pieces for name, pieces in self.pods.items()}
        for name, pieces in self.pods.items():
            for kind, count in pieces:
                self._put(self._rows[name], kind.item, kind, count=count)

    # --- questions ----------------------------------------------------------------------------------------------------

    def probe(self, name: str) -> Probe:
        """Return what would become of a node's pods; nothing is changed."""
        left, journal = self._vacate(name, self._spot)
        self._undo(journal)
        return Probe(tuple(left), self._price(left) if left else 0.0)

    def probe_without_preferences(self, name: str) -> Probe:
        """Return what would become of a node's pods if nobody heeded what they merely prefer."""
        left, journal = self._vacate(name, self._spot_without_preferences)
        self._undo(journal)
        return Probe(tuple(left), self._price(left) if left else 0.0)

    def preferences(self, name: str) -> tuple[str, ...]:
        """Return the preferences of a node's pods that could still be given up, in words."""
        return tuple(dict.fromkeys(words for kind, _ in self.pods[name] for words in kind.preferences))

    def take(self, name: str) -> bool:
        """Take a node out, until `put_back`, if the others have room for its pods; return whether they had."""
        left, journal = self._vacate(name, self._spot)
        if left:
            self._undo(journal)
            return False
        self._taken.append(journal)
        for row, _, kind in journal.puts:
            if row in self._pieces_on:
                self._pieces_on[row].append((kind, 1))
        return True

    def put_back(self) -> None:
        """Undo every `take`."""
        while self._taken:
            journal = self._taken.pop()
            for row, _, _ in journal.puts:
                if row in self._pieces_on:
                    self._pieces_on[row].pop()
            self._undo(journal)

    # --- the state ----------------------------------------------------------------------------------------------------

    def _vacate(
        self, name: str, find: Callable[[Kind], tuple[int, Item] | None]
    ) -> tuple[list[tuple[Kind, int]], _Journal]:
        row = self._rows[name]
        pieces = self.pods[name]
        for kind, count in pieces:
            if kind.is_bound:
                self._hosts.put(row, kind.item, -count)
        journal = _Journal(row=row, free=self._free[:, row].copy(), slack=float(self._slack[row]))
        self._free[:, row] = -1.0
        left: list[tuple[Kind, int]] = []
        for kind, count in pieces:
            placed = 0
            while placed < count and (spot := find(kind)) is not None:
                self._put(spot[0], spot[1], kind, count=1)
                journal.puts.append((*spot, kind))
                placed += 1
            if placed < count:
                left.append((kind, count - placed))
        return left, journal

    def _undo(self, journal: _Journal) -> None:
        for row, item, kind in reversed(journal.puts):
            self._put(row, item, kind, count=-1)
        row = journal.row
        assert journal.free is not None
        self._free[:, row] = journal.free
        self._slack[row] = journal.slack
        for kind, count in self.pods[self._nodes.views[row].name]:
            if kind.is_bound:
                self._hosts.put(row, kind.item, count)

    def _put(self, row: int, item: Item, kind: Kind, *, count: int) -> None:
        for resource, amount in kind.asked:
            self._free[resource, row] -= count * amount
        self._slack[row] -= count * kind.size
        if kind.is_bound:
            self._hosts.put(row, item, count)

    def _spot(self, kind: Kind) -> tuple[int, Item] | None:
        """Return the tightest node that takes a copy, at the first level at which there is one."""
        room = self._roomy(kind)
        for item, mask in zip(kind.steps, kind.masks, strict=True):
            row = self._tightest(room & mask, kind, item)
            if row is not None:
                return row, item
        return None

    def _spot_without_preferences(self, kind: Kind) -> tuple[int, Item] | None:
        row = self._tightest(self._roomy(kind) & kind.last_mask, kind, kind.last)
        return None if row is None else (row, kind.last)

    def _roomy(self, kind: Kind) -> Bools:
        room = np.ones(self._free.shape[1], dtype=np.bool_)
        for resource, amount in kind.asked:
            room &= self._free[resource] >= amount
        return room

    def _tightest(self, fits: Bools, kind: Kind, item: Item) -> int | None:
        if kind.is_bound and (caps := self._hosts.room(item, slice(0, len(fits)))) is not None:
            fits &= caps >= 1
        rows = np.flatnonzero(fits)
        return int(rows[self._slack[rows].argmin()]) if len(rows) else None

    # --- machines -----------------------------------------------------------------------------------------------------

    def _price(self, pieces: Sequence[tuple[Kind, int]]) -> float:
        """Return the price of the cheapest machine that holds all the pieces, rules among them apart."""
        load = sum((count * kind.item.request for kind, count in pieces), np.zeros(self._free.shape[0]))
        rules = frozenset(kind.steps[-1].rule for kind, _ in pieces)
        price = self._prices.get(rules)
        if price is None:
            joint = np.logical_and.reduce([self._columns.row(rule) for rule in rules])
            price = self._prices[rules] = np.where(joint, self._columns.price, np.inf).min(axis=(1, 2))
        return float(np.where(self._holding(load), price, np.inf).min(initial=np.inf))

    def _holding(self, load: Floats) -> Bools:
        holding = np.ones(len(self._columns), dtype=np.bool_)
        for resource in np.flatnonzero(load):
            holding &= self._sizes[resource] >= load[resource]
        return holding

    @cached_property
    def _sizes(self) -> Floats:
        return np.ascontiguousarray(self._columns.room.T)

    # --- reading ------------------------------------------------------------------------------------------------------

    @cached_property
    def _class_of(self) -> dict[str, int]:
        return {pod.metadata.uid: wait.index for wait in self.work.waits for pod in wait.cls.pods}

    def _pieces(self, candidate: Candidate) -> list[tuple[Kind, int]]:
        row = self._rows[candidate.name]
        counts = Counter(self._class_of[pod.metadata.uid] for pod in candidate.pods)
        pieces = [(self._kind(index, row), count) for index, count in sorted(counts.items())]
        return sorted(pieces, key=lambda piece: (not piece[0].is_bound, -piece[0].size))

    def _kind(self, index: int, row: int) -> Kind:
        wait = self.work.waits[index]
        domains = self._domains(wait, row)
        found = self._kinds.get((index, domains))
        if found is None:
            found = self._kinds[index, domains] = self._make_kind(wait, domains)
        return found

    def _domains(self, wait: Wait, row: int) -> tuple[tuple[str, str], ...]:
        """Return the label values of a node that rules over domains make the pods depend on."""
        keys = sorted(set().union(*(tie.keys for tie in self.work.domains.of(wait))))
        labels = self._nodes.views[row].labels
        return tuple((key, labels[key]) for key in keys if key in labels)

    def _make_kind(self, wait: Wait, domains: tuple[tuple[str, str], ...]) -> Kind:
        steps = []
        for at, level in enumerate(wait.levels):
            rule = level.rule.within(dict(domains)) if domains else level.rule
            steps.append(replace(wait.item(1, domains, narrowed=rule), at=at))
            if self._columns.open_to(rule).any():
                break
        required = wait.levels[-1]
        rule = required.rule.within(dict(domains)) if domains else required.rule
        last = replace(wait.item(1, domains, narrowed=rule), at=len(wait.levels) - 1)
        asked = tuple((int(at), float(wait.request[at])) for at in np.flatnonzero(wait.request))
        return Kind(
            item=steps[0],
            steps=tuple(steps),
            masks=tuple(self._nodes.row(item.rule) for item in steps),
            asked=asked,
            size=float(self._scale @ wait.request),
            is_bound=any(self._hosts.of(item) for item in (*steps, last)),
            last=last,
            last_mask=self._nodes.row(last.rule),
            preferences=tuple(level.given_up for level in wait.levels[len(steps) :] if level.given_up),
        )


def _beginning(snapshot: Snapshot, candidates: Iterable[Candidate], options: Options) -> Work:
    """Return the solver's state of the snapshot with all pods of the candidates waiting for a place."""
    ours = {one.name: one for one in candidates}
    taken = {name: {pod.metadata.uid for pod in one.pods} for name, one in ours.items()}
    nodes = tuple(_less(view, taken[view.name]) if view.name in taken else view for view in snapshot.nodes)
    demand = Demand.each(pod for one in ours.values() for pod in one.pods)
    return beginning(replace(snapshot, nodes=nodes), demand, options)


def _less(view: NodeView, gone: set[str]) -> NodeView:
    return replace(view, pods=tuple(pod for pod in view.pods if pod.metadata.uid not in gone))
