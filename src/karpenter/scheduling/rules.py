"""What pods demand of a node, level by level as its preferences are given up.

Source: spec v1alpha5 §2.5 and §2.7, spec v1 S-25 … S-27.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from karpenter.model.labels import HOSTNAME
from karpenter.model.requirements import Requirements
from karpenter.model.taints import Taint, Toleration, untolerated
from karpenter.scheduling.classes import Profile
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
        narrowed = Requirements.from_labels(domains)
        terms = (term.intersect(narrowed) for term in self.terms if not term.conflicts(narrowed))
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
    profile: Profile, terms: Terms, policy: PreferencePolicy, *, has_preferred_taints: bool
) -> tuple[Level, ...]:
    """Return what to ask for in turn, the most first; the last level keeps only what is required.

    Under `Respect` every preference counts as required until nothing can serve it; of preferred node affinity that is
    the heaviest term, and the next one once it is gone. All alternatives of the required node affinity are open at
    every level, so step 1 of §2.7 never has to be taken. Pods that the scheduler makes room for on a node wait for that
    as long as the node is there and would hold them (S-1); it has weighed their preferences already.
    """
    required = NodeRule(
        with_volumes(profile.terms, profile.volumes), profile.tolerations, ignores_preferred_taints=True
    )
    levels: list[Level] = []
    if profile.nominated:
        levels.append(Level(required.within({HOSTNAME: profile.nominated}), terms.required))
    if policy == "Ignore":
        return (*levels, Level(required, terms.required))
    wishes = _Wishes(profile, terms, taints=has_preferred_taints)
    given_up: str | None = ""
    while given_up is not None:
        level = Level(wishes.rule(), wishes.terms(), given_up)
        if not levels or (level.rule, level.terms) != (levels[-1].rule, levels[-1].terms):
            levels.append(level)
        given_up = wishes.drop()
    return tuple(levels)


class _Wishes:
    """The preferences of a profile that still stand, and the order in which they fall (§2.7)."""

    def __init__(self, profile: Profile, terms: Terms, *, taints: bool) -> None:
        self._profile = profile
        self._required = terms.required
        self._near = list(terms.preferred_affinity)
        self._far = list(terms.preferred_anti_affinity)
        self._node = list(profile.preferred)
        self._spread = list(terms.soft_spread)
        self._avoids_taints = taints

    def rule(self) -> NodeRule:
        profile = self._profile
        wanted = self._node[:1]
        asked = tuple(term.intersect(*wanted) for term in profile.terms) if wanted else profile.terms
        return NodeRule(
            with_volumes(asked, profile.volumes), profile.tolerations, ignores_preferred_taints=not self._avoids_taints
        )

    def terms(self) -> tuple[Term, ...]:
        return tuple(dict.fromkeys((*self._required, *self._near, *self._far, *self._spread)))

    def drop(self) -> str | None:
        """Give up the next preference and return it in words; None when none is left."""
        for wishes in (self._near, self._far):
            if wishes:
                return f"preferred {wishes.pop(0)}"
        if self._node:
            return f"preferred node affinity {', '.join(map(str, self._node.pop(0).values()))}"
        if self._spread:
            gone = self._spread[0]
            self._spread[0] = self._spread[-1]
            self._spread.pop()
            return f"preferred {gone}"
        if self._avoids_taints:
            self._avoids_taints = False
            return "PreferNoSchedule taints"
        return None
