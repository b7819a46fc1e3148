"""Pools that say `Balanced`: a move has to save as large a share of the price as it disturbs of the pods. Pure.

Source: spec v1 §3.7 (D-21 … D-25, vectors V28 … V30); case CHURN (c).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from karpenter.disruption.consolidation.moves import TINY, Move, Refusal
from karpenter.disruption.costs import node_cost, pods_cost
from karpenter.disruption.verdict import Score
from karpenter.model.core import Pod
from karpenter.model.pods import is_reschedulable
from karpenter.model.units import PoolKey
from karpenter.scheduling import BalanceFormula
from karpenter.scheduling.snapshot import NodeView, Snapshot

THRESHOLD: Final = 0.5
"""A move of half the savings that its disturbance is worth is still made."""


def shipped_cost(pods: Iterable[Pod]) -> float:
    """Return what taking a node costs as Karpenter counts it: its pods, and 1 for the node itself."""
    return node_cost(pods)


def designed_cost(pods: Iterable[Pod]) -> float:
    """Return what taking a node costs as Karpenter's design document counts it: its pods."""
    return pods_cost(pods)


_COSTS: Final = {"shipped": shipped_cost, "design": designed_cost}


class Balance:
    """What the Balanced pools of one snapshot cost, and the scores of the moves that were shown to them."""

    def __init__(self, snapshot: Snapshot, formula: BalanceFormula) -> None:
        self._cost_of = _COSTS[formula]
        self._balanced = {view.pool.key for view in snapshot.pools if view.pool.disruption.policy == "Balanced"}
        self._price: defaultdict[PoolKey, float] = defaultdict(float)
        self._disruption: defaultdict[PoolKey, float] = defaultdict(float)
        for view in snapshot.nodes:
            if view.pool is not None and view.pool in self._balanced and not view.is_deleting:
                self._price[view.pool] += view.price or 0.0
                self._disruption[view.pool] += self._cost_of(_movable(view))
        self._scores: dict[tuple[PoolKey, tuple[str, ...]], Score] = {}

    @property
    def scores(self) -> tuple[Score, ...]:
        """Every score that was given, the last one of each move."""
        return tuple(self._scores.values())

    def on_move(self, move: Move) -> Refusal | None:
        """Return that a Balanced pool is against the move; None when all that it touches agree (D-23).

        Nodes whose pods may be evicted for nothing count as empty, and empty ones go without being asked about.
        """
        if not move.relocation.replacements and not any(pods_cost(one.pods) for one in move.candidates):
            return None
        scores = self._judge(move)
        self._scores.update({(score.pool, score.nodes): score for score in scores})
        worst = min(scores, key=lambda score: score.value, default=None)
        if worst is None or worst.is_approved:
            return None
        words = f"{worst.pool} is Balanced: what is saved is worth {worst.value:.2f} of what is disturbed"
        return Refusal("Unbalanced", f"{words}, and has to be worth {THRESHOLD:g}")

    def _judge(self, move: Move) -> list[Score]:
        prices: defaultdict[PoolKey, float] = defaultdict(float)
        costs: defaultdict[PoolKey, float] = defaultdict(float)
        for candidate in move.candidates:
            prices[candidate.pool.key] += candidate.price
            costs[candidate.pool.key] += self._cost_of(candidate.pods)
        saved = move.price - sum(plan.price for plan in move.relocation.replacements)
        share = saved / move.price if move.price else 0.0
        nodes = tuple(sorted(candidate.name for candidate in move.candidates))
        touched = sorted(self._balanced & prices.keys())
        values = {key: self._value(key, share * prices[key], costs[key]) for key in touched}
        return [Score(key, nodes, value, value >= THRESHOLD - TINY) for key, value in values.items()]

    def _value(self, key: PoolKey, saved: float, moved: float) -> float:
        """Nothing saved is worth nothing; saving without moving any pod is worth anything (D-21)."""
        price, disruption = self._price[key], self._disruption[key]
        if saved <= 0 or price <= 0 or disruption <= 0:
            return 0.0
        return (saved / price) / (moved / disruption) if moved > 0 else float("inf")


def _movable(view: NodeView) -> list[Pod]:
    return [pod for pod in view.pods if is_reschedulable(pod)]
