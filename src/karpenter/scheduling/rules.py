"""What a class of pods demands of a node, level by level as its preferences are given up.

Source: spec v1alpha5 §2.5 and §2.7, spec v1 S-25 … S-27.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from karpenter.model.requirements import Requirements
from karpenter.model.taints import Taint, Toleration, untolerated
from karpenter.scheduling.classes import PodClass
from karpenter.scheduling.policy import PreferencePolicy


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


@dataclass(frozen=True, slots=True)
class Level:
    """A rule, and what was given up to get to it from the one before."""

    rule: NodeRule
    given_up: str = ""
    """In words; empty for the first level."""


def levels_of(cls: PodClass, policy: PreferencePolicy, *, has_preferred_taints: bool) -> tuple[Level, ...]:
    """Return the rules to try in turn, the strictest first; the last one keeps only what is required.

    All alternatives of the required node affinity are open at every level, so step 1 of §2.7 never has to be taken.
    Under `Respect` the heaviest preferred term counts as required until nothing can serve it, then the next one does.
    """
    if policy == "Ignore":
        return (Level(NodeRule(cls.terms, cls.tolerations, ignores_preferred_taints=True)),)
    levels: list[Level] = []
    for rule, given_up in _relaxations(cls, has_preferred_taints=has_preferred_taints):
        if not levels or rule != levels[-1].rule:
            levels.append(Level(rule, given_up if levels else ""))
    return tuple(levels)


def _relaxations(cls: PodClass, *, has_preferred_taints: bool) -> Iterator[tuple[NodeRule, str]]:
    dropped = ""
    for wanted in cls.preferred:
        yield NodeRule(tuple(term.intersect(wanted) for term in cls.terms), cls.tolerations), dropped
        dropped = f"preferred node affinity {', '.join(map(str, wanted.values()))}"
    yield NodeRule(cls.terms, cls.tolerations), dropped
    if has_preferred_taints:
        yield NodeRule(cls.terms, cls.tolerations, ignores_preferred_taints=True), "PreferNoSchedule taints"
