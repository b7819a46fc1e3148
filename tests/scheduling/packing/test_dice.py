"""Repeatable random numbers."""

import numpy as np

from karpenter.scheduling.packing.dice import Dice


def test_equal_seeds_roll_equal_numbers() -> None:
    assert (Dice(7).roll(3, 4) == Dice(7).roll(3, 4)).all()


def test_other_seeds_roll_other_numbers() -> None:
    assert not np.isin(Dice(1).roll(1000), Dice(2).roll(1000)).any()


def test_a_roll_goes_on_where_the_last_one_ended() -> None:
    dice = Dice()
    assert np.concatenate((dice.roll(2), dice.roll(3))).tolist() == Dice().roll(5).tolist()


def test_numbers_are_even_and_neither_0_nor_1() -> None:
    numbers = Dice().roll(100_000)
    assert 0 < numbers.min() < 1e-4
    assert 1 - 1e-4 < numbers.max() < 1
    assert np.abs(np.histogram(numbers, bins=10, range=(0, 1))[0] - 10_000).max() < 400
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.01
