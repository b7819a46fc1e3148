"""Lower bounds: proven in exact arithmetic by an independent checker, and never above the best of all packings."""

from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.scheduling.bound.prove import bound_of
from karpenter.scheduling.packing.groups import Group
from karpenter.scheduling.packing.pack import pack
from karpenter.scheduling.packing.problem import Problem
from tests.scheduling.boundchecker import check
from tests.scheduling.packing.problems import OFFERS, PRICES, a_problem, optimum

SHAPES = [(300, 500), (500, 4000), (1000, 1000), (1500, 6000), (2500, 3000), (3000, 12000), (700, 9000)]

requests = st.lists(st.tuples(st.integers(1, 4000), st.integers(0, 16000)), min_size=3, max_size=3)
flags = st.lists(st.booleans(), min_size=3, max_size=3).map(np.array)
caps = st.builds(Group, flags, flags, st.integers(1, 2))
apart = st.builds(lambda own, others: Group(own, others & ~own, 0), flags, flags)
groups = st.lists(caps | apart, max_size=2).map(tuple)


def small(requests, counts, *, cap: int = 2, groups: tuple[Group, ...] = ()) -> Problem:
    """Three shapes, the outer ones a clique; one of them only on some offers."""
    admits = np.ones((len(OFFERS), 3), dtype=bool)
    admits[2:5, 1] = False
    return a_problem(
        requests, counts, clique=np.array([0, -1, 0]), most=np.array([float(cap), np.inf]), admits=admits, groups=groups
    )


@settings(max_examples=40)
@given(requests, st.lists(st.integers(0, 3), min_size=3, max_size=3), st.integers(1, 2), groups)
def test_no_packing_undercuts_the_bound(requests, counts, cap: int, groups: tuple[Group, ...]) -> None:
    problem = small(requests, counts, cap=cap, groups=groups)
    bound = bound_of(problem)
    check(problem, bound)
    assert bound.price <= optimum(problem) + 1e-9


@settings(max_examples=40)
@given(requests, st.lists(st.integers(0, 400), min_size=3, max_size=3), st.integers(1, 5), groups)
def test_every_bound_is_proven_by_its_duals(requests, counts, cap: int, groups: tuple[Group, ...]) -> None:
    problem = small(requests, counts, cap=cap, groups=groups)
    bound = bound_of(problem)
    check(problem, bound)
    assert bound.price <= pack(problem).cost + 1e-9


def test_bounds_of_small_problems_are_a_tenth_below_the_optimum_on_average() -> None:
    gaps = []
    for items in list(combinations_with_replacement(SHAPES, 5))[::11]:
        shapes = sorted(set(items))
        problem = a_problem(shapes, [items.count(shape) for shape in shapes])
        gaps.append(1 - bound_of(problem).price / optimum(problem))
    assert min(gaps) > -1e-9
    assert np.mean(gaps) < 0.10


@settings(max_examples=30)
@given(requests, st.lists(st.integers(0, 2), min_size=3, max_size=3), st.sampled_from([(2000, 6000), (4000, 4000)]))
def test_machines_that_are_there_lower_the_bound_by_what_they_can_hold(requests, counts, room) -> None:
    problem = small(requests, counts)
    there = np.array([room], dtype=float)
    admits = np.array([[True, True, False]])
    bound = bound_of(problem, room=there, admits=admits)
    check(problem, bound, room=there, admits=admits)
    best = np.inf
    for taken in product(*(range(count + 1) for count in (counts[0], counts[1]))):
        copies = np.array([*taken, 0])
        if (copies @ problem.request <= there[0]).all() and copies[0] <= 2:
            best = min(best, optimum(replace(problem, count=problem.count - copies)))
    assert bound.price <= best + 1e-9


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(1, 4))
def test_limits_raise_the_bound_and_are_part_of_the_proof(pods: int, machines: int) -> None:
    """The cheapest machine per copy holds one; a limit on machines makes larger, dearer ones necessary."""
    copies = min(pods, 4 * machines)
    dear = PRICES * np.where(OFFERS[:, 0] > 1000, 1.5, 1.0)
    limited = a_problem(
        [(1000, 2000)],
        [copies],
        room=OFFERS[:3],
        price=dear[:3],
        charge=np.ones((3, 1)),
        budget=np.array([float(machines)]),
    )
    bound = bound_of(limited)
    check(limited, bound)
    free = bound_of(replace(limited, charge=np.zeros((3, 0)), budget=np.zeros(0)))
    assert free.price - 1e-9 <= bound.price <= pack(limited).cost + 1e-9
    if copies > machines:
        assert bound.price > free.price + 1e-6


