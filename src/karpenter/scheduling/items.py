"""Copies of one class on their way to a place."""

from __future__ import annotations

from dataclasses import dataclass

from karpenter.scheduling.catalog import Floats
from karpenter.scheduling.classes import PodClass
from karpenter.scheduling.rules import Level, NodeRule


@dataclass(slots=True, eq=False)
class Item:
    """Copies of one class at one level of its preferences, perhaps tied to domains."""

    index: int
    """The class's position among all classes."""
    cls: PodClass
    at: int
    """Which level of the class's profile is tried."""
    rule: NodeRule
    """What the copies demand of a node: the level's rule, narrowed to the domains."""
    request: Floats
    """Requests of one copy (R)."""
    left: int
    """Copies without a place."""
    domains: tuple[tuple[str, str], ...] = ()
    """Label values that were dealt to the copies, so that rules about other pods hold."""
    floor: int = 0
    """Tiers before this one have nothing left for it."""
    may_launch: bool = True
    """Whether machines may be opened for it; without that only room that is there will do."""


@dataclass(slots=True, eq=False)
class Wait:
    """The copies of one class that wait for a place, and what they still insist on."""

    index: int
    cls: PodClass
    levels: tuple[Level, ...]
    request: Floats
    left: int
    may_launch: bool = True
    at: int = 0

    @property
    def rule(self) -> NodeRule:
        """What the copies demand of a node at this level."""
        return self.levels[self.at].rule

    def item(self, count: int, domains: tuple[tuple[str, str], ...] = (), *, narrowed: NodeRule | None = None) -> Item:
        """Return some of the copies as an item, tied to domains by a narrower rule; they still count as waiting."""
        return Item(
            self.index,
            self.cls,
            self.at,
            narrowed or self.rule,
            self.request,
            count,
            domains,
            may_launch=self.may_launch,
        )

    @property
    def is_relaxed(self) -> bool:
        """Whether only what is required is left."""
        return self.at + 1 >= len(self.levels)

    def relax(self) -> str | None:
        """Give up the next preference and return it in words; None when only what is required is left."""
        if self.is_relaxed:
            return None
        self.at += 1
        return self.levels[self.at].given_up
