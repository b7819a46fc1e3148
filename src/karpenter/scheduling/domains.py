"""Rules over zones and other node labels: how many pods each domain has, and where one more may go.

Counts include pods that were dealt a domain but have no node yet. A rule must hold in the finished state, whatever the
order in which pods are bound; so pods that a spread merely counts are levelled too, and held to it beside pods of the
same batch that state it.
Source: spec v1alpha5 SCH-30 … SCH-35, SCH-40 … SCH-45; spec v1 S-30 … S-37.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from karpenter.model import labels
from karpenter.scheduling.catalog import PLACE_KEYS, Bools, Floats, Ints
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.nodes import Nodes
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.terms import Term


@dataclass(slots=True)
class DomainGroup:
    """One rule over one label, shared by all classes that state it."""

    term: Term
    is_live: bool = False
    """Whether some of the new pods state the rule and some are meant by it, so that each copy placed changes it."""
    counted: NodeRule | None = None
    """Nodes on which a spread counts pods; None for the other kinds, which count on all."""
    universe: frozenset[str] = frozenset()
    """Domains whose counts a spread has to even out."""
    count: dict[str, int] = field(default_factory=dict)
    """Pods that the rule means, by domain."""
    owned: dict[str, int] = field(default_factory=dict)
    """Pods that state the rule, by domain; nobody minds those that only prefer it."""
    both: dict[str, int] = field(default_factory=dict)
    """Pods that state the rule and are meant by it, by domain."""

    def least(self, domain: str = "", more: int = 0) -> int:
        """Return the smallest count over the universe, `more` added to one domain (SCH-32)."""
        if len(self.universe) < self.term.min_domains:
            return 0
        counts = [self.count.get(name, 0) + (more if name == domain else 0) for name in self.universe]
        return min(counts, default=0)

    def admits(self, domain: str, *, owner: bool, meant: bool) -> bool:
        """Return whether one more pod may go there: one that states the rule, is meant by it, or both."""
        there = self.count.get(domain, 0)
        match self.term.kind:
            case "spread":
                bound = owner or (meant and self.owned.get(domain))
                return not bound or there + meant - self.least(domain, int(meant)) <= self.term.max_skew
            case "affinity":
                return not owner or there > 0 or (meant and not any(self.count.values()))
            case _:
                return not (owner and there) and not (meant and self.owned.get(domain))

    def add(self, domain: str, pods: int, *, owner: bool, meant: bool) -> None:
        """Count pods that were dealt the domain; a negative number takes them back."""
        if meant:
            self.count[domain] = self.count.get(domain, 0) + pods
        if self.term.is_soft:
            return
        if owner:
            self.owned[domain] = self.owned.get(domain, 0) + pods
        if owner and meant:
            self.both[domain] = self.both.get(domain, 0) + pods

    def excess(self, domain: str) -> int:
        """Return how many pods of the domain would have to go for the rule to hold for those that state it there."""
        if not self.owned.get(domain):
            return 0
        there = self.count.get(domain, 0)
        match self.term.kind:
            case "spread":
                return max(0, there - self.least() - self.term.max_skew)
            case "affinity":
                return self.owned[domain] if self._waits_in_vain(domain) else 0
            case _:
                return 0

    def _waits_in_vain(self, domain: str) -> bool:
        """Return whether none of the pods that want company there could be bound first.

        Pods that want each other wait together, so company is somebody who does not want any; only where nobody like
        that is anywhere may the first of them begin a domain, and then all have to be in that one.
        """
        firm = {name: count - self.both.get(name, 0) for name, count in self.count.items()}
        if any(firm.values()):
            return not firm.get(domain)
        begun = [name for name, count in sorted(self.count.items()) if count]
        return begun[:1] != [domain]


class DomainMap:
    """Which domains of a label nodes have, which new machines could have, and what these would cost."""

    def __init__(self, nodes: Nodes, columns: Columns) -> None:
        self._nodes = nodes
        self._columns = columns
        self._values: dict[str, tuple[str | None, ...]] = {}
        finite = np.where(np.isfinite(columns.price), columns.price, np.nan)
        spread = np.nanmax(finite, axis=(1, 2), initial=0.0) - np.nanmin(finite, axis=(1, 2), initial=np.inf)
        self._is_even = bool((spread <= 0).all())
        """Whether no column costs more in one place than in another: then cost says nothing about domains."""

    def cost(self, rule: NodeRule, request: Floats) -> float:
        """Return what a copy's part of the cheapest machine would cost; 0 where all places cost the same."""
        if self._is_even:
            return 0.0
        share = (request / np.maximum(self._columns.room, 1e-9)).max(axis=1)
        price = np.where(self._columns.row(rule), self._columns.price, np.inf).min(axis=(1, 2))
        return float(np.where(share <= 1, share * price, np.inf).min(initial=np.inf))

    def of_nodes(self, rule: NodeRule, key: str) -> frozenset[str]:
        """Return the domains of the nodes that the rule admits."""
        values, codes = self._nodes.label(key)
        return frozenset(value for at in np.unique(codes[self._nodes.row(rule)]) if (value := values[at]) is not None)

    def may_lack(self, rule: NodeRule, key: str) -> bool:
        """Return whether a node that the rule admits, or a new machine for it, may be without the label."""
        values, codes = self._nodes.label(key)
        if None in values and bool((codes[self._nodes.row(rule)] == values.index(None)).any()):
            return True
        if key in PLACE_KEYS:
            return False
        undecided = [value is None for value in self.of_each_column(key)]
        return bool(np.any(self._columns.row(rule), axis=(1, 2))[undecided].any())

    def of_columns(self, rule: NodeRule, key: str) -> frozenset[str]:
        """Return the domains in which a machine could be launched for the rule."""
        row: Bools = self._columns.row(rule)
        if key == labels.ZONE:
            there: Bools = np.any(row, axis=(0, 2))
            return frozenset(self._columns.zones[at] for at in np.flatnonzero(there))
        if key == labels.CAPACITY_TYPE:
            there = np.any(row, axis=(0, 1))
            return frozenset(self._columns.capacity_types[at] for at in np.flatnonzero(there))
        values = self.of_each_column(key)
        open_now: Bools = np.any(row, axis=(1, 2))
        return frozenset(value for at in np.flatnonzero(open_now) if (value := values[at]) is not None)

    def of_machines(self, rule: NodeRule, key: str, *, column: Ints, places: Bools) -> frozenset[str]:
        """Return the domains that machines of these columns may be in, with the places open to them (n×Z×K)."""
        there: Bools = places & self._columns.row(rule)[column]
        if key == labels.ZONE:
            return frozenset(self._columns.zones[at] for at in np.flatnonzero(np.any(there, axis=(0, 2))))
        if key == labels.CAPACITY_TYPE:
            return frozenset(self._columns.capacity_types[at] for at in np.flatnonzero(np.any(there, axis=(0, 1))))
        values = self.of_each_column(key)
        admitted = column[np.any(there, axis=(1, 2))]
        return frozenset(value for at in admitted.tolist() if (value := values[at]) is not None)

    def of_each_column(self, key: str) -> tuple[str | None, ...]:
        """Return the label value that machines of each column have; None where it is open or absent."""
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = tuple(self._value(column, key) for column in range(len(self._columns)))
        return found

    def _value(self, column: int, key: str) -> str | None:
        kind = self._columns.type_of(column).requirements
        decided = self._columns.lane_of(column).requirements.allowed(key).intersect(kind.allowed(key))
        return next(iter(decided.values)) if not decided.complement and len(decided.values) == 1 else None
