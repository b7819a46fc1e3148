"""What each pool costs, and how many of its nodes may go now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpenter.disruption.budgets import budget_use
from karpenter.model.units import UnixSeconds
from karpenter.runtime.instruments import refresh
from karpenter.runtime.metrics import Metrics
from karpenter.scheduling.snapshot import NodeView, PoolView

REASONS: Final = ("Underutilized", "Empty", "Drifted")


def publish_pools(pools: Sequence[PoolView], nodes: Sequence[NodeView], metrics: Metrics, *, now: UnixSeconds) -> None:
    """Set price and budgets of each pool."""
    costs = {(view.pool.name,): 0.0 for view in pools}
    for node in nodes:
        if node.pool is not None and (node.pool.name,) in costs:
            costs[node.pool.name,] += node.price or 0.0
            if node.price is None:
                metrics.nodepools_cost_tracker_errors_total.labels(nodepool=node.pool.name).inc()
    refresh(metrics.nodepools_cost_total, costs)
    uses = {
        (view.pool.name, reason): budget_use(view.pool, reason, views=nodes, now=now)
        for view in pools
        for reason in REASONS
    }
    refresh(metrics.nodepools_allowed_disruptions, {key: max(0, limit - used) for key, (limit, used) in uses.items()})
    refresh(metrics.nodepools_nodes_consuming_budgets, {key: used for key, (_, used) in uses.items()})