def test_whole_copies_are_counted_whole() -> None:
    """Two copies of 60 % of a machine need two machines, whatever fractions would allow."""
    problem = a_problem([(600, 100)], [10], room=OFFERS[:1], price=PRICES[:1])
    assert bound_of(problem).price == pytest.approx(10 * PRICES[0])


def test_different_shapes_that_do_not_fit_together_are_counted_whole() -> None:
    """Every copy takes more than half of the one machine that is to be had."""
    problem = a_problem([(600, 100), (550, 900), (510, 300)], [10, 10, 10], room=OFFERS[:1], price=PRICES[:1])
    assert bound_of(problem).price == pytest.approx(30 * PRICES[0])


def test_copies_that_keep_apart_need_a_machine_each() -> None:
    problem = a_problem([(10, 10)], [50], clique=np.array([0]), most=np.array([1.0, np.inf]))
    assert bound_of(problem).price == pytest.approx(50 * PRICES[0])


def test_more_turns_never_loosen_the_bound_here() -> None:
    problem = a_problem(SHAPES, [41, 33, 52, 21, 64, 13, 27])
    prices = [bound_of(problem, turns=turns).price for turns in (0, 2, 12)]
    assert prices == sorted(prices)
    assert prices[-1] >= pack(problem, rounds=20).cost * 0.96


def test_what_no_offer_holds_has_no_bound() -> None:
    with pytest.raises(ValueError, match="no offer can hold"):
        bound_of(a_problem([(9000, 1)], [1]))


@pytest.mark.parametrize("change", ["price", "worth", "multiplier", "scarcity", "offers"])
def test_the_checker_finds_a_proof_that_does_not_hold(change: str) -> None:
    problem = a_problem(SHAPES, [4, 3, 5, 2, 6, 1, 2], charge=np.ones((len(OFFERS), 1)), budget=np.array([3.0]))
    bound = bound_of(problem)
    proof = bound.certificate
    halved = tuple(each.scaled(0.5) for each in proof.multipliers)
    worse = {
        "price": replace(bound, price=bound.price * 1.001),
        "worth": replace(bound, certificate=replace(proof, worth=tuple(each * 1.001 for each in proof.worth))),
        "multiplier": replace(bound, certificate=replace(proof, multipliers=halved)),
        "scarcity": replace(bound, certificate=replace(proof, scarcity=(-1.0,))),
        "offers": replace(bound, certificate=replace(proof, of_offers=proof.of_offers[:-1])),
    }[change]
    check(problem, bound)
    with pytest.raises(AssertionError):
        check(problem, worse)


def test_shapes_that_become_equal_when_zones_are_folded_are_kept_apart_in_the_program() -> None:
    """Each goes to one zone for large machines, and to one of two other places for small ones."""
    offers = len(OFFERS)
    place = np.repeat([0, 1, 2, 3], offers)
    admits = np.stack([(place == 0) | (place == 2), (place == 1) | (place == 3)], axis=1)
    problem = a_problem(
        [(1000, 1000), (1000, 1000)], [5, 7], room=np.tile(OFFERS, (4, 1)), price=np.tile(PRICES, 4), admits=admits
    )
    bound = bound_of(problem)
    check(problem, bound)
    assert bound.price <= pack(problem).cost + 1e-9


@pytest.mark.parametrize("shapes", [150, 800])
def test_many_different_shapes_have_a_proven_bound_within_an_eighth(shapes: int) -> None:
    """Similar ones share a row of the program; what each is worth follows from what machines are made of."""
    sizes = np.arange(1, shapes + 1)
    requests = np.column_stack((100 + sizes * 7919 % 3000, 200 + sizes * 104729 % 9000))
    problem = a_problem([tuple(row) for row in requests.tolist()], [1 + at % 4 for at in range(shapes)])
    bound = bound_of(problem)
    check(problem, bound)
    assert bound.price <= pack(problem).cost <= bound.price * 1.125


def test_rules_about_few_of_many_shapes_leave_the_bound_proven() -> None:
    """With so many shapes, similar ones are one in the program; rules that none of those is bound by stay out of it."""
    requests = [(100 + 7 * at % 900, 300 + 31 * at % 3000) for at in range(160)]
    owned = [np.isin(np.arange(160), (at, at + 1)) for at in range(60, 160, 10)]
    problem = a_problem(requests, [1] * 160, groups=tuple(Group(own, own, 1) for own in owned))
    bound = bound_of(problem)
    check(problem, bound)
    assert 0 < bound.price <= pack(problem).cost + 1e-9
