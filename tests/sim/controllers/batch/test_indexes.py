import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpenter.sim.controllers.batch.indexes import format_indexes, parse_indexes


@pytest.mark.parametrize(
    "indexes, text",
    [((), ""), ((3,), "3"), ((0, 1), "0,1"), ((0, 1, 2), "0-2"), ((1, 3, 4, 5, 7), "1,3-5,7"), ((7, 1, 1), "1,7")],
)
def test_numbers_in_a_row_are_written_as_first_and_last(indexes: tuple[int, ...], text: str) -> None:
    assert format_indexes(indexes) == text


@given(st.sets(st.integers(0, 60)), st.integers(0, 60))
def test_what_is_written_is_read_again_below_the_number_of_completions(indexes: set[int], completions: int) -> None:
    assert parse_indexes(format_indexes(indexes), completions) == {one for one in indexes if one < completions}
