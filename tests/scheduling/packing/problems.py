"""Small packing problems, their optimum by brute force, and a check that a packing is one."""

from functools import cache
from typing import Any

import numpy as np

from karpenter.scheduling.packing.problem import Packing, Problem

OFFERS = np.array([[1, 2], [2, 4], [4, 8], [8, 16], [2, 8], [4, 16], [8, 32], [2, 16], [4, 32]], dtype=float) * 1000
PRICES = np.array([0.04, 0.08, 0.16, 0.32, 0.10, 0.20, 0.40, 0.13, 0.26])


def a_problem(requests: list[tuple[int, int]], counts: list[int], **changes: Any) -> Problem:
    """Return a problem over the nine offers of the table, without rules or limits."""
    count = np.array(counts)
    offers = changes.get("room", OFFERS)
    fields = {
        "request": np.array(requests, dtype=float),
        "count": count,
        "clique": np.full(len(count), -1),
        "most": np.array([np.inf]),
        "room": OFFERS,
        "price": PRICES,
        "admits": np.ones((len(offers), len(count)), dtype=bool),
        "charge": np.zeros((len(offers), 0)),
        "budget": np.zeros(0),
    }
    return Problem(**{**fields, **changes})


def check(problem: Problem, packing: Packing) -> None:
    """Fail unless the packing is a packing."""
    placed = sum((pattern.times * pattern.copies for pattern in packing.patterns), np.zeros_like(problem.count))
    assert (placed + packing.left == problem.count).all()
    assert (packing.left >= 0).all()
    for pattern in packing.patterns:
        assert pattern.times > 0
        assert is_allowed(problem, pattern.copies)
        assert (pattern.copies @ problem.request <= problem.room[pattern.offer]).all()
        assert problem.admits[pattern.offer, pattern.copies > 0].all()
    spent = sum(
        (pattern.times * problem.charge[pattern.offer] for pattern in packing.patterns), np.zeros(len(problem.budget))
    )
    assert (spent <= problem.budget).all()
    cost = sum(pattern.times * problem.price[pattern.offer] for pattern in packing.patterns)
    assert abs(cost - packing.cost) < 1e-9


def is_allowed(problem: Problem, copies: np.ndarray) -> bool:
    """Return whether cliques and groups let these copies be on one machine."""
    for clique, most in enumerate(problem.most[:-1]):
        if copies[problem.clique == clique].sum() > most:
            return False
    return all(not copies[group.owners].any() or copies[group.matched].sum() <= group.cap for group in problem.groups)


def optimum(problem: Problem) -> float:
    """Return the least cost of all ways to split all copies into machines; limits are not looked at."""
    items = np.repeat(np.arange(len(problem.count)), problem.count)

    @cache
    def of(mask: int) -> float:
        if not mask:
            return 0.0
        first = mask & -mask
        rest, best = mask ^ first, np.inf
        part = rest
        while True:
            best = min(best, cheapest(part | first) + of(rest ^ part))
            if not part:
                return best
            part = (part - 1) & rest

    @cache
    def cheapest(mask: int) -> float:
        copies = np.bincount([items[at] for at in range(len(items)) if mask >> at & 1], minlength=len(problem.count))
        if not is_allowed(problem, copies):
            return np.inf
        holds = (problem.room >= copies @ problem.request).all(axis=1) & problem.admits[:, copies > 0].all(axis=1)
        return problem.price[holds].min(initial=np.inf)

    return of((1 << len(items)) - 1)
