"""What machines for pods that found no room would cost: a second wave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from karpenter.scheduling.catalog import Ints
from karpenter.scheduling.items import Item
from karpenter.scheduling.offers import offers_of
from karpenter.scheduling.packing.dice import Dice
from karpenter.scheduling.packing.mixture import Mixture
from karpenter.scheduling.packing.problem import Packing, Problem
from karpenter.scheduling.packing.rounding import rounded
from karpenter.scheduling.packing.thin import promising, undominated
from karpenter.scheduling.packing.worth import worth_of
from karpenter.scheduling.shapes import shapes_of
from karpenter.scheduling.trials.ground import Plan


def price_of(plan: Plan, left: Mapping[Item, int], columns: Ints, *, node_fee: float) -> float:
    """Return the USD per hour of machines of these columns for copies that were left over; limits do not count."""
    known = plan.bins.columns
    items = [replace(item, left=count) for item, count in left.items()]
    fit = [item for item in items if (known.open_to(item.rule) & known.holding(item.request))[columns].any()]
    if not fit:
        return 0.0
    shapes = shapes_of(((item, id(known.row(item.rule))) for item in fit), plan.hosts)
    leaders = [shape[0] for shape in shapes.members]
    offers, prices, admits = offers_of(known, [item.rule for item in leaders], columns)
    problem = Problem(
        request=np.stack([item.request for item in leaders]),
        count=np.array([sum(item.left for item in shape) for shape in shapes.members]),
        clique=shapes.clique,
        most=shapes.most,
        room=known.room[offers.column],
        price=prices + node_fee,
        admits=admits,
        charge=np.zeros((len(prices), 0)),
        budget=np.zeros(0),
        groups=shapes.groups,
    )
    packing = _guess(problem)
    return packing.cost - node_fee * sum(pattern.times for pattern in packing.patterns)


def _guess(problem: Problem) -> Packing:
    """Return a packing without any search: a trial's pods are a guess themselves."""
    offers = undominated(problem)
    worth = worth_of(problem, offers)
    few = promising(problem, offers, worth)
    return rounded(Mixture(problem, worth.shapes, offers=few, every=offers, dice=Dice()))
