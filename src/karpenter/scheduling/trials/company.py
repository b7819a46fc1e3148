"""Rules about other pods as kube-scheduler keeps them: one pod after the other, against what is bound at that moment.

That is less strict than a plan, which has to hold in the end: a spread binds only pods that state it, its least count
is that of the nodes there are, and whom a rule merely means goes where it likes, unless anti-affinity keeps it away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.trials.ground import Ground, Plan
from karpenter.scheduling.trials.levels import levelled
from karpenter.scheduling.trials.start import MANY, NOWHERE, Start


class _Part(NamedTuple):
    """The rules that bind one kind."""

    keeps_apart: Ints
    """Anti-affinity that it states …"""
    is_kept_apart: Ints
    """… and that means it."""
    spreads: Ints
    """Spread that it states."""
    joins: Ints
    """Affinity that it states."""
    counts: tuple[Ints, Ints]
    """Rules that mean it: those over hosts, those over labels."""
    stands: tuple[Ints, Ints]
    """Rules that it states, likewise."""


class _Side(NamedTuple):
    """Rules of one sort, and which kinds they bind."""

    rules: Ints
    """n."""
    states: Bools
    """S×n."""
    meant: Bools
    """S×n."""


class Company:
    """Who is where during one trial: for every place the pods in its domain that each rule means, and that state it."""

    def __init__(self, plan: Plan, ground: Ground) -> None:
        start = Start(plan, ground)
        self._rules = start.rules()
        self._count, self._owned = start.counts()
        self._elsewhere, self._outside = start.of_others()
        self._first = self._count.copy(), self._owned.copy()
        shape = len(ground.kinds), len(self._rules.kinds)
        self._states: Bools = np.zeros(shape, dtype=np.bool_)
        self._meant: Bools = np.zeros(shape, dtype=np.bool_)
        for at, kind in enumerate(ground.kinds):
            for bonds, position in ((kind.hosts, start.at_host), (kind.domains, start.at_label)):
                for bond in bonds:
                    self._states[at, position[bond.group]] = bond.owner
                    self._meant[at, position[bond.group]] = bond.meant
        self._parts = [self._part(at) for at in range(len(ground.kinds))]
        self._anti, self._spread, self._near = (self._side(name) for name in ("anti", "spread", "affinity"))
        self._is_single: Bools = np.any(self._anti.states & self._anti.meant, axis=1)
        involved = self._states | self._meant
        self.is_bound: Bools = np.any(involved, axis=1)
        """Kinds that any rule binds (S)."""
        self._shared: Bools = involved & (involved.sum(axis=0) > 1)
        """Rules that bind a kind and others too (S×G)."""

    def _side(self, name: str) -> _Side:
        rules = np.array([at for at, kind in enumerate(self._rules.kinds) if kind == name], dtype=np.int64)
        return _Side(rules, self._states[:, rules], self._meant[:, rules])

    def _part(self, at: int) -> _Part:
        kinds, hosts = np.array(self._rules.kinds), self._rules.hosts
        own, meant = np.flatnonzero(self._states[at]), np.flatnonzero(self._meant[at])
        return _Part(
            own[kinds[own] == "anti"],
            meant[kinds[meant] == "anti"],
            own[kinds[own] == "spread"],
            own[kinds[own] == "affinity"],
            (meant[meant < hosts], meant[meant >= hosts]),
            (own[own < hosts], own[own >= hosts]),
        )

    def reset(self) -> None:
        """Begin anew."""
        self._count, self._owned = self._first[0].copy(), self._first[1].copy()

    def put(self, at: int, places: Ints, copies: Ints) -> None:
        """Count copies of a kind that were bound."""
        part, rules = self._parts[at], self._rules
        self._count[places[:, None], part.counts[0]] += copies[:, None]
        self._owned[places[:, None], part.stands[0]] += copies[:, None]
        for numbers, involved in ((self._count, part.counts[1]), (self._owned, part.stands[1])):
            for rule in involved.tolist():
                added = copies * rules.counted[places, rule] if numbers is self._count else copies
                code = rules.code[:, rule] + 1
                sums = np.bincount(code[places], added, int(code.max()) + 1).astype(np.int64)
                sums[0] = 0
                numbers[:, rule] += sums[code]

    # several places --------------------------------------------------------------------------------------------------

    def caps(self, at: int, places: Ints, open_now: Bools) -> tuple[Floats, float]:
        """Return how many copies of a kind each of the places takes, and after how many to ask again.

        `open_now` are all places that have a node (B).
        """
        part, rules = self._parts[at], self._rules
        caps = np.full(len(places), np.inf)
        at_once = np.inf
        if len(part.keeps_apart):
            caps[(self._count[np.ix_(places, part.keeps_apart)] > 0).any(axis=1)] = 0
        if len(part.is_kept_apart):
            caps[(self._owned[np.ix_(places, part.is_kept_apart)] > 0).any(axis=1)] = 0
            own = np.intersect1d(part.keeps_apart, part.is_kept_apart)
            if len(own):
                np.minimum(caps, 1.0, out=caps)
                at_once = 1.0 if own[-1] >= rules.hosts else np.inf
        for rule in part.spreads.tolist():
            above = self._count[places, rule] - self._least(rule, open_now)
            meant = self._meant[at, rule]
            mine = (
                np.maximum(rules.skew[rule] - above, 0.0) if meant else np.where(above <= rules.skew[rule], np.inf, 0)
            )
            np.minimum(caps, np.where(rules.code[places, rule] == NOWHERE, 0.0, mine), out=caps)
            at_once = 1.0 if rule >= rules.hosts else at_once
        for rule in part.joins.tolist():
            first = self._founds(at, rule)
            if not first:
                caps[self._count[places, rule] <= 0] = 0
            caps[rules.code[places, rule] == NOWHERE] = 0
            at_once = 1.0 if first else at_once
        return caps, at_once

    def _founds(self, at: int, rule: int) -> bool:
        """Return whether a pod that wants company may be the first of it."""
        return bool(self._meant[at, rule]) and not self._elsewhere[rule] and not self._count[:, rule].any()

    def _least(self, rule: int, open_now: Bools) -> int:
        """Return the smallest count among the domains that have a node."""
        there = open_now & self._rules.counted[:, rule]
        if self._few(rule, there):
            return 0
        return int(self._count[there, rule].min(initial=self._outside[rule]))

    def _few(self, rule: int, there: Bools) -> bool:
        least = int(self._rules.least_domains[rule])
        return least > 1 and self._outside[rule] == MANY and len(np.unique(self._rules.code[there, rule])) < least

    def shares(
        self, at: int, places: Ints, room: Floats, *, open_now: Bools, most: int
    ) -> list[tuple[Ints, int]] | None:
        """Return the places of each domain (as positions) and how many of `most` copies it gets one after the other.

        `room` is what each place could hold, whatever the rule says. Only for kinds that one spread over a label binds
        and no rule beside it; None for all others.
        """
        involved = np.flatnonzero(self._states[at] | self._meant[at])
        rule, rules = int(involved[0]), self._rules
        if len(involved) > 1 or rule < rules.hosts or rules.kinds[rule] != "spread" or not self._meant[at, rule]:
            return None
        if not self._states[at, rule]:
            return None
        code = rules.code[:, rule] + 1
        size = int(code.max()) + 1
        level = np.full(size, MANY)
        level[code] = self._count[:, rule]
        there = np.bincount(code[open_now & rules.counted[:, rule]], minlength=size) > 0
        held = np.minimum(np.bincount(code[places], room, size), most).astype(np.int64)
        held[0] = 0
        ends = np.where(there, level + held, MANY)
        floor = int(ends.min(initial=self._outside[rule]))
        floor = 0 if self._few(rule, open_now & rules.counted[:, rule]) else floor
        limit = np.minimum(level + held, np.maximum(level, floor + rules.skew[rule]))
        given = levelled(level.tolist(), limit.tolist(), most)
        return [(np.flatnonzero(code[places] == domain), count) for domain, count in enumerate(given) if count]

    # one place -------------------------------------------------------------------------------------------------------

    def caps_on(self, place: int, open_now: Bools) -> Floats:
        """Return how many copies of every kind one place takes, while nothing else is bound (S)."""
        count, owned, code = self._count[place], self._owned[place], self._rules.code[place]
        anti, spread = self._anti, self._spread
        caps = np.where(self._is_single, 1.0, np.inf)
        caps[anti.states[:, count[anti.rules] > 0].any(axis=1)] = 0
        caps[anti.meant[:, owned[anti.rules] > 0].any(axis=1)] = 0
        if len(spread.rules):
            left = np.where(code[spread.rules] == NOWHERE, -1, self._left_on(place, spread.rules, open_now))
            counted = spread.states & spread.meant
            np.minimum(caps, np.where(counted, np.maximum(left, 0), np.inf).min(axis=1), out=caps)
            caps[spread.states[:, left < 0].any(axis=1)] = 0
        for position, rule in enumerate(self._near.rules.tolist()):
            mine = self._near.states[:, position]
            if code[rule] == NOWHERE:
                caps[mine] = 0
            elif count[rule] <= 0:
                is_empty = not self._elsewhere[rule] and not self._count[:, rule].any()
                caps[mine & ~(self._near.meant[:, position] & is_empty)] = 0
                caps[mine] = np.minimum(caps[mine], 1.0)
        return caps

    def are_independent(self, kinds: Ints) -> Bools:
        """Return for each of these pods whether no rule binds it together with one of another kind before it."""
        shared = self._shared[kinds]
        return np.asarray(~(shared & (np.cumsum(shared, axis=0) > 1)).any(axis=1))

    def _left_on(self, place: int, spreads: Ints, open_now: Bools) -> Ints:
        """Return how many pods more each spread lets a place's domain have, while no other domain gets any."""
        rules = self._rules
        there = open_now[:, None] & rules.counted[:, spreads]
        others = there & (rules.code[:, spreads] != rules.code[place, spreads])
        least = np.minimum(np.where(others, self._count[:, spreads], MANY).min(axis=0), self._outside[spreads])
        for position in np.flatnonzero(rules.least_domains[spreads] > 1).tolist():
            if self._few(int(spreads[position]), there[:, position]):
                least[position] = 0
        return np.asarray(least + rules.skew[spreads] - self._count[place, spreads])
