"""Places that are alike are looked at once: zones with equal offers are folded into one while patterns are sought.

Pods bound to a zone make shapes and offers of every zone its own, three times as many as there are to think about. In
the folded problem such twins are one. What a pattern is worth can be learned there; how often each zone uses it cannot.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.groups import Group
from karpenter.scheduling.packing.problem import Problem

_Values = TypeVar("_Values", Floats, Bools)


@dataclass(frozen=True, slots=True)
class Fold:
    """A problem with twins made one, and the way back. A block is a set of offers that admit the same shapes."""

    problem: Problem
    """F shapes, I offers."""
    offers: Ints
    """The offer that each folded offer is in each block, -1 where it is none (B×I)."""
    shapes: Ints
    """The shape that each folded shape is in each block, -1 where it is none (B×F)."""
    width: int
    """Shapes of the problem itself (S)."""

    def widened(self, values: _Values) -> _Values:
        """Return what values of folded shapes (F) are for the shapes themselves (S)."""
        wide = np.zeros_like(values, shape=self.width)
        for own in self.shapes:
            wide[own[own >= 0]] = values[own >= 0]
        return wide

    def unfold(self, offers: Ints, copies: Ints) -> tuple[Ints, Ints]:
        """Return patterns (n, n×F) as they are in every block that has all they need: offers (m) and copies (m×S)."""
        there, made = [], []
        for own_offers, own_shapes in zip(self.offers, self.shapes, strict=True):
            lacking = own_shapes < 0
            fit = (own_offers[offers] >= 0) & ~copies[:, lacking].any(axis=1)
            unfolded = np.zeros((int(fit.sum()), self.width), dtype=np.int64)
            unfolded[:, own_shapes[~lacking]] = copies[fit][:, ~lacking]
            there.append(own_offers[offers[fit]])
            made.append(unfolded)
        return np.concatenate(there), np.concatenate(made)


def fold(problem: Problem) -> Fold:
    """Return the folded problem; the same problem when nothing in it is alike."""
    blocks = _alike(row.tobytes() for row in np.packbits(problem.admits, axis=1))
    keys = [row.tobytes() for row in np.column_stack((problem.room, problem.price, problem.charge))]
    of_key = [{keys[at]: at for at in reversed(block)} for block in blocks]
    admits = problem.admits[[block[0] for block in blocks]]
    families = _foldable(_alike(frozenset(own) for own in of_key), admits)
    shape = _folded_shapes(problem, families, admits)
    if any(len(np.unique(shape[row])) < row.sum() for row in admits):
        # One block would have two shapes that look the same folded: there is no way back.
        families = [[block] for block in range(len(blocks))]
        shape = _folded_shapes(problem, families, admits)
    shapes = np.full((len(blocks), int(shape.max(initial=-1)) + 1), -1)
    for at, row in enumerate(admits):
        shapes[at, shape[row]] = np.flatnonzero(row)
    leaders = [sorted(of_key[family[0]].values()) for family in families]
    offers = np.full((len(blocks), sum(map(len, leaders))), -1)
    open_to = np.zeros((offers.shape[1], shapes.shape[1]), dtype=np.bool_)
    start = 0
    for family, own in zip(families, leaders, strict=True):
        stop = start + len(own)
        for block in family:
            offers[block, start:stop] = [of_key[block][keys[at]] for at in own]
        open_to[start:stop] = (shapes[family] >= 0).any(axis=0)
        start = stop
    return Fold(
        _folded(problem, shape, np.array([at for own in leaders for at in own]), admits=open_to),
        offers,
        shapes,
        len(problem.count),
    )


def _alike(names: Iterable[Hashable]) -> list[list[int]]:
    """Return positions, those of equal names together, in order of their first."""
    found: dict[Hashable, list[int]] = {}
    for at, name in enumerate(names):
        found.setdefault(name, []).append(at)
    return list(found.values())


def _foldable(families: Sequence[list[int]], admits: Bools) -> list[list[int]]:
    """Return the families of blocks, those taken apart in which a shape goes to some but not to one or to all."""
    kept: list[list[int]] = []
    for family in families:
        blocks = admits[family].sum(axis=0)
        whole = np.isin(blocks, (0, 1, len(family))).all()
        kept.extend([family] if whole else [[block] for block in family])
    return kept


def _folded_shapes(problem: Problem, families: Sequence[list[int]], admits: Bools) -> Ints:
    """Return the folded shape of each shape (S): equal are those that differ only in which one block they go to."""
    reach = np.stack(
        [np.where(admits[family].all(axis=0), 2, admits[family].any(axis=0)) for family in families], axis=1
    )
    minds = [row for group in problem.groups for row in (group.owners, group.matched)]
    alike = np.column_stack((problem.request, problem.clique, reach, *minds))
    shape = np.zeros(len(alike), dtype=np.int64)
    for at, members in enumerate(_alike(row.tobytes() for row in alike)):
        shape[members] = at
    return shape


def _folded(problem: Problem, shape: Ints, leaders: Ints, *, admits: Bools) -> Problem:
    count = np.bincount(shape, problem.count).astype(np.int64)
    _, first = np.unique(shape, return_index=True)
    return replace(
        problem,
        request=problem.request[first],
        count=count,
        clique=problem.clique[first],
        room=problem.room[leaders],
        price=problem.price[leaders],
        admits=admits,
        charge=problem.charge[leaders],
        groups=tuple(Group(group.owners[first], group.matched[first], group.cap) for group in problem.groups),
    )
