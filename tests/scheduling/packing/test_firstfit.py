"""The peer's order: large copies first, the emptiest machine first, types open until the end."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.scheduling.packing.firstfit import first_fit
from karpenter.scheduling.packing.groups import Group
from karpenter.scheduling.packing.pack import pack
from karpenter.scheduling.packing.refine import fitted
from karpenter.scheduling.packing.thin import undominated
from tests.scheduling.packing.problems import OFFERS, a_problem, is_allowed

REQUESTS = [(300, 500), (500, 4000), (1000, 1000), (1500, 6000), (700, 700)]
flags = st.lists(st.booleans(), min_size=5, max_size=5).map(np.array)
groups = st.lists(st.builds(Group, flags, flags, st.integers(1, 3)), max_size=2).map(tuple)
counts = st.lists(st.integers(0, 30), min_size=5, max_size=5)


def machines(packing) -> list[list[int]]:
    return sorted(pattern.copies.tolist() for pattern in packing.patterns for _ in range(pattern.times))


def test_small_copies_join_the_machine_with_the_fewest() -> None:
    """The largest machine holds four copies of 2 cores: two are full of these, the third takes the small ones first."""
    room = OFFERS.astype(float)
    large = room[:, 0].max() / 4
    packing = first_fit(a_problem([(large, 1), (large / 4, 1)], [9, 3], room=room))
    assert machines(packing) == [[1, 3], [4, 0], [4, 0]]


def test_copies_spread_over_machines_until_these_are_level() -> None:
    room = OFFERS.astype(float)
    large = room[:, 0].max() * 0.6
    packing = first_fit(a_problem([(large, 1), (large / 12, 1)], [3, 7], room=room))
    assert machines(packing) == [[1, 2], [1, 2], [1, 3]]


@settings(max_examples=30)
@given(groups, counts)
def test_every_machine_keeps_the_rules_and_every_copy_is_placed(groups, counts: list[int]) -> None:
    problem = a_problem(
        REQUESTS, counts, groups=groups, clique=np.array([0, -1, 0, -1, -1]), most=np.array([3, np.inf])
    )
    packing = first_fit(problem)
    assert not packing.unplaced
    for pattern in packing.patterns:
        assert (pattern.copies @ problem.request <= problem.room[pattern.offer]).all()
        assert is_allowed(problem, pattern.copies)


@settings(max_examples=8)
@given(counts)
def test_a_handful_of_machines_is_never_dearer_than_in_the_peers_order(counts: list[int]) -> None:
    problem = a_problem(REQUESTS, counts)
    peer = fitted(problem, first_fit(problem), undominated(problem))
    assert pack(problem).cost <= peer.cost + 1e-9


@settings(max_examples=8)
@given(counts)
def test_as_few_machines_as_the_peers_are_enough(counts: list[int]) -> None:
    few = first_fit(a_problem(REQUESTS, counts)).machines
    capped = a_problem(REQUESTS, counts, charge=np.ones((len(OFFERS), 1)), budget=np.array([float(few)]))
    packing = pack(capped)
    assert packing.unplaced == 0
    assert packing.machines <= few
