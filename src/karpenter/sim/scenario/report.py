"""The figures of a scenario that was played. Pure."""

from __future__ import annotations

from typing import Any, Final

from karpenter.model.units import UnixSeconds
from karpenter.sim.scenario.ledger import VOLUNTARY, Account

_DIGITS: Final = 4


def report_of(account: Account, *, now: UnixSeconds, lasted_s: float) -> dict[str, Any]:
    """Return the report as plain data: what `karpenter scenario -o json` prints.

    `pendingSeconds` counts pods that still wait with the time they have waited so far.
    """
    waits = sorted([*account.waits_s, *(now - since for since in account.waiting.values())])
    return {
        "hours": round(lasted_s / 3600, 2),
        "dollarHours": round(account.dollar_hours, _DIGITS),
        "averagePricePerHour": round(account.dollar_hours / (lasted_s / 3600), _DIGITS) if lasted_s else 0.0,
        "nodes": {
            "average": round(account.node_hours / (lasted_s / 3600), 2) if lasted_s else 0.0,
            "most": account.most_nodes,
            "launched": account.launches,
        },
        "pendingSeconds": {
            "pods": len(waits),
            "total": round(sum(waits), 1),
            "median": round(_quantile(waits, 0.5), 1),
            "p95": round(_quantile(waits, 0.95), 1),
            "longest": round(waits[-1], 1) if waits else 0.0,
            "stillWaiting": len(account.waiting),
        },
        "evictions": {"total": account.evictions.total(), "byReason": dict(sorted(account.evictions.items()))},
        "moves": account.evictions[VOLUNTARY],
        "budgetMargins": {str(key): margin for key, margin in sorted(account.margins.items())},
        "budgetsBroken": sum(margin < 0 for margin in account.margins.values()),
    }


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
