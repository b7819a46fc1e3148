"""A problem as a bound sees it: shapes that differ only in rules which the bound leaves out are one.

Leaving rules out or making requests smaller only allows more plans, so the bound of what remains holds all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from karpenter.scheduling.bound.certificate import Demand
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.groups import Group
from karpenter.scheduling.packing.problem import Problem

MOST_SHAPES: Final = 100
"""Programs with more take seconds."""
_LIKELY_SIZES: Final = 10
_FINEST: Final = 1 / 8
"""Binary logarithm of the step between requests that count as similar."""


@dataclass(frozen=True, slots=True)
class Simple:
    """A simpler problem, and where the shapes of the one before went."""

    demand: Demand
    problem: Problem
    """The same with offers."""
    shape: Ints
    """The simple shape of each shape (S)."""
    first: Ints
    """The first shape of each simple one."""


def simplified(problem: Problem, *, admits: Bools | None = None) -> Simple:
    """Return the problem with equal shapes merged; of rules about shapes together those stay that are caps on a sum.

    Shapes that `admits` (n×S) tells apart are not equal either.
    """
    groups, caps = kept_groups(problem)
    places = problem.admits if admits is None else np.concatenate((problem.admits, admits))
    rows = np.column_stack((problem.request, np.packbits(places.T, axis=1), groups))
    names: dict[bytes, int] = {}
    shape = np.array([names.setdefault(row.tobytes(), len(names)) for row in rows], dtype=np.int64)
    _, first = np.unique(shape, return_index=True)
    count = np.bincount(shape, problem.count).astype(np.int64)
    simple = replace(
        problem,
        request=problem.request[first],
        count=count,
        clique=np.full(len(first), -1),
        most=np.array([np.inf]),
        admits=problem.admits[:, first],
        groups=tuple(Group(own, own, int(cap)) for own, cap in zip(groups[first].T, caps, strict=True)),
    )
    return Simple(demand_of(simple), simple, shape, first)


def demand_of(problem: Problem) -> Demand:
    """Return what the problem asks for, shape by shape."""
    groups, caps = kept_groups(problem)
    return Demand(problem.request, problem.count, groups, caps, problem.budget)


def kept_groups(problem: Problem) -> tuple[Bools, Floats]:
    """Return the groups of which one machine holds so many copies at most: members (S×G) and caps (G).

    These are the cliques, and of every other rule the owners that it counts: with one of them on a machine it holds.
    """
    members = [problem.clique == at for at in range(len(problem.most) - 1)]
    caps = problem.most[:-1].tolist()
    for group in problem.groups:
        both = group.owners & group.matched
        if group.cap and both.any():
            members.append(both)
            caps.append(float(group.cap))
    shape = len(members), len(problem.count)
    return np.array(members, dtype=np.bool_).reshape(shape).T.copy(), np.array(caps, dtype=np.float64)


def coarse(problem: Problem) -> Problem:
    """Return a problem of few shapes that asks for as much: similar shapes are one of their mean request.

    It proves nothing by itself: its duals tell what machines are made of, from which the worth of the true shapes
    follows. Shapes of different places or rules stay apart as long as there are few kinds of these.
    """
    groups, _ = kept_groups(problem)
    kinds = np.unique(np.column_stack((np.packbits(problem.admits.T, axis=1), groups)), axis=0, return_inverse=True)[1]
    if kinds.max(initial=0) >= MOST_SHAPES // _LIKELY_SIZES:
        kinds = np.zeros(len(problem.count), dtype=np.int64)
    sizes = np.log2(np.maximum(problem.request, 1.0))
    step = _FINEST
    while True:
        keys = np.column_stack((kinds, np.round(sizes / step)))
        _, first, bucket = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        if len(first) <= MOST_SHAPES:
            break
        step *= 2
    share = np.eye(len(first))[bucket].T * np.maximum(problem.count, 1e-9)
    return replace(
        problem,
        request=(share @ problem.request) / share.sum(axis=1, keepdims=True),
        count=np.bincount(bucket, problem.count).astype(np.int64),
        clique=np.full(len(first), -1),
        most=np.array([np.inf]),
        admits=(problem.admits @ np.eye(len(first), dtype=np.bool_)[bucket]).astype(np.bool_),
        groups=tuple(Group(group.owners[first], group.matched[first], group.cap) for group in problem.groups),
    )
