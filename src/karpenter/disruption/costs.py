"""What it costs to move pods, as users say it: deletion costs and priorities. Pure. Source: spec v1 D-3, D-5, D-6."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karpenter.model import labels
from karpenter.model.core import Pod

_DELETION_COST_UNIT: Final = 2.0**27
_PRIORITY_UNIT: Final = 2.0**25
_LARGEST: Final = 10.0
EMPTY_COST: Final = 1.0
"""What a node costs by itself, so that fewer nodes are touched for the same saving."""


def eviction_cost(pod: Pod) -> float:
    """Return what evicting a pod costs, -10 to 10: 1 unless its deletion cost or its priority says otherwise (D-3)."""
    cost = 1.0 + _deletion_cost(pod) / _DELETION_COST_UNIT + (pod.spec.priority or 0) / _PRIORITY_UNIT
    return min(max(cost, -_LARGEST), _LARGEST)


def pods_cost(pods: Iterable[Pod]) -> float:
    """Return what moving these pods costs; those that may be evicted for nothing do not make it less."""
    return sum(max(0.0, eviction_cost(pod)) for pod in pods)


def node_cost(pods: Iterable[Pod]) -> float:
    """Return what taking a node with these reschedulable pods costs; 1 for an empty one (D-3, D-5)."""
    return EMPTY_COST + pods_cost(pods)


def cost_of_taking(pods: Iterable[Pod], *, left: float) -> float:
    """Return the cost by which nodes are ranked: pods of a node that ends soon would move anyway (D-6, DEP-52).

    `left` is the share of its life that the node has before it.
    """
    return EMPTY_COST + pods_cost(pods) * left


def _deletion_cost(pod: Pod) -> float:
    """What is no number says nothing."""
    try:
        return int(pod.metadata.annotations.get(labels.POD_DELETION_COST, "0"))
    except ValueError:
        return 0.0
