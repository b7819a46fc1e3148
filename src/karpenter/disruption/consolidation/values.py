"""What pods are worth: the least a machine for them could cost, shared out among them. Pure.

Duals of the program that bounds the price of a whole new fleet price every class of pods. A node that costs more than
the pods on it are worth could be bettered, at most by the difference; one that costs less never pays. Source: solver
design, consolidation on the same kernel; issue 6, point 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from karpenter.disruption.consolidation.kernel import Fleet
from karpenter.scheduling.bound.prove import bound_of
from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.stating import fitting, stated

_TURNS = 4


@dataclass(frozen=True, slots=True)
class Values:
    """Prices of pods, and what no fleet for all of them can undercut."""

    worth: Floats
    """USD per hour of one pod of each class (C)."""
    bound: float
    """USD per hour that the nodes of these pods cost at least in any fleet, node fees included."""

    def of(self, fleet: Fleet, name: str) -> float:
        """Return what the pods of a node are worth together."""
        return sum(count * float(self.worth[kind.item.index]) for kind, count in fleet.pods[name])


def values_of(fleet: Fleet, *, node_fee: float) -> Values:
    """Return what the pods of a fleet are worth. Pods that no new machine could hold are worth nothing."""
    known, hosts = fleet.work.bins.columns, fleet.work.hosts
    worth = np.zeros(len(fleet.work.waits))
    columns: Ints = np.arange(len(known))
    items = [wait.item(wait.left) for wait in fleet.work.waits if wait.left]
    fit = fitting(items, known, columns)
    if not fit:
        return Values(worth, 0.0)
    told = stated(fit, known, columns, hosts=hosts)
    exact = told.problem.groups if told.shapes.is_exact else ()
    bound = bound_of(replace(told.problem, price=told.problem.price + node_fee, groups=exact), turns=_TURNS)
    for shape, each in zip(told.shapes.members, bound.certificate.worth, strict=True):
        worth[[item.index for item in shape]] = each
    return Values(worth, bound.price)
