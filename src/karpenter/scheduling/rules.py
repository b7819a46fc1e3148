"""What pods demand of a node, level by level as its preferences are given up.

Source: spec v1alpha5 §2.5 and §2.7, spec v1 S-25 … S-27.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from karpenter.model.labels import HOSTNAME
from karpenter.model.requirements import Requirements
from karpenter.model.taints import Taint, Toleration, untolerated
from karpenter.scheduling.classes import Port, Profile
from karpenter.scheduling.policy import PreferencePolicy
from karpenter.scheduling.terms import Term, Terms
from karpenter.scheduling.volumes import Alternatives


@dataclass(frozen=True, slots=True)
class NodeRule:
    """Which nodes will do: one of the terms must hold and every taint be tolerated. Equal rules share their masks."""

    terms: tuple[Requirements, ...]
    tolerations: tuple[Toleration, ...]
    ignores_preferred_taints: bool = False
    """Whether `PreferNoSchedule` taints no longer count (relaxation step 6)."""
    ports: tuple[Port, ...] = ()
    """Host ports that no daemon of a new machine may take; who has one on a node is counted elsewhere."""
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        # Rules are keys of every table of masks; hashing their terms anew each time took a tenth of a solve.
        stated = self.terms, self.tolerations, self.ignores_preferred_taints, self.ports
        object.__setattr__(self, "_hash", hash(stated))

    def __hash__(self) -> int:
        return self._hash

    def tolerates(self, taints: tuple[Taint, ...]) -> bool:
        """Return whether none of the taints keeps the pods away."""
        return not self.untolerated(taints)

    def untolerated(self, taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
        """Return the taints that keep the pods away."""
        return untolerated(taints, self.tolerations, ignore_preferred=self.ignores_preferred_taints)

    def only(self, term: Requirements) -> NodeRule:
        """Return the rule with one of its alternatives."""
        return replace(self, terms=(term,))

    def within(self, domains: Mapping[str, str]) -> NodeRule:
        """Return the rule for nodes whose labels have these values; alternatives that rule them out fall away."""
        return self.narrowed(Requirements.from_labels(domains))

    def narrowed(self, more: Requirements) -> NodeRule:
        """Return the rule for nodes that meet more requirements; alternatives that rule them out fall away."""
        terms = (term.intersect(more) for term in self.terms if not term.conflicts(more))
        return replace(self, terms=tuple(terms))


def with_volumes(terms: Alternatives, volumes: Alternatives) -> Alternatives:
    """Return the ways to meet a pod's own terms and to reach its volumes; what contradicts itself falls away."""
    if len(volumes) == 1 and not volumes[0]:
        return terms
    pairs = ((term, place) for term in terms for place in volumes)
    return tuple(dict.fromkeys(term.intersect(place) for term, place in pairs if not term.conflicts(place)))


@dataclass(frozen=True, slots=True)
class Level:
    """What is asked for at one stage of giving up preferences."""

    rule: NodeRule
    """Labels and taints of the node."""
    terms: tuple[Term, ...]
    """Rules about other pods."""
    given_up: str = ""
    """What was dropped to get here from the level before, in words; empty for the first level."""


def levels_of(
    profile: Profile,
    terms: Terms,
    policy: PreferencePolicy,
    *,
    has_preferred_taints: bool,
    waived: frozenset[str] = frozenset(),
) -> tuple[Level, ...]:
    """Return what to ask for in turn, the most first; the last level keeps only what is required.

    Under `Respect` every preference counts as required until nothing can serve it; of preferred node affinity that is
    the heaviest term, and the next one once it is gone. All alternatives of the required node affinity are open at
    every level, so step 1 of §2.7 never has to be taken. Pods that the scheduler makes room for on a node wait for that
    as long as the node is there and would hold them (S-1); it has weighed their preferences already. Those `waived` are
    left out, in the words of `given_up`.
    """
    required = required_rule(profile)
    levels: list[Level] = []
    before = ""
    if profile.nominated:
        levels.append(Level(required.within({HOSTNAME: profile.nominated}), terms.required))
        before = f"{NOMINATION} {profile.nominated}"
    if policy == "Ignore":
        return (*levels, Level(required, terms.required, before))
    given_up: str | None = before
    wishes = _Wishes(profile, terms, taints=has_preferred_taints, waived=waived)
    while given_up is not None:
        level = Level(wishes.rule(), wishes.terms(), given_up)
        if not levels or (level.rule, level.terms) != (levels[-1].rule, levels[-1].terms):
            levels.append(level)
        given_up = wishes.drop()
    return tuple(levels)


def required_rule(profile: Profile) -> NodeRule:
    """Return what pods demand of a node when every preference is given up."""
    terms = with_volumes(profile.terms, profile.volumes)
    return NodeRule(terms, profile.tolerations, ignores_preferred_taints=True, ports=profile.ports)


NOMINATION: Final = "nomination to"


class _Wishes:
    """The preferences of a profile that still stand, and the order in which they fall (§2.7)."""

    def __init__(self, profile: Profile, terms: Terms, *, taints: bool, waived: frozenset[str]) -> None:
        def heeded(wishes: Iterable[Term]) -> list[Term]:
            return [term for term in wishes if _words(term) not in waived]

        self._profile = profile
        self._required = terms.required
        self._near = heeded(terms.preferred_affinity)
        self._far = heeded(terms.preferred_anti_affinity)
        self._node = [wanted for wanted in profile.preferred if _node_words(wanted) not in waived]
        self._spread = heeded(terms.soft_spread)
        self._avoids_taints = taints and _TAINTS not in waived

    def rule(self) -> NodeRule:
        profile = self._profile
        wanted = self._node[:1]
        asked = tuple(term.intersect(*wanted) for term in profile.terms) if wanted else profile.terms
        return NodeRule(
            with_volumes(asked, profile.volumes),
            profile.tolerations,
            ignores_preferred_taints=not self._avoids_taints,
            ports=profile.ports,
        )

    def terms(self) -> tuple[Term, ...]:
        return tuple(dict.fromkeys((*self._required, *self._near, *self._far, *self._spread)))

    def drop(self) -> str | None:
        """Give up the next preference and return it in words; None when none is left."""
        for wishes in (self._near, self._far):
            if wishes:
                return _words(wishes.pop(0))
        if self._node:
            return _node_words(self._node.pop(0))
        if self._spread:
            gone = self._spread[0]
            self._spread[0] = self._spread[-1]
            self._spread.pop()
            return _words(gone)
        if self._avoids_taints:
            self._avoids_taints = False
            return _TAINTS
        return None


_TAINTS: Final = "PreferNoSchedule taints"


def _words(term: Term) -> str:
    return f"preferred {term}"


def _node_words(wanted: Requirements) -> str:
    return f"preferred node affinity {', '.join(map(str, wanted.values()))}"
