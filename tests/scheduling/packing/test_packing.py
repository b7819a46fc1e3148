"""The packing of shapes into offers: against exhaustive search on small inputs, against bounds on large ones."""

from functools import cache
from itertools import combinations_with_replacement

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.scheduling.packing.pack import pack
from karpenter.scheduling.packing.problem import Packing, Problem

OFFERS = np.array([[1, 2], [2, 4], [4, 8], [8, 16], [2, 8], [4, 16], [8, 32], [2, 16], [4, 32]], dtype=float) * 1000
PRICES = np.array([0.04, 0.08, 0.16, 0.32, 0.10, 0.20, 0.40, 0.13, 0.26])


def a_problem(requests: list[tuple[int, int]], counts: list[int], **changes) -> Problem:
    count = np.array(counts)
    fields = {
        "request": np.array(requests, dtype=float),
        "count": count,
        "clique": np.full(len(count), -1),
        "most": np.array([np.inf]),
        "room": OFFERS,
        "price": PRICES,
        "admits": np.ones((len(OFFERS), len(count)), dtype=bool),
        "charge": np.zeros((len(OFFERS), 0)),
        "budget": np.zeros(0),
    }
    return Problem(**{**fields, **changes})


def check(problem: Problem, packing: Packing) -> None:
    """Fail unless the packing is a packing."""
    placed = sum((pattern.times * pattern.copies for pattern in packing.patterns), np.zeros_like(problem.count))
    assert (placed + packing.left == problem.count).all()
    for pattern in packing.patterns:
        assert pattern.times > 0
        for clique, most in enumerate(problem.most[:-1]):
            assert pattern.copies[problem.clique == clique].sum() <= most
        assert (pattern.copies @ problem.request <= problem.room[pattern.offer]).all()
        assert problem.admits[pattern.offer, pattern.copies > 0].all()
    spent = sum(
        (pattern.times * problem.charge[pattern.offer] for pattern in packing.patterns), np.zeros(len(problem.budget))
    )
    assert (spent <= problem.budget).all()
    cost = sum(pattern.times * problem.price[pattern.offer] for pattern in packing.patterns)
    assert abs(cost - packing.cost) < 1e-9


def optimum(items: tuple[tuple[int, int], ...]) -> float:
    """Return the least cost of all ways to split the items into machines."""

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
        load = np.sum([items[at] for at in range(len(items)) if mask >> at & 1], axis=0)
        return PRICES[(load <= OFFERS).all(axis=1)].min(initial=np.inf)

    return of((1 << len(items)) - 1)


SHAPES = [(300, 500), (500, 4000), (1000, 1000), (1500, 6000), (2500, 3000), (3000, 12000), (700, 9000)]


def test_small_packings_are_within_five_percent_of_the_optimum_on_average() -> None:
    gaps = []
    for items in list(combinations_with_replacement(SHAPES, 5))[::9]:
        shapes = sorted(set(items))
        packing = pack(a_problem(shapes, [items.count(shape) for shape in shapes]))
        best = optimum(items)
        assert packing.cost >= best - 1e-9
        gaps.append(packing.cost / best - 1)
    assert np.mean(gaps) <= 0.05
    assert max(gaps) <= 0.35


counts = st.lists(st.integers(0, 400), min_size=3, max_size=3)
requests = st.lists(st.tuples(st.integers(1, 4000), st.integers(0, 16000)), min_size=3, max_size=3)


@settings(max_examples=60)
@given(requests, counts, st.integers(1, 5), st.integers(0, 60_000))
def test_every_packing_is_one(requests, counts, most: int, budget: int) -> None:
    admits = np.ones((len(OFFERS), 3), dtype=bool)
    admits[2:5, 1] = False
    charge = OFFERS[:, :1].copy()
    problem = a_problem(
        requests,
        counts,
        clique=np.array([0, -1, 0]),
        most=np.array([most, np.inf]),
        admits=admits,
        charge=charge,
        budget=np.array([budget * 1.0]),
    )
    check(problem, pack(problem))


def test_a_mixture_that_fills_cpu_and_memory_is_found() -> None:
    """Apart the shapes cost 120 and 32.5; together, with cpu at 0.04 a core and memory thrown in, at least 130."""
    problem = a_problem([(1000, 500), (250, 4000)], [3000, 1000])
    packing = pack(problem)
    check(problem, packing)
    assert 130 <= packing.cost <= 134


def test_what_no_offer_holds_is_left() -> None:
    packing = pack(a_problem([(9000, 1), (1000, 1)], [2, 3]))
    assert packing.left.tolist() == [2, 0]
