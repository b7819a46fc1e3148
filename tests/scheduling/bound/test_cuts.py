"""Rounded rows hold for whole copies, and cut fractions off."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from karpenter.scheduling.bound.cuts import Cut, violated

ROOM = np.array([3920.0, 7_000_000_000.0, 29.0])
amounts = st.tuples(st.integers(1, 4000), st.integers(1, 7_000_000_000), st.just(1)).map(
    lambda amounts: np.array(amounts, dtype=float)
)


@given(st.lists(amounts, min_size=2, max_size=4), st.lists(st.integers(0, 4), min_size=4, max_size=4))
def test_copies_that_fit_a_machine_keep_every_rounded_row(requests: list[np.ndarray], copies: list[int]) -> None:
    request, whole = np.stack(requests), np.array(copies[: len(requests)])
    fractions = (ROOM / request).min(axis=1)
    cuts = [
        cut
        for shape in range(len(request))
        for cut in violated(ROOM, request, fractions * (np.arange(len(request)) == shape), most=5)
    ]
    if (whole @ request <= ROOM).all():
        assert all(whole @ cut.of(request) <= cut.of(ROOM[None])[0] for cut in cuts)


def test_a_fraction_more_than_whole_copies_is_cut_off() -> None:
    """2.6 copies of 1500 millicores fit by division, two in truth."""
    request = np.array([[1500.0, 1000.0, 1.0]])
    cut, *_ = violated(ROOM, request, np.array([3920 / 1500]), most=2)
    assert cut.of(request)[0] * 2 <= cut.of(ROOM[None])[0] < cut.of(request)[0] * 2.6


def test_rounding_is_exact_for_large_amounts() -> None:
    cut = Cut((0, 1, 0), times=32, size=2**45 + 1)
    assert cut.of(np.array([[0.0, 2.0**45, 0.0], [0.0, 2.0**40, 0.0]])).tolist() == [31.0, 0.0]
