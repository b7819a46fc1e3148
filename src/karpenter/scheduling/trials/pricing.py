"""What machines for pods that found no room would cost: a second wave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from karpenter.scheduling.catalog import Ints
from karpenter.scheduling.items import Item
from karpenter.scheduling.packing.dice import Dice
from karpenter.scheduling.packing.mixture import Mixture
from karpenter.scheduling.packing.problem import Packing, Problem
from karpenter.scheduling.packing.rounding import rounded
from karpenter.scheduling.packing.thin import promising, undominated
from karpenter.scheduling.packing.worth import worth_of
from karpenter.scheduling.stating import fitting, stated
from karpenter.scheduling.trials.ground import Plan


def price_of(plan: Plan, left: Mapping[Item, int], columns: Ints, *, node_fee: float) -> float:
    """Return the USD per hour of machines of these columns for copies that were left over; limits do not count."""
    known = plan.bins.columns
    items = [replace(item, left=count) for item, count in left.items()]
    fit = fitting(items, known, columns)
    if not fit:
        return 0.0
    problem = stated(fit, known, columns, hosts=plan.hosts).problem
    packing = _guess(replace(problem, price=problem.price + node_fee))
    return packing.cost - node_fee * sum(pattern.times for pattern in packing.patterns)


def _guess(problem: Problem) -> Packing:
    """Return a packing without any search: a trial's pods are a guess themselves."""
    offers = undominated(problem)
    worth = worth_of(problem, offers)
    few = promising(problem, offers, worth)
    return rounded(Mixture(problem, worth.shapes, offers=few, every=offers, dice=Dice()))
