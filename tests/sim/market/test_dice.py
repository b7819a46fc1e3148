"""Chance as a function: repeatable, uniform, and shaped as asked."""

import math
import statistics

from hypothesis import given
from hypothesis import strategies as st

from karpenter.sim.market.dice import draw, draw_from, hex_digits, log_normal, source


@given(st.integers(), st.integers())
def test_a_draw_lies_strictly_between_0_and_1(seed: int, key: int) -> None:
    assert 0 < draw(seed, "purpose", key) < 1


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40))
def test_a_draw_from_a_source_lies_strictly_between_0_and_1(bits: int, index: int) -> None:
    assert 0 < draw_from(bits, index) < 1


def test_equal_arguments_give_equal_draws_and_others_do_not() -> None:
    assert draw(1, "boot", "a", 1) == draw(1, "boot", "a", 1)
    different = {draw(1, "boot", "a", 1), draw(2, "boot", "a", 1), draw(1, "price", "a", 1), draw(1, "boot", "a", 2)}
    assert len(different) == 4


def test_draws_are_spread_evenly() -> None:
    for numbers in (
        [draw(7, "even", number) for number in range(4000)],
        [draw_from(source(7, "even"), number) for number in range(4000)],
    ):
        tenths = [sum(tenth / 10 <= number < (tenth + 1) / 10 for number in numbers) for tenth in range(10)]
        assert all(330 < count < 470 for count in tenths)


def test_a_log_normal_quantity_has_the_median_and_the_percentile_it_was_given() -> None:
    assert math.isclose(log_normal(0.5, p50=45, p90=79), 45)
    assert math.isclose(log_normal(0.9, p50=45, p90=79), 79)
    drawn = [log_normal(draw(3, "delay", number), p50=45, p90=79) for number in range(4000)]
    assert 43.5 < statistics.median(drawn) < 46.5
    assert 75 < statistics.quantiles(drawn, n=10)[-1] < 83


def test_hex_digits_are_as_many_as_asked_for() -> None:
    digits = hex_digits(0, "instance", 1, digits=17)
    assert len(digits) == 17
    assert int(digits, 16) >= 0
