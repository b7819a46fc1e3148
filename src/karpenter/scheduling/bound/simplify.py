"""A problem as a bound sees it: shapes that differ only in rules which the bound leaves out are one.

Leaving rules out or making requests smaller only allows more plans, so the bound of what remains holds all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from karpenter.scheduling.bound.certificate import Demand
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.groups import Group
from karpenter.scheduling.packing.problem import Problem


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
    demand = Demand(problem.request[first], count, groups[first], caps, problem.budget)
    simple = replace(
        problem,
        request=problem.request[first],
        count=count,
        clique=np.full(len(first), -1),
        most=np.array([np.inf]),
        admits=problem.admits[:, first],
        groups=tuple(Group(own, own, int(cap)) for own, cap in zip(groups[first].T, caps, strict=True)),
    )
    return Simple(demand, simple, shape, first)


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
