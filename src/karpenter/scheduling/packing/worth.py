"""What a copy of each shape is worth: its share of the cheapest conceivable price of everything.

A small linear program covers the total of each resource with fractions of offers; its duals price the resources. Such a
program often prices one resource at nothing (whatever is bought brings enough of it along), and a plan that believes it
wastes that resource, so the duals are averaged over demands that lean to each resource in turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.linear import covers
from karpenter.scheduling.packing.problem import Problem, kinds_of

_LEAN = 1.12
"""How much more of one resource the leaning demands ask for."""
_TINY = 1e-9
_MOST_PROGRAMS = 8
"""Groups of shapes that are priced by linear programs; the others, smaller ones, by their cheapest offer alone."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Prices of shapes, and the offers that the prices rest on."""

    shapes: Floats
    """USD per hour of one copy of each shape (S)."""
    groups: tuple[tuple[Bools, Floats], ...]
    """Shapes that may go to the same offers (S), and what each resource is worth to them (R)."""
    basis: frozenset[int]
    """Offers that the linear programs buy."""


def worth_of(problem: Problem, offers: Ints) -> Worth:
    """Return what shapes are worth; every shape is admitted by one of the `offers`."""
    alone = _alone(problem, offers)
    codes = kinds_of(problem.admits[offers].T)
    weight = np.bincount(codes, alone * problem.count)
    shapes = alone.copy()
    groups: list[tuple[Bools, Floats]] = []
    basis: set[int] = set()
    for code in np.argsort(-weight, kind="stable")[:_MOST_PROGRAMS]:
        members = codes == code
        open_to = offers[problem.admits[offers][:, np.flatnonzero(members)[0]]]
        resources, bought = _resource_prices(problem, members, open_to)
        shapes[members] = problem.request[members] @ resources
        groups.append((members, resources))
        basis.update(bought)
    return Worth(shapes, tuple(groups), frozenset(basis))


def _alone(problem: Problem, offers: Ints) -> Floats:
    """Return the least price of a copy's largest share of a machine (S)."""
    share = np.zeros((len(offers), len(problem.count)))
    for resource in np.flatnonzero(problem.request.any(axis=0)):
        room = np.maximum(problem.room[offers, resource], _TINY)
        np.maximum(share, problem.request[:, resource] / room[:, None], out=share)
    price = np.where(share <= 1 + _TINY, share * problem.price[offers, None], np.inf)
    return np.asarray(np.where(problem.admits[offers], price, np.inf).min(axis=0, initial=np.inf))


def _resource_prices(problem: Problem, members: Bools, offers: Ints) -> tuple[Floats, set[int]]:
    demand = problem.request[members].T @ problem.count[members]
    used = np.flatnonzero(demand)
    rows = problem.room[np.ix_(offers, used)].T / demand[used][:, None]
    total = np.zeros(len(used))
    bought: set[int] = set()
    leans = [np.where(np.arange(len(used)) == r, _LEAN, 1.0) for r in (-1, *range(len(used)))]
    for optimum in covers(problem.price[offers], rows, leans):
        total += optimum.duals
        bought.update(int(at) for at in offers[optimum.x > _TINY])
    prices = np.zeros(len(demand))
    prices[used] = total / len(leans) / demand[used]
    return prices, bought
