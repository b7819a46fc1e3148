"""Packings are improved without ever getting worse."""

import numpy as np
import pytest

from karpenter.scheduling.packing.dice import Dice
from karpenter.scheduling.packing.ledger import packing_of
from karpenter.scheduling.packing.mixture import Mixture
from karpenter.scheduling.packing.problem import Pattern, Problem
from karpenter.scheduling.packing.refine import fitted, refined
from tests.scheduling.packing.problems import OFFERS, a_problem, check

EVERY = np.arange(len(OFFERS))


def one_by_one(problem: Problem, offer: int) -> list[Pattern]:
    """Every copy on a machine of its own."""
    return [
        Pattern(offer, np.eye(len(problem.count), dtype=np.int64)[shape], int(count))
        for shape, count in enumerate(problem.count)
    ]


def test_machines_get_the_cheapest_offer_that_holds_them() -> None:
    problem = a_problem([(1000, 2000), (1000, 8000)], [3, 2])
    better = fitted(problem, packing_of(problem, one_by_one(problem, 6)), EVERY)
    check(problem, better)
    assert sorted((pattern.offer, pattern.times) for pattern in better.patterns) == [(0, 3), (4, 2)]


def test_a_cheaper_offer_that_takes_more_of_a_limit_is_not_taken() -> None:
    problem = a_problem([(1000, 2000)], [3], charge=np.array([[9.0], *[[1.0]] * 8]), budget=np.array([100.0]))
    (pattern,) = fitted(problem, packing_of(problem, one_by_one(problem, 6)), EVERY).patterns
    assert pattern.offer == 1


def test_machines_are_taken_apart_and_put_together_better() -> None:
    """Eight cpus for eight copies that lean to cpu and four that lean to memory; 0.04 a copy at best."""
    problem = a_problem([(1000, 500), (250, 4000)], [24, 12])
    mixture = Mixture(problem, np.array([0.04, 0.04]), offers=EVERY, every=EVERY, dice=Dice())
    mixture.begin(40)
    start = packing_of(problem, one_by_one(problem, 6))
    better = refined(mixture, start, fills=20_000, dice=Dice(1))
    check(problem, better)
    assert start.cost == pytest.approx(36 * 0.40)
    assert better.cost <= 1.3
