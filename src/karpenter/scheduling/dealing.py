"""Deal domains: every copy that a rule over zones or other labels binds is told its domain before it looks for a place.

Copies of one rule are levelled over the domains that can serve them, those that the rule merely counts included; that
keeps a spread whatever the order in which pods are bound. Source: spec v1alpha5 SCH-32 … SCH-35, SCH-42 … SCH-45.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product, starmap
from typing import Protocol, TypeAlias

from karpenter.model.requirements import Requirement, Requirements
from karpenter.scheduling.catalog import Bools, Ints
from karpenter.scheduling.domains import DomainGroup, DomainMap
from karpenter.scheduling.items import Item, Wait
from karpenter.scheduling.rules import NodeRule

Domains: TypeAlias = tuple[tuple[str, str], ...]
"""Label keys with the values dealt, sorted by key; a label that the nodes lack is left out."""

Bound: TypeAlias = tuple[str, tuple[Requirements, ...]]
"""The label that a rule is about, and the nodes on which it counts pods where these are not all."""


class Reach(Protocol):
    """Knows where there is room."""

    @property
    def version(self) -> int:
        """Changes whenever answers may."""
        ...

    def __call__(self, wait: Wait, rule: NodeRule) -> bool:
        """Return whether a node or a new machine could take a copy under a narrower rule."""
        ...


@dataclass(frozen=True, slots=True)
class Spot:
    """A combination of domains in which something could take copies."""

    domains: Domains
    rule: NodeRule
    """What copies there demand of a node."""
    cost: float
    """What a copy's part of the cheapest machine there costs; 0 where that is the same everywhere."""


@dataclass(frozen=True, slots=True)
class DomainTie:
    """What binds a profile to a rule: its pods state it, are meant by it, or both."""

    group: DomainGroup
    owner: bool
    meant: bool
    filter: tuple[Requirements, ...] = ()
    """Nodes on which the rule counts pods, where these are not surely all that the profile may go to."""

    @property
    def keys(self) -> set[str]:
        """The labels that have to be decided for the rule to be judged."""
        return {self.group.term.key}.union(*self.filter)

    def counts(self, values: Mapping[str, str]) -> bool:
        """Return whether the rule counts a pod on a node with these label values."""
        return self.meant and (not self.filter or any(term.allows(values) for term in self.filter))


Mark: TypeAlias = tuple[DomainGroup, str, bool, bool]
"""A rule with a domain, whether a copy states it, and whether it counts the copy."""


