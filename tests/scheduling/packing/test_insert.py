"""Copies are put on planned machines, on larger ones where that is cheapest, and never against a limit."""

import numpy as np
import pytest

from karpenter.scheduling.packing.insert import inserted
from karpenter.scheduling.packing.ledger import packing_of
from karpenter.scheduling.packing.problem import Pattern
from tests.scheduling.packing.problems import OFFERS, a_problem, check

EVERY = np.arange(len(OFFERS))
NODES = np.ones((len(OFFERS), 1))


def test_a_copy_goes_where_there_is_room_already() -> None:
    problem = a_problem([(1000, 1000)], [4])
    packing = inserted(problem, packing_of(problem, [Pattern(2, np.array([3]), 1)]), EVERY)
    check(problem, packing)
    assert packing.cost == pytest.approx(0.16)


def test_a_machine_becomes_larger_when_no_other_may_be_opened() -> None:
    problem = a_problem([(1000, 2000)], [6], charge=NODES, budget=np.array([2.0]))
    packing = inserted(problem, packing_of(problem, [Pattern(0, np.array([1]), 2)]), EVERY)
    check(problem, packing)
    assert packing.unplaced == 0
    assert packing.cost == pytest.approx(0.08 + 0.16)


def test_what_limits_forbid_is_left() -> None:
    cpu = OFFERS[:, :1].copy()
    problem = a_problem([(1000, 2000)], [6], charge=cpu, budget=np.array([4000.0]))
    packing = inserted(problem, packing_of(problem, []), EVERY)
    check(problem, packing)
    assert packing.unplaced == 2


def test_copies_that_keep_apart_are_not_put_together() -> None:
    problem = a_problem([(100, 100)], [3], clique=np.array([0]), most=np.array([1.0, np.inf]))
    packing = inserted(problem, packing_of(problem, [Pattern(3, np.array([1]), 1)]), EVERY)
    check(problem, packing)
    assert sum(pattern.times for pattern in packing.patterns) == 3


def test_without_leave_to_open_machines_the_rest_is_left() -> None:
    problem = a_problem([(8000, 16000)], [2])
    start = packing_of(problem, [Pattern(3, np.array([1]), 1)])
    assert inserted(problem, start, EVERY, may_open=False).unplaced == 1
