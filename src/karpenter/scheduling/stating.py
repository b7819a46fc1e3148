"""Items that wait for machines, stated as a packing problem: for packing them, for bounds, for guesses at a price."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from karpenter.scheduling.catalog import Ints
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.hosts import HostRules
from karpenter.scheduling.items import Item
from karpenter.scheduling.offers import Offers, offers_of
from karpenter.scheduling.packing.problem import Problem
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.shapes import Shapes, shapes_of


@dataclass(frozen=True, slots=True)
class Stated:
    """A problem, and which items and columns its shapes and offers stand for."""

    problem: Problem
    """Prices are as in the list, without the node fee, and nothing is limited."""
    shapes: Shapes
    offers: Offers


def fitting(items: Iterable[Item], known: Columns, columns: Ints) -> list[Item]:
    """Return the items of which some column takes a copy."""
    holds: dict[tuple[NodeRule, bytes], bool] = {}
    fit = []
    for item in items:
        key = item.rule, item.request.tobytes()
        if key not in holds:
            holds[key] = bool((known.open_to(item.rule) & known.holding(item.request))[columns].any())
        if holds[key]:
            fit.append(item)
    return fit


def stated(items: Sequence[Item], known: Columns, columns: Ints, *, hosts: HostRules) -> Stated:
    """Return the problem of these items (at least one) on machines of these columns.

    Those with equal requests, places and host rules are one shape.
    """
    shapes = shapes_of(((item, id(known.row(item.rule))) for item in items), hosts)
    leaders = [shape[0] for shape in shapes.members]
    offers, prices, admits = offers_of(known, [item.rule for item in leaders], columns)
    problem = Problem(
        request=np.stack([item.request for item in leaders]),
        count=np.array([sum(item.left for item in shape) for shape in shapes.members]),
        clique=shapes.clique,
        most=shapes.most,
        room=known.room[offers.column],
        price=prices,
        admits=admits,
        charge=np.zeros((len(prices), 0)),
        budget=np.zeros(0),
        groups=shapes.groups,
    )
    return Stated(problem, shapes, offers)
