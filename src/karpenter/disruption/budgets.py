"""How many nodes of a pool may be disrupted now. Pure.

Source: spec v1 §3.4 (B-5 … B-8), cases BUDGET.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import get_args

from cronsim import CronSim, CronSimError

from karpenter.disruption.records import CommandRecord, record_on
from karpenter.model import labels
from karpenter.model.cron import MACROS
from karpenter.model.meta import find_condition
from karpenter.model.nodeclaim import INSTANCE_TERMINATING
from karpenter.model.nodepool import Budget, DisruptionReason, NodePool
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.snapshot import NodeView


def allowance(pool: NodePool, reason: str, *, views: Iterable[NodeView], now: UnixSeconds) -> int:
    """Return how many more nodes of the pool may be disrupted for `reason` at this moment.

    The strictest active budget counts, less the nodes that are leaving or not ready already (B-5).
    """
    limit, used = budget_use(pool, reason, views=views, now=now)
    return max(0, limit - used)


def budget_use(pool: NodePool, reason: str, *, views: Iterable[NodeView], now: UnixSeconds) -> tuple[int, int]:
    """Return how many nodes of the pool may be gone at once for `reason`, and how many are.

    Shares are of the initialized nodes without those whose instance is ending already (B-5). Case EXPIRE-HERD asks for
    two more things: those use the budget up until their node is gone, and a replacement does not make the pool larger
    while the node that it replaces is still there. So never more are being deleted than the budget says.
    """
    ours = [view for view in views if view.pool == pool.key and view.is_initialized]
    leaving = {record.id for view in ours if view.is_deleting and (record := _record(view)) is not None}
    size = sum(1 for view in ours if not _is_terminating(view) and _replaces(view) not in leaving)
    used = sum(1 for view in ours if view.is_deleting or not _is_ready(view))
    return allowed_disruptions(pool.disruption.budgets, reason, nodes=size, now=now), used


def closed_reasons(pool: NodePool, *, views: Iterable[NodeView], now: UnixSeconds) -> tuple[str, ...]:
    """Return the reasons for which the pool's budgets let no node go at this moment, though it has some (B-8)."""
    nodes = tuple(views)
    has_some = any(view.pool == pool.key and view.is_initialized for view in nodes)
    if not has_some:
        return ()
    return tuple(each for each in get_args(DisruptionReason) if budget_use(pool, each, views=nodes, now=now)[0] == 0)


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
    schedule = MACROS.get(budget.schedule, budget.schedule)
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


def _record(view: NodeView) -> CommandRecord | None:
    return record_on(view.claim) if view.claim is not None else None


def _replaces(view: NodeView) -> str | None:
    return view.claim.metadata.annotations.get(labels.REPLACEMENT_FOR) if view.claim is not None else None