@dataclass(frozen=True, slots=True)
class Option:
    """A spot for the copies of one class."""

    spot: Spot
    marks: tuple[Mark, ...]
    """What a copy there is to each rule."""


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
    _spots: dict[tuple[NodeRule, bytes, bool, tuple[Bound, ...]], list[Spot]] = field(default_factory=dict)
    _combined: dict[tuple[NodeRule, tuple[Bound, ...]], list[tuple[Domains, NodeRule]]] = field(default_factory=dict)
    """What `_combinations` yields: equal rules that are one object are told apart by nobody."""
    _marked: dict[tuple[int, int, Domains], tuple[Mark, ...]] = field(default_factory=dict)
    _as_of: int = -1
    """The version of `reach` that the spots were looked up in."""

    def of(self, wait: Wait | Item) -> tuple[DomainTie, ...]:
        """Return what binds copies at their level."""
        return self.ties.get((wait.cls.profile, wait.at), ())

    def deal(self, wait: Wait, most: int, *, without: Collection[Domains] = ()) -> list[Item]:
        """Return up to `most` of the waiting copies as items with their domains; what cannot be dealt is left out.

        `without` are domains that turned out to have no room.
        """
        ties = self.of(wait)
        if not any(tie.group.is_live or (tie.owner and tie.group.term.kind == "spread") for tie in ties):
            return [] if () in without else self._unsplit(wait, ties, most)
        options = self._options(wait, ties, without)
        labelled = all(option.spot.domains for option in options)
        alone = (
            labelled and len(ties) == 1 and ties[0].meant and not ties[0].filter and ties[0].group.term.kind == "spread"
        )
        dealt = self._level(options, ties[0], most) if alone else self._one_by_one(options, most)
        return [
            wait.item(dealt[option.spot.domains], option.spot.domains, narrowed=option.spot.rule)
            for option in options
            if dealt.get(option.spot.domains)
        ]

    def _unsplit(self, wait: Wait, ties: Sequence[DomainTie], most: int) -> list[Item]:
        """Return the copies as one item for all domains that are open to them: none that is placed changes these."""
        narrowed = wait.rule
        for tie in ties:
            term = tie.group.term
            there = self.map.of_nodes(wait.rule, term.key) | self.map.of_columns(wait.rule, term.key)
            admitted = {name for name in there if tie.group.admits(name, owner=tie.owner, meant=tie.meant)}
            if not admitted and tie.owner and term.kind == "affinity":
                # An empty list of values would mean that the label has to be absent.
                return []
            if tie.owner and term.kind == "affinity":
                narrowed = narrowed.narrowed(Requirements((Requirement.of(term.key, "In", admitted),)))
            elif admitted < there:
                # Nodes without the label are as good as any to a rule of distance.
                narrowed = narrowed.narrowed(Requirements((Requirement.of(term.key, "NotIn", there - admitted),)))
        return [wait.item(most, narrowed=narrowed)]

    def discover(self, column: Ints, places: Bools, rows: Sequence[int]) -> None:
        """Count the domains of planned machines among those that spreads have to even out: these rows of all bins.

        A machine for others may stand where no pod of a spread could go; the scheduler sees an empty domain there.
        """
        if not rows:
            return
        mine, open_places = column[rows], places[rows]
        for group in self.groups:
            if group.counted is not None and any(group.owned.values()):
                key = group.term.key
                group.universe |= self.map.of_machines(group.counted, key, column=mine, places=open_places)

    def states(self, item: Item, group: DomainGroup) -> bool:
        """Return whether the item's pods state the rule of this group."""
        return any(tie.owner and tie.group is group for tie in self.of(item))

    def marks(self, item: Item) -> tuple[Mark, ...]:
        """Return what copies that were dealt domains count for: rule, domain, whether they state it, are counted."""
        return _marks(self.of(item), dict(item.domains)) if item.domains else ()

    def give_back(self, item: Item, count: int) -> None:
        """Take back what was dealt to copies that found no place."""
        if item.domains and count:
            self._count(self.marks(item), item.domains, -count)

    def _count(self, marks: Sequence[Mark], domains: Domains, count: int) -> None:
        for group, domain, owner, meant in marks:
            group.add(domain, count, owner=owner, meant=meant)
        for entry in domains:
            self._load[entry] += count

    def _options(self, wait: Wait, ties: Sequence[DomainTie], without: Collection[Domains]) -> list[Option]:
        """Return the combinations of domains in which a copy could be placed at all, sorted."""
        needed = {tie.group.term.key for tie in ties if tie.owner and tie.group.term.kind != "anti"}
        options = []
        for spot in self._reached(wait, tuple(dict.fromkeys((tie.group.term.key, tie.filter) for tie in ties))):
            if spot.domains not in without and needed <= {key for key, _ in spot.domains}:
                known = wait.cls.profile, wait.at, spot.domains
                if known not in self._marked:
                    self._marked[known] = _marks(ties, dict(spot.domains))
                options.append(Option(spot, self._marked[known]))
        return options

    def _reached(self, wait: Wait, bound: tuple[Bound, ...]) -> list[Spot]:
        """Return the spots of copies with this rule and request: many classes have the same."""
        if self._as_of != self.reach.version:
            self._spots.clear()
            self._as_of = self.reach.version
        known = wait.rule, wait.request.tobytes(), wait.may_launch, bound
        found = self._spots.get(known)
        if found is None:
            if (wait.rule, bound) not in self._combined:
                self._combined[wait.rule, bound] = list(self._combinations(wait.rule, bound))
            spots = (
                Spot(domains, rule, self.map.cost(rule, wait.request))
                for domains, rule in self._combined[wait.rule, bound]
                if self.reach(wait, rule)
            )
            found = self._spots[known] = sorted(spots, key=lambda spot: spot.domains)
        return found

    def _combinations(self, rule: NodeRule, bound: Sequence[Bound]) -> Iterator[tuple[Domains, NodeRule]]:
        """Yield ways to decide every label that rules depend on, and the narrower rule for each.

        Of the labels by which a spread only chooses whom it counts, values that make no difference to it stay together.
        """
        keys = sorted({key for key, _ in bound})
        for chosen in product(*([(value,) for value in self._values(rule, key)] for key in keys)):
            decided = dict(zip(keys, chosen, strict=True))
            filters = [term for key, terms in bound if decided[key] != (None,) for term in terms]
            others = sorted(set().union(*filters).difference(keys))
            for more in product(*(self._alike(rule, key, filters) for key in others)):
                values = decided | dict(zip(others, more, strict=True))
                yield (
                    tuple((key, first) for key, (first, *_) in sorted(values.items()) if first is not None),
                    rule.narrowed(Requirements(starmap(_among, values.items()))),
                )

    def _alike(self, rule: NodeRule, key: str, filters: Sequence[Requirements]) -> Iterable[tuple[str | None, ...]]:
        """Return the values that nodes and new machines may have of a label, those together that pass equal filters."""
        asked = [term[key] for term in filters if key in term]
        groups: dict[tuple[bool, ...], tuple[str | None, ...]] = {}
        for value in self._values(rule, key):
            if value is None:
                yield (None,)
            else:
                passed = tuple(requirement.allows(value) for requirement in asked)
                groups[passed] = (*groups.get(passed, ()), value)
        yield from groups.values()

    def _values(self, rule: NodeRule, key: str) -> list[str | None]:
        """Return the values that nodes and new machines may have of a label, None where some have no such label."""
        values: list[str | None] = [*sorted(self.map.of_nodes(rule, key) | self.map.of_columns(rule, key))]
        return [*values, None] if self.map.may_lack(rule, key) else values

    def _level(self, options: Sequence[Option], tie: DomainTie, most: int) -> dict[Domains, int]:
        """Deal copies that one spread counts, all at once: domains fill up from the emptiest, as water would."""
        group = tie.group
        cap = most + max(group.count.values(), default=0)
        outside = group.universe.difference(option.spot.domains[0][1] for option in options)
        if tie.owner or any(group.owned.values()):
            few = len(group.universe) < group.term.min_domains
            floor = 0 if few else min((group.count.get(name, 0) for name in outside), default=cap)
            cap = min(cap, floor + group.term.max_skew)
        spots = [option.spot for option in options]
        ranked = sorted(spots, key=lambda spot: (spot.cost, self._load[spot.domains[0]], spot.domains))
        dealt = _poured({spot.domains: group.count.get(spot.domains[0][1], 0) for spot in ranked}, most, cap)
        for option in options:
            self._count(option.marks, option.spot.domains, dealt[option.spot.domains])
        return dealt

    def _one_by_one(self, options: Sequence[Option], most: int) -> dict[Domains, int]:
        dealt: dict[Domains, int] = {}
        for _ in range(most):
            best = min(filter(_is_open, options), key=self._rank, default=None)
            if best is None:
                break
            self._count(best.marks, best.spot.domains, 1)
            dealt[best.spot.domains] = dealt.get(best.spot.domains, 0) + 1
        return dealt

    def _rank(self, option: Option) -> tuple[int, int, int, float, int, Domains]:
        """Return how good an option is for one more copy: the least.

        Nodes without labels come last, as nothing is launched there. Then comes what closes no domain to others that
        was open to them, then what is emptiest to the spreads, then what is cheapest.
        """
        closed = level = 0
        for group, domain, owner, meant in option.marks:
            if group.term.kind == "spread":
                level += group.count.get(domain, 0)
            elif group.term.kind == "anti" and owner != meant and group.is_live:
                closed += not (group.owned if owner else group.count).get(domain)
        spot = option.spot
        return (
            -len(spot.domains),
            closed,
            level,
            spot.cost,
            sum(self._load[entry] for entry in spot.domains),
            spot.domains,
        )


