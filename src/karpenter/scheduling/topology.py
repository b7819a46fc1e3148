"""Rules about other pods, read from a whole batch: which classes state them, whom they mean, and who is where already.

The result is two sets of rules: over domains, which `dealing` keeps, and over hosts, which cap what each bin takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeAlias

import numpy as np

from karpenter.model.labels import HOSTNAME
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.taints import Toleration
from karpenter.scheduling.catalog import PLACE_KEYS, Bools
from karpenter.scheduling.census import Census, Signature
from karpenter.scheduling.classes import Grouping, Port, Profile, clash
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.daemons import Daemon
from karpenter.scheduling.dealing import DomainRules, DomainTie, Reach
from karpenter.scheduling.domains import DomainGroup, DomainMap
from karpenter.scheduling.hosts import HostGroup, HostRules, HostTie
from karpenter.scheduling.nodes import Nodes
from karpenter.scheduling.rules import Level, NodeRule
from karpenter.scheduling.terms import Term

_EVERYTHING: Final = (Toleration(operator="Exists"),)
_ANYWHERE: Final = (Requirements(),)
GroupKey: TypeAlias = tuple[Term, NodeRule | None]
"""A rule, and for a spread which domains count (S-30)."""
Ladder: TypeAlias = tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """Where the rules are to hold."""

    nodes: Nodes
    columns: Columns
    daemons: tuple[Daemon, ...]
    census: Census


def rules_of(
    grouping: Grouping, ladders: Sequence[Ladder], scene: Scene, *, reach: Reach
) -> tuple[DomainRules, HostRules]:
    """Return all rules that a batch has to keep, with the pods that are bound already counted.

    `ladders` holds the levels of each profile.
    """
    reader = _Reader(grouping.profiles, ladders, scene)
    reader.read()
    sizes = [0] * len(grouping.profiles)
    for cls in grouping.classes:
        sizes[cls.profile] += cls.size
    return reader.domain_rules(reach), reader.host_rules(sizes)


@dataclass(slots=True)
class _Reader:
    """Reads rules into groups; profiles and groups go by their positions."""

    profiles: Sequence[Profile]
    ladders: Sequence[Ladder]
    scene: Scene
    _keys: dict[tuple[int, Term], GroupKey] = field(default_factory=dict)
    """The group of each rule that a profile states at some level."""
    _domains: dict[GroupKey, int] = field(default_factory=dict)
    _domain_groups: list[DomainGroup] = field(default_factory=list)
    _counted: list[NodeRule | None] = field(default_factory=list)
    """For each group the nodes on which it counts pods."""
    _hosts: dict[Term, int] = field(default_factory=dict)
    _ports: dict[Port, int] = field(default_factory=dict)
    _host_groups: list[HostGroup] = field(default_factory=list)
    _meant_by_domain: dict[int, set[int]] = field(default_factory=dict)
    _meant_by_host: dict[int, set[int]] = field(default_factory=dict)
    _members: dict[Signature, list[int]] = field(default_factory=dict)
    """Profiles by what selections see of them."""

    def read(self) -> None:
        for at, profile in enumerate(self.profiles):
            self._members.setdefault((profile.namespace, profile.labels), []).append(at)
        for index, ladder in enumerate(self.ladders):
            # Nodes that lack a label of any of the pod's spreads do not count for the others either.
            spreads = {term.key for term in ladder[-1].terms if term.kind == "spread"}
            labelled = tuple(Requirement.of(key, "Exists") for key in sorted(spreads - {HOSTNAME}))
            for term in dict.fromkeys(term for level in ladder for term in level.terms):
                self._keys[index, term] = self._key(self.profiles[index], term, labelled)
        stated = self._keys.values()
        repelled = ((term, None) for term, _ in self.scene.census.repelled)
        for term, rule in dict.fromkeys(chain(stated, repelled)):
            if term.is_by_host:
                self._add_host_group(term)
            else:
                self._add_domain_group(term, rule)
        for term, row in self.scene.census.repelled:
            self._own_bound(term, row)
        self._add_ports()

    @staticmethod
    def _key(profile: Profile, term: Term, labelled: Sequence[Requirement]) -> GroupKey:
        if term.kind != "spread" or term.is_by_host:
            return term, None
        terms = profile.terms if term.honors_affinity else _ANYWHERE
        terms = tuple(alternative.intersect(labelled) for alternative in terms)
        return term, NodeRule(terms, profile.tolerations, ignores_preferred_taints=True)

    def _add_host_group(self, term: Term) -> None:
        at = self._hosts[term] = len(self._host_groups)
        group = HostGroup(term.kind, term.max_skew, is_soft=term.is_soft)
        self._host_groups.append(group)
        meant = self.scene.census.meant(term.selection)
        for row, count in self._bound(meant, term):
            group.add(row, count, owner=False, meant=True)
        for signature in meant:
            for index in self._members.get(signature, ()):
                self._meant_by_host.setdefault(index, set()).add(at)

    def _add_domain_group(self, term: Term, rule: NodeRule | None) -> None:
        at = self._domains[term, rule] = len(self._domain_groups)
        meant = self.scene.census.meant(term.selection)
        self._domain_groups.append(self._domain_group(term, rule, meant))
        self._counted.append(rule)
        for signature in meant:
            for index in self._members.get(signature, ()):
                self._meant_by_domain.setdefault(index, set()).add(at)

    def _bound(self, meant: Iterable[Signature], term: Term) -> Iterable[tuple[int, int]]:
        """Yield rows and counts of bound pods; who is leaving still keeps others away, but is no company any more."""
        census = self.scene.census
        for signature in meant:
            yield from census.rows.get(signature, {}).items()
            if term.kind == "anti":
                yield from census.leaving.get(signature, {}).items()

    def _domain_group(self, term: Term, rule: NodeRule | None, meant: Sequence[Signature]) -> DomainGroup:
        nodes = self.scene.nodes
        group = DomainGroup(term)
        counted: Bools = np.ones(len(nodes), dtype=np.bool_)
        if rule is not None:
            there = rule if term.honors_taints else NodeRule(rule.terms, _EVERYTHING)
            domains = DomainMap(nodes, self.scene.columns)
            group.universe = domains.of_nodes(there, term.key) | domains.of_columns(rule, term.key)
            counted = nodes.row(there)
            group.counted = there
        values, codes = nodes.label(term.key)
        for row, count in self._bound(meant, term):
            domain = values[codes[row]]
            if domain is not None and counted[row]:
                group.add(domain, count, owner=False, meant=True)
        return group

    def _own_bound(self, term: Term, row: int) -> None:
        """Count a bound pod that repels others where it is."""
        if term.is_by_host:
            self._host_groups[self._hosts[term]].add(row, 1, owner=True, meant=False)
            return
        values, codes = self.scene.nodes.label(term.key)
        domain = values[codes[row]]
        if domain is not None:
            self._domain_groups[self._domains[term, None]].add(domain, 1, owner=True, meant=False)

    def _add_ports(self) -> None:
        """Add a rule for every host port in the batch: who has it states it, who has one that clashes is meant."""
        for port in sorted({port for profile in self.profiles for port in profile.ports}):
            self._ports[port] = len(self._host_groups)
            group = HostGroup("anti")
            self._host_groups.append(group)
            rows = [row for taken, where in self.scene.census.ports.items() if clash(port, taken) for row in where]
            for daemon in self.scene.daemons:
                if any(clash(port, taken) for taken in daemon.ports):
                    rows.extend(int(row) for row in np.flatnonzero(self.scene.nodes.row(daemon.rule)))
            for row in rows:
                group.add(row, 1, owner=True, meant=True)

    def domain_rules(self, reach: Reach) -> DomainRules:
        """Return the rules over domains, with what binds each profile at each level."""
        ties: dict[tuple[int, int], tuple[DomainTie, ...]] = {}
        stated = {self._domains[key] for (_, term), key in self._keys.items() if not term.is_by_host}
        for at in stated.intersection(*[set().union(*self._meant_by_domain.values())]):
            self._domain_groups[at].is_live = True
        for index, ladder in enumerate(self.ladders):
            meant = self._meant_by_domain.get(index, set())
            for at, level in enumerate(ladder):
                own = {self._domains[self._keys[index, term]] for term in level.terms if not term.is_by_host}
                if own or meant:
                    ties[index, at] = tuple(
                        DomainTie(self._domain_groups[group], group in own, group in meant, self._filter(group, index))
                        for group in sorted(own | meant)
                    )
        return DomainRules(self._domain_groups, ties, DomainMap(self.scene.nodes, self.scene.columns), reach)

    def _filter(self, group: int, profile: int) -> tuple[Requirements, ...]:
        """Return the nodes on which a spread counts pods, unless the profile's pods can go to no others."""
        rule = self._counted[group]
        if rule is None:
            return ()
        # Every machine has a zone and a capacity type.
        given = {key: Requirement.of(key, "Exists") for key in PLACE_KEYS}
        terms = tuple(
            Requirements(requirement for key, requirement in term.items() if requirement != given.get(key))
            for term in rule.terms
        )
        own = self.profiles[profile].terms
        certain = all(any(mine.intersect(term) == mine for term in terms) for mine in own)
        return () if certain else terms

    def host_rules(self, sizes: Sequence[int]) -> HostRules:
        """Return the rules over hosts, with what binds each profile at each level; `sizes` counts profiles' pods."""
        ties: dict[tuple[int, int], tuple[HostTie, ...]] = {}
        for index, (profile, ladder) in enumerate(zip(self.profiles, self.ladders, strict=True)):
            ports = {self._ports[port] for port in profile.ports}
            clashing = {at for port, at in self._ports.items() if any(clash(port, mine) for mine in profile.ports)}
            meant = self._meant_by_host.get(index, set()) | clashing
            for at, level in enumerate(ladder):
                own = ports | {self._hosts[term] for term in level.terms if term.is_by_host}
                if own or meant:
                    ties[index, at] = tuple(
                        HostTie(group, owner=group in own, meant=group in meant) for group in sorted(own | meant)
                    )
        return HostRules(self._host_groups, ties, _cliques(sizes, ties))


def _cliques(sizes: Sequence[int], ties: Mapping[tuple[int, int], tuple[HostTie, ...]]) -> dict[int, int]:
    """Return, for profiles that state a rule which means exactly those that state it, the one with most pods."""
    first = {index: bound for (index, at), bound in ties.items() if at == 0}
    size: Counter[int] = Counter()
    for index, bound in first.items():
        size.update({tie.group: sizes[index] for tie in bound})
    mixed = {tie.group for bound in first.values() for tie in bound if tie.owner != tie.meant}
    pure = {index: [tie.group for tie in bound if tie.group not in mixed] for index, bound in first.items()}
    return {index: max(groups, key=lambda group: (size[group], -group)) for index, groups in pure.items() if groups}
