"""Small problems are solved by trying every packing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.scheduling.packing.exact import best_packing, states_of
from karpenter.scheduling.packing.groups import Group
from tests.scheduling.packing.problems import OFFERS, a_problem, check, optimum

EVERY = np.arange(len(OFFERS))


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 4000), st.integers(0, 16000)), min_size=3, max_size=3),
    st.lists(st.integers(0, 3), min_size=3, max_size=3),
    st.integers(1, 2),
)
def test_no_packing_is_cheaper(requests, counts, cap: int) -> None:
    apart = Group(np.array([True, False, False]), np.array([False, True, False]), 0)
    problem = a_problem(
        requests, counts, clique=np.array([0, -1, 0]), most=np.array([float(cap), np.inf]), groups=(apart,)
    )
    packing = best_packing(problem, EVERY)
    check(problem, packing)
    assert packing.unplaced == 0
    assert packing.cost == pytest.approx(optimum(problem))


def test_what_no_offer_holds_is_left_and_the_rest_placed() -> None:
    assert best_packing(a_problem([(9000, 1), (1000, 1)], [2, 3]), EVERY).left.tolist() == [2, 0]


def test_states_count_the_ways_to_choose_copies() -> None:
    assert states_of(a_problem([(1, 1), (2, 2)], [3, 4])) == 20


def test_states_of_many_shapes_do_not_overflow() -> None:
    assert states_of(a_problem([(1, 1)] * 100, [9] * 100)) == 10**100
