"""From a problem to its bound: relax it, take the duals, and make sure that they prove something for every offer."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from karpenter.scheduling.bound.certificate import Bound, Certificate, Multipliers, Places, least, places_of
from karpenter.scheduling.bound.relaxation import Duals, Relaxation
from karpenter.scheduling.bound.simplify import MOST_SHAPES, Simple, coarse, demand_of, simplified
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.packing.fold import fold
from karpenter.scheduling.packing.problem import Problem, may_bind
from karpenter.scheduling.packing.thin import promising, undominated
from karpenter.scheduling.packing.worth import worth_of
from karpenter.scheduling.reporter import Progress, unheard

TURNS: Final = 12
"""Turns of rounded rows; most problems need fewer."""
_LAST_TURNS: Final = 3
"""Turns in which only offers join."""
_LOOK_EVERY: Final = 3
_MOST_JOINING: Final = 16
"""How often is looked for offers for which the duals do not hold, and how many join the program at once."""
_HOLDS: Final = 1 + 1e-6
_SAFE: Final = 1e-9
"""The share that is given up so that exact arithmetic finds no rounding to object to."""


def bound_of(
    problem: Problem,
    *,
    room: Floats | None = None,
    admits: Bools | None = None,
    turns: int = TURNS,
    progress: Progress = unheard,
) -> Bound:
    """Return what no plan that places all copies can undercut.

    `room` (B×R) and `admits` (B×S) describe machines that are there already and cost nothing. Rules about shapes
    together are heeded where they are caps on a sum; what the others forbid is allowed, which can only lower the bound.

    Raises:
        ValueError: there are copies that no offer can hold.
    """
    simple = simplified(problem, admits=admits)
    demand = simple.demand
    offers = places_of(problem.room, simple.problem.admits, demand)
    held = np.count_nonzero(offers.most, axis=0)
    if np.any((held == 0) & (demand.count > 0)):
        raise ValueError("there are copies that no offer can hold")
    duals, values, chosen = _alone(simple, offers) or _duals(simple, offers, turns=turns, progress=progress)
    cost = problem.price + problem.charge @ duals.scarcity
    factor = (1 - _SAFE) / max(1.0, float((values / cost).max(initial=0.0)))
    worth = duals.worth * factor
    multipliers = [each.scaled(factor) for each in (*duals.multipliers, _none(duals))]
    price = float(worth @ demand.count - duals.scarcity @ demand.budget)
    of_nodes: Ints = np.zeros(0, dtype=np.int64)
    if room is not None and admits is not None:
        nodes = places_of(room, admits[:, simple.first], demand)
        on_nodes, of_nodes = least([nodes.worth(each, worth, demand) for each in multipliers])
        price -= float(on_nodes.sum())
    certificate = Certificate(
        worth=tuple(worth[simple.shape].tolist()),
        scarcity=tuple(duals.scarcity.tolist()),
        multipliers=tuple(multipliers),
        of_offers=tuple(chosen.tolist()),
        of_nodes=tuple(of_nodes.tolist()),
    )
    return Bound(max(price * (1 - _SAFE), 0.0), certificate)


def _alone(simple: Simple, offers: Places) -> tuple[Duals, Floats, Ints] | None:
    """Return the duals of a single shape whose limits cannot bind: they need no program. None for other problems.

    A copy is worth its share of the cheapest machine, and every machine holds what it holds.
    """
    demand, price = simple.demand, simple.problem.price
    if len(demand.count) != 1 or may_bind(simple.problem):
        return None
    most = offers.most[:, 0]
    worth = (price[most > 0] / most[most > 0]).min(keepdims=True, initial=np.inf)
    nothing = Multipliers((0.0,) * demand.requests.shape[1], (0.0,) * len(demand.caps), ())
    duals = Duals(worth, np.zeros(len(demand.budget)), (nothing,), float(worth[0] * demand.count[0]))
    return duals, most * worth[0], np.zeros(len(price), dtype=np.int64)


def _duals(simple: Simple, offers: Places, *, turns: int, progress: Progress) -> tuple[Duals, Floats, Ints]:
    """Return duals, what the copies on one machine of each offer can be worth by them (J), and the proof's multipliers.

    The program is that of the folded problem. It begins with promising offers; others join as long as their machines
    could hold more than they cost.
    """
    folded = fold(simple.problem)
    problem = folded.problem
    if len(problem.count) <= MOST_SHAPES:
        duals = _program(problem, turns=turns, progress=progress)
        folded_worth = duals.worth
    else:
        few = coarse(problem)
        duals = _in_all_groups(problem, few, _program(few, turns=turns, progress=progress))
        folded_worth = _true_worth(problem, duals)
    worth = folded.widened(folded_worth)
    return replace(duals, worth=worth), *least([offers.worth(each, worth, simple.demand) for each in duals.multipliers])


def _program(problem: Problem, *, turns: int, progress: Progress) -> Duals:
    """Return the duals of a problem's program."""
    demand = demand_of(problem)
    every = undominated(problem)
    places = places_of(problem.room, problem.admits, demand)
    program = Relaxation(demand, places, problem.price, charge=problem.charge)
    program.join(promising(problem, every, worth_of(problem, every)))
    duals = program.solve()
    for turn in range(turns + _LAST_TURNS):
        progress("proving the bound", turn, turns + _LAST_TURNS)
        is_changed = turn < turns and program.cut()
        if turn % _LOOK_EVERY == 0 or turn >= turns or not is_changed:
            values, _ = least([places.worth(each, duals.worth, demand) for each in duals.multipliers])
            rate = values[every] / (problem.price + problem.charge @ duals.scarcity)[every]
            joining = every[np.argsort(-rate, kind="stable")[:_MOST_JOINING]]
            joining = joining[rate[np.searchsorted(every, joining)] > _HOLDS]
            joining = joining[~np.isin(joining, program.offers)]
            program.join(joining)
            is_changed = is_changed or len(joining) > 0
        if not is_changed:
            break
        duals = program.solve()
    return replace(duals, offers=tuple(program.offers))


def _in_all_groups(problem: Problem, few: Problem, duals: Duals) -> Duals:
    """Return the duals of a coarse problem with nothing asked for in groups that none of its shapes stands for."""
    kept = [at for at, group in enumerate(few.groups) if (group.owners & group.matched).any()]
    multipliers = []
    for each in duals.multipliers:
        groups = np.zeros(len(problem.groups))
        groups[kept] = each.groups
        multipliers.append(replace(each, groups=tuple(groups.tolist())))
    return replace(duals, multipliers=tuple(multipliers))


def _true_worth(problem: Problem, duals: Duals) -> Floats:
    """Return what copies of each shape may be worth, by what machines are made of: no more than on any offer that
    holds one (S)."""
    demand = demand_of(problem)
    held = places_of(problem.room, problem.admits, demand).most[list(duals.offers)] > 0
    costs = np.stack([each.cost(demand) for each in duals.multipliers])
    least_cost = np.where(held, costs, np.inf).min(axis=0)
    return np.where(np.isfinite(least_cost), least_cost, 0.0)


def _none(duals: Duals) -> Multipliers:
    """Return multipliers that charge for nothing: a machine holds of each shape what it holds of it alone."""
    return duals.multipliers[0].scaled(0.0)
