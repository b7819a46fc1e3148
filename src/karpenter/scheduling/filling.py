"""How full machines are planned: all of their room, and less where what is to be expected in all gets cheaper by it.

kube-scheduler spreads pods where a plan packs them, so some pods of a full plan find no room and need a second wave of
machines. Room that is left free costs its share of the price for sure, so it pays only where that wave costs more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from karpenter.model.resources import CPU, MEMORY
from karpenter.scheduling.catalog import Floats
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.policy import Policy
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.solution import Solution

FULL: Final = 1.0
_STEPS: Final = (0.97, 0.94, 0.9, 0.85, 0.8)
_MOST_PODS: Final = 1000
"""So many pods are planned anew in search of a better fill, at most: in large plans it hardly ever pays."""


def fixed_fill(policy: Policy) -> float:
    """Return the share of a machine that is planned for, before trials say otherwise."""
    return policy.fill if policy.rails and policy.fill is not None else FULL


def best_fill(first: Solution, policy: Policy, at: Callable[[float], Solution | None]) -> float:
    """Return the fill with which the expected total is least: `first` is full, `at` plans with a lower fill.

    `at` returns None when it was stopped.
    """
    best, best_fill = first, FULL
    if policy.fill is not None or not policy.rails:
        return best_fill
    for fill in _STEPS[: _MOST_PODS // max(len(first.placements), 1)]:
        # Nothing can save more than all of the second wave.
        if best.second_wave <= first.price * (best_fill - fill):
            break
        other = at(fill)
        if other is None or len(other.placements) < len(first.placements):
            break
        if _cost(other, policy) >= _cost(best, policy):
            break
        best, best_fill = other, fill
    return best_fill


def _cost(solution: Solution, policy: Policy) -> float:
    return solution.expected_price + policy.node_fee * len(solution.new_claims)


def filled(columns: Columns, fill: float, asked: Iterable[tuple[NodeRule, Floats]]) -> Columns:
    """Return the table with a share of cpu and memory to plan on.

    What a pod needs that would fit nowhere then is still there for it; `asked` holds the rules and requests (R) of all.
    """
    if fill == FULL:
        return columns
    share = np.array([fill if name in {CPU, MEMORY} else 1.0 for name in columns.resources])
    size = columns.whole * share
    for rule, request in asked:
        mine = columns.open_to(rule) & np.all(columns.whole >= request, axis=1)
        if mine.any() and not np.all(size[mine] >= request, axis=1).any():
            size[mine] = np.maximum(size[mine], request)
    return replace(columns, size=size, room=np.minimum(columns.room, size), _holding={})
