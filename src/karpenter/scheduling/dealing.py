"""Deal domains: every copy that a rule over zones or other labels binds is told its domain before it looks for a place.

Copies of one rule are levelled over the domains that can serve them, those that the rule merely counts included; that
keeps a spread whatever the order in which pods are bound. Source: spec v1alpha5 SCH-32 … SCH-35, SCH-42 … SCH-45.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from karpenter.scheduling.domains import DomainGroup, DomainMap
from karpenter.scheduling.items import Item, Wait
from karpenter.scheduling.rules import NodeRule

Domains: TypeAlias = tuple[tuple[str, str], ...]
"""Label keys with the values dealt, sorted by key."""
Reach: TypeAlias = Callable[[Wait, NodeRule], bool]
"""Whether a node or a new machine could take a copy under a narrower rule."""


@dataclass(frozen=True, slots=True)
class DomainTie:
    """What binds a profile to a rule: its pods state it, are meant by it, or both."""

    group: DomainGroup
    owner: bool
    meant: bool


@dataclass(slots=True)
class DomainRules:
    """All rules over domains, and what was dealt so far."""

    groups: Sequence[DomainGroup]
    ties: Mapping[tuple[int, int], tuple[DomainTie, ...]]
    """What binds each profile at each of its levels; absent when nothing does."""
    map: DomainMap
    reach: Reach
    _load: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Copies dealt to each domain, to level what no rule levels."""

    def of(self, wait: Wait | Item) -> tuple[DomainTie, ...]:
        """Return what binds copies at their level."""
        return self.ties.get((wait.cls.profile, wait.at), ())

    def deal(self, wait: Wait, most: int, *, without: Collection[Domains] = ()) -> list[Item]:
        """Return up to `most` of the waiting copies as items with their domains; what cannot be dealt is left out.

        `without` are domains that turned out to have no room.
        """
        ties = self.of(wait)
        if not ties:
            return [] if () in without else [wait.item(most)]
        keys = sorted({tie.group.term.key for tie in ties})
        options = [domains for domains in self._options(wait, keys) if domains not in without]
        if len(keys) == 1 and len(ties) == 1 and ties[0].group.term.kind == "spread" and ties[0].meant:
            dealt = self._level(ties[0], options, most)
        else:
            dealt = self._one_by_one(wait, ties, options, most=most)
        return [wait.item(count, domains) for domains, count in sorted(dealt.items()) if count]

    def states(self, item: Item, group: DomainGroup) -> bool:
        """Return whether the item's pods state the rule of this group."""
        return any(tie.owner and tie.group is group for tie in self.of(item))

    def give_back(self, item: Item, count: int) -> None:
        """Take back what was dealt to copies that found no place."""
        self._count(self.of(item), item.domains, -count)

    def _count(self, ties: Sequence[DomainTie], domains: Domains, count: int) -> None:
        values = dict(domains)
        for tie in ties:
            tie.group.add(values[tie.group.term.key], count, owner=tie.owner, meant=tie.meant)
        for entry in domains:
            self._load[entry] += count

    def _options(self, wait: Wait, keys: Sequence[str]) -> list[Domains]:
        """Return the combinations of domains in which a copy could be placed at all, sorted."""
        rule = wait.levels[wait.at].rule
        values = [sorted(self.map.of_nodes(rule, key) | self.map.of_columns(rule, key)) for key in keys]
        combinations = (tuple(zip(keys, chosen, strict=True)) for chosen in product(*values))
        return [domains for domains in combinations if self.reach(wait, rule.within(dict(domains)))]

    def _level(self, tie: DomainTie, options: Sequence[Domains], most: int) -> dict[Domains, int]:
        """Deal copies that one spread counts, all at once: domains fill up from the emptiest, as water would."""
        group = tie.group
        cap = most + max(group.count.values(), default=0)
        outside = group.universe.difference(domains[0][1] for domains in options)
        if tie.owner:
            few = len(group.universe) < group.term.min_domains
            floor = 0 if few else min((group.count.get(name, 0) for name in outside), default=cap)
            cap = min(cap, floor + group.term.max_skew)
        ranked = sorted(options, key=lambda domains: (self._load[domains[0]], domains))
        levels = {domains: group.count.get(domains[0][1], 0) for domains in ranked}
        dealt = _poured(levels, most, cap)
        for domains, count in dealt.items():
            self._count((tie,), domains, count)
        return dealt

    def _one_by_one(
        self, wait: Wait, ties: Sequence[DomainTie], options: Sequence[Domains], *, most: int
    ) -> dict[Domains, int]:
        dealt: dict[Domains, int] = {}
        for _ in range(most):
            domains = self._best(wait, ties, options)
            if domains is None:
                break
            self._count(ties, domains, 1)
            dealt[domains] = dealt.get(domains, 0) + 1
        return dealt

    def _best(self, wait: Wait, ties: Sequence[DomainTie], options: Sequence[Domains]) -> Domains | None:
        """Return the domains for one more copy: those that all rules admit, the emptiest in the eyes of the spreads."""
        best: Domains | None = None
        rank: tuple[float, ...] = ()
        for domains in options:
            values = dict(domains)
            level = 0
            for tie in ties:
                domain = values[tie.group.term.key]
                if not tie.group.admits(domain, owner=tie.owner, meant=tie.meant):
                    break
                if tie.group.term.kind == "spread":
                    level += tie.group.count.get(domain, 0)
            else:
                cost = self.map.cost(wait.levels[wait.at].rule.within(values), wait.request)
                mine = (level, cost, sum(self._load[entry] for entry in domains))
                if best is None or mine < rank:
                    best, rank = domains, mine
        return best


def _poured(levels: Mapping[Domains, int], amount: int, cap: int) -> dict[Domains, int]:
    """Return how much each vessel gets for levels as even as can be, none above the cap; ties in their order."""
    vessels = sorted(levels, key=lambda domains: levels[domains])
    low, high = 0, cap
    while low < high:
        middle = (low + high + 1) // 2
        if sum(max(0, middle - levels[vessel]) for vessel in vessels) <= amount:
            low = middle
        else:
            high = middle - 1
    given = {vessel: max(0, low - levels[vessel]) for vessel in vessels}
    rest = amount - sum(given.values())
    for vessel in levels:
        if rest and low < cap and levels[vessel] <= low:
            given[vessel] += 1
            rest -= 1
    return given
