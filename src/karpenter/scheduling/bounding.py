"""The lower bound of a whole solve: what the new machines cost at least in every plan that places the same pods.

It is taken where the solve began: on the nodes with the room that they had then, under the limits as they were, with
domains not yet dealt, so it holds for plans that fill nodes or deal zones in another way. Weights of pools, preferences
that were kept, and the rails about size hold for it as for the plan; those about zones and types may only lower it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from karpenter.scheduling.bins import Bins
from karpenter.scheduling.bound.certificate import Bound, Certificate
from karpenter.scheduling.bound.prove import bound_of
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.hosts import HostRules
from karpenter.scheduling.items import Item, Wait
from karpenter.scheduling.limits import Budget
from karpenter.scheduling.packing.problem import Problem
from karpenter.scheduling.rails.size import Sizes
from karpenter.scheduling.reporter import Progress, unheard
from karpenter.scheduling.stating import fitting, stated

_TURNS_A_ROUND: Final = 0.4
_MOST_TURNS: Final = 16
_FEW_SHAPES: Final = 64
_CHEAP_TURNS: Final = 8
"""Programs of so few shapes are solved in no time, and whole copies matter most where there are few."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a bound is about: the problem, and the machines that are there already."""

    problem: Problem
    room: Floats
    """B×R."""
    admits: Bools
    """B×S."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A bound and what it is about, for whoever wants to check it."""

    statement: Statement | None
    """None when no machine is launched: nothing costs nothing."""
    bound: Bound


@dataclass(frozen=True, slots=True)
class Start:
    """How things stood before anything was placed."""

    room: Floats
    """What was left on each node (B×R)."""
    limits: Floats
    """What was left of each limited amount (Q)."""

    @classmethod
    def of(cls, room: Floats, budget: Budget) -> Start:
        """Return a copy of how things stand."""
        return cls(np.maximum(room, 0.0), budget.left.copy())


def prove(statement: Statement | None, *, rounds: int, progress: Progress = unheard) -> Proof:
    """Return the proven bound; more rounds look for a tighter one. Without machines to launch it is 0."""
    if statement is None:
        return Proof(None, Bound(0.0, Certificate((), (), (), (), ())))
    turns = min(int(rounds * _TURNS_A_ROUND), _MOST_TURNS)
    if len(statement.problem.count) <= _FEW_SHAPES:
        turns = max(turns, _CHEAP_TURNS)
    bound = bound_of(statement.problem, room=statement.room, admits=statement.admits, turns=turns, progress=progress)
    return Proof(statement, bound)


@dataclass(frozen=True, slots=True)
class Offered:
    """What may be launched."""

    known: Columns
    columns: Ints
    """Those that count."""


def under_rails(bins: Bins, items: Sequence[Item], sizes: Sizes, *, hosts: HostRules, tier: Ints) -> Offered:
    """Return what plans under the rails may launch for these items.

    `tier` is the position of each column's pool weight (N): pools that are lighter than any that was needed stay out.
    So do sizes that nobody needs, unless some machine had to be larger all the same.
    """
    allowed = sizes.together(items)
    gave_way = any(
        not sizes.together(share.item for share in bins.shares[row])[bins.column[row]] for row in bins.opened()
    )
    if gave_way or any(hosts.needs_company(item) for item in items):
        allowed = np.ones_like(allowed)
    return Offered(bins.columns, np.flatnonzero(allowed & (tier <= tier[bins.column[bins.opened()]].max())))


def without_rails(bins: Bins, *, tier: Ints) -> Offered:
    """Return what plans may launch that no rail binds."""
    return Offered(bins.columns.uncapped(), np.flatnonzero(tier <= tier[bins.column[bins.opened()]].max()))


def placed_items(bins: Bins, waits: Sequence[Wait]) -> list[Item]:
    """Return what was placed, in no domain yet."""
    copies: Counter[tuple[int, int]] = Counter()
    for shares in bins.shares:
        for share in shares:
            copies[share.item.index, share.item.at] += share.count
    return [_undealt(waits[index], at, count) for (index, at), count in sorted(copies.items())]


def statement_of(
    bins: Bins, items: Sequence[Item], offered: Offered, *, start: Start, budget: Budget, hosts: HostRules
) -> Statement:
    """Return what the bound of these items is about, for which some machine is to be launched."""
    known, columns = offered.known, offered.columns
    # What only nodes can hold costs nothing in any plan; without it the nodes merely have more room.
    told = stated(fitting(items, known, columns), known, columns, hosts=hosts)
    problem = replace(
        told.problem,
        charge=budget.size[told.offers.column],
        budget=start.limits,
        groups=told.problem.groups if told.shapes.is_exact else (),
    )
    nodes = np.stack([bins.nodes.row(item.rule) for item in (shape[0] for shape in told.shapes.members)], axis=1)
    used = np.flatnonzero(nodes.any(axis=1) & (start.room > 0).any(axis=1))
    return Statement(problem, start.room[used], nodes[used])


def _undealt(wait: Wait, at: int, count: int) -> Item:
    """Return copies of a class at one level, in no domain yet."""
    item = wait.item(count, narrowed=wait.levels[at].rule)
    item.at = at
    return item
