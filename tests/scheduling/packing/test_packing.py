"""The packing of shapes into offers: against exhaustive search on small inputs, against bounds on large ones."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.scheduling.packing import pack as module
from karpenter.scheduling.packing.groups import Group
from karpenter.scheduling.packing.pack import pack
from tests.scheduling.packing.problems import OFFERS, a_problem, check, optimum

SHAPES = [(300, 500), (500, 4000), (1000, 1000), (1500, 6000), (2500, 3000), (3000, 12000), (700, 9000)]


def test_small_packings_are_optimal() -> None:
    for items in list(combinations_with_replacement(SHAPES, 5))[::9]:
        shapes = sorted(set(items))
        problem = a_problem(shapes, [items.count(shape) for shape in shapes])
        packing = pack(problem)
        check(problem, packing)
        assert packing.cost == pytest.approx(optimum(problem))


def test_packings_that_are_too_large_to_be_tried_are_within_five_percent_on_average(monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST_STATES", 0)
    gaps = []
    for items in list(combinations_with_replacement(SHAPES, 5))[::11]:
        shapes = sorted(set(items))
        problem = a_problem(shapes, [items.count(shape) for shape in shapes])
        gaps.append(pack(problem, rounds=4).cost / optimum(problem) - 1)
    assert min(gaps) > -1e-9
    assert np.mean(gaps) <= 0.05
    assert max(gaps) <= 0.35


counts = st.lists(st.integers(0, 400), min_size=3, max_size=3)
requests = st.lists(st.tuples(st.integers(1, 4000), st.integers(0, 16000)), min_size=3, max_size=3)


@settings(max_examples=60)
@given(requests, counts, st.integers(1, 5), st.integers(0, 60_000))
def test_every_packing_is_one(requests, counts, most: int, budget: int) -> None:
    admits = np.ones((len(OFFERS), 3), dtype=bool)
    admits[2:5, 1] = False
    problem = a_problem(
        requests,
        counts,
        clique=np.array([0, -1, 0]),
        most=np.array([float(most), np.inf]),
        admits=admits,
        charge=OFFERS[:, :1].copy(),
        budget=np.array([budget * 1.0]),
        groups=(Group(np.array([False, True, False]), np.array([True, False, False]), 2),),
    )
    check(problem, pack(problem, rounds=1))


def test_a_mixture_that_fills_cpu_and_memory_is_found() -> None:
    """Alone either shape wastes half of every machine; a quarter of the cpu-bound ones fills up the others."""
    problem = a_problem([(1000, 500), (250, 4000)], [3000, 1000])
    bound = max(3250 * 0.04 * 1000 / 1000, (3000 * 500 + 1000 * 4000) / 1000 * 0.008125)
    packing = pack(problem)
    check(problem, packing)
    assert packing.cost <= bound * 1.10


def test_what_no_offer_holds_is_left() -> None:
    packing = pack(a_problem([(9000, 1), (1000, 1)], [2, 3]))
    assert packing.left.tolist() == [2, 0]


def test_what_no_offer_holds_is_left_of_many() -> None:
    packing = pack(a_problem([(9000, 1), (1000, 1)], [200, 300]))
    assert packing.left.tolist() == [200, 0]


def test_equal_effort_gives_equal_packings() -> None:
    problem = a_problem(SHAPES, [40, 30, 50, 20, 60, 10, 25])
    first, second = pack(problem, rounds=3), pack(problem, rounds=3)
    assert [(each.offer, each.copies.tolist(), each.times) for each in first.patterns] == [
        (each.offer, each.copies.tolist(), each.times) for each in second.patterns
    ]


def test_more_effort_costs_no_more_here() -> None:
    problem = a_problem(SHAPES, [41, 33, 52, 21, 64, 13, 27])
    costs = [pack(problem, rounds=rounds).cost for rounds in (0, 10, 40)]
    assert costs == sorted(costs, reverse=True)


def test_the_last_of_a_limit_goes_to_as_many_copies_as_possible() -> None:
    """Two machines only: the cheapest per copy hold two, the largest eight."""
    problem = a_problem([(1000, 2000)], [16], charge=np.ones((len(OFFERS), 1)), budget=np.array([2.0]))
    packing = pack(problem)
    check(problem, packing)
    assert packing.unplaced == 0
