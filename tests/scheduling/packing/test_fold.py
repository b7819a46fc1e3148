"""Zones that are alike are folded into one, and patterns found there are unfolded."""

import numpy as np

from karpenter.scheduling.packing.fold import fold
from karpenter.scheduling.packing.problem import Problem
from tests.scheduling.packing.problems import OFFERS, PRICES, a_problem


def two_zones(**changes) -> Problem:
    """Shapes: one bound to each of two zones, and one that goes to both."""
    offers = len(OFFERS)
    admits = np.ones((2 * offers, 3), dtype=bool)
    admits[:offers, 1] = admits[offers:, 0] = False
    fields = {"room": np.concatenate((OFFERS, OFFERS)), "price": np.concatenate((PRICES, PRICES)), "admits": admits}
    requests = [(1000, 1000), (1000, 1000), (500, 4000)]
    return a_problem(requests, [5, 7, 9], **{**fields, "charge": np.zeros((2 * offers, 0)), **changes})


def test_twins_of_two_zones_become_one() -> None:
    folded = fold(two_zones()).problem
    assert folded.count.tolist() == [12, 9]
    assert folded.room.tolist() == OFFERS.tolist()
    assert folded.admits.all()


def test_a_pattern_unfolds_to_one_of_each_zone() -> None:
    offers, copies = fold(two_zones()).unfold(np.array([3]), np.array([[2, 1]]))
    assert offers.tolist() == [3, 3 + len(OFFERS)]
    assert copies.tolist() == [[2, 0, 1], [0, 2, 1]]


def test_a_pattern_does_not_unfold_to_a_zone_that_lacks_a_shape() -> None:
    problem = two_zones()
    admits = problem.admits[:, [0, 2]]
    folded = fold(a_problem([(1000, 1000), (500, 4000)], [5, 9], room=problem.room, price=problem.price, admits=admits))
    offers, copies = folded.unfold(np.array([3, 3]), np.array([[2, 1], [0, 4]]))
    assert sorted(zip(offers.tolist(), copies.tolist(), strict=True)) == [
        (3, [0, 4]),
        (3, [2, 1]),
        (3 + len(OFFERS), [0, 4]),
    ]


def test_zones_of_different_prices_stay_apart() -> None:
    problem = two_zones(price=np.concatenate((PRICES, PRICES * 1.01)))
    assert len(fold(problem).problem.count) == 3
    assert len(fold(problem).problem.price) == len(problem.price)


def test_shapes_under_different_rules_stay_apart() -> None:
    folded = fold(two_zones(clique=np.array([0, -1, -1]), most=np.array([1.0, np.inf])))
    assert folded.problem.count.tolist() == [5, 7, 9]


def test_shapes_that_one_zone_could_not_tell_apart_are_not_folded() -> None:
    """Both are bound to a zone for large machines and go anywhere for small ones."""
    offers = len(OFFERS)
    small, zone = np.tile(PRICES < 0.2, 2), np.repeat([0, 1], offers)
    admits = np.stack([small | (zone == 0), small | (zone == 1)], axis=1)
    folded = fold(
        a_problem(
            [(1000, 1000), (1000, 1000)],
            [5, 7],
            room=np.concatenate((OFFERS, OFFERS)),
            price=np.concatenate((PRICES, PRICES)),
            admits=admits,
        )
    )
    assert folded.problem.count.tolist() == [5, 7]


def test_equal_offers_of_one_place_become_one() -> None:
    folded = fold(a_problem([(1000, 1000)], [5], room=np.concatenate((OFFERS, OFFERS)), price=np.tile(PRICES, 2)))
    assert folded.problem.price.tolist() == PRICES.tolist()
