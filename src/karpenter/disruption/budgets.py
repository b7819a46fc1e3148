"""How many nodes of a pool may be disrupted now. Pure.

Source: spec v1 §3.4 (B-5 … B-8), cases BUDGET.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from karpenter.model.meta import find_condition
from karpenter.model.nodeclaim import INSTANCE_TERMINATING
from karpenter.model.nodepool import Budget, NodePool
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.snapshot import NodeView

_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def allowance(pool: NodePool, reason: str, *, views: Iterable[NodeView], now: UnixSeconds) -> int:
    """Return how many more nodes of the pool may be disrupted for `reason` at this moment.

    The strictest active budget counts, less the nodes that are leaving or not ready already (B-5).
    """
    counted = [view for view in views if view.pool == pool.key and view.is_initialized and not _is_terminating(view)]
    consuming = sum(1 for view in counted if view.is_deleting or not _is_ready(view))
    limit = allowed_disruptions(pool.disruption.budgets, reason, nodes=len(counted), now=now)
    return max(0, limit - consuming)


def allowed_disruptions(budgets: Sequence[Budget], reason: str, *, nodes: int, now: UnixSeconds) -> int:
    """Return the strictest active budget for a reason, as a count; percentages round up, so 10% of 5 nodes is 1.

    A budget without reasons covers all; no active budget means no limit, and `nodes` is returned. One that cannot be
    read counts as 0: doubt blocks.
    """
    speaking = [b for b in budgets if (b.reasons is None or reason in b.reasons) and is_active(b, now)]
    return min((_count(budget, nodes) for budget in speaking), default=nodes)


def is_active(budget: Budget, now: UnixSeconds) -> bool:
    """Return whether the budget's window is open: start ≤ now < start + duration, in UTC (B-7)."""
    if budget.schedule is None or budget.duration_s is None:
        return True
    moment = datetime.fromtimestamp(now, tz=UTC)
    schedule = _MACROS.get(budget.schedule, budget.schedule)
    try:
        first = next(CronSim(schedule, moment - timedelta(seconds=budget.duration_s)))
    except (CronSimError, StopIteration):
        # An unreadable window might be open: the budget is applied.
        return True
    return first <= moment


def _count(budget: Budget, nodes: int) -> int:
    text = budget.nodes.strip()
    try:
        if text.endswith("%"):
            return math.ceil(nodes * float(text[:-1]) / 100)
        return int(text)
    except ValueError:
        return 0


def _is_terminating(view: NodeView) -> bool:
    return view.claim is not None and view.claim.is_true(INSTANCE_TERMINATING)


def _is_ready(view: NodeView) -> bool:
    # A dump without conditions says nothing against its nodes.
    ready = find_condition(view.node.status.conditions, "Ready") if view.node else None
    return ready is None or ready.is_true