def _among(key: str, values: Sequence[str | None]) -> Requirement:
    named = [value for value in values if value is not None]
    return Requirement.of(key, "In", named) if named else Requirement.of(key, "DoesNotExist")


def _is_open(option: Option) -> bool:
    return all(group.admits(domain, owner=owner, meant=meant) for group, domain, owner, meant in option.marks)


def _marks(ties: Sequence[DomainTie], values: Mapping[str, str]) -> tuple[Mark, ...]:
    """Return what a copy with these label values is to each rule; one over a label that is not there has no say."""
    return tuple(
        (tie.group, values[tie.group.term.key], tie.owner, tie.counts(values))
        for tie in ties
        if tie.group.term.key in values
    )


def _poured(levels: Mapping[Domains, int], amount: int, cap: int) -> dict[Domains, int]:
    """Return how much each vessel gets for levels as even as can be, none above the cap; ties in their order."""
    low = filled = 0
    for vessels, (level, above) in enumerate(pairwise([*sorted(levels.values()), cap]), start=1):
        filled += level
        low = (amount + filled) // vessels
        if low <= above:
            break
    low = min(low, cap)
    given = {vessel: max(0, low - level) for vessel, level in levels.items()}
    rest = amount - sum(given.values())
    for vessel, level in levels.items():
        if rest and low < cap and level <= low:
            given[vessel] += 1
            rest -= 1
    return given
