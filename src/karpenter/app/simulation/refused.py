"""Pods that found no place: what they lack and what would help, as data and as rows for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from karpenter.model.units import PoolKey
from karpenter.scheduling.remedies import Change, Refusal, Remedy
from karpenter.scheduling.solution import Reason

_SHOWN_PODS = 3
_SHOWN_GROUPS = 20
_SHOWN_POOLS = 8
_SHOWN_PLACES = 3


# --- data -------------------------------------------------------------------------------------------------------------


def refusal_data(refusal: Refusal) -> dict[str, Any]:
    """Return one group in the form of `-o json`."""
    return {
        "count": len(refusal.pods),
        "pods": [str(pod.metadata.key) for pod in refusal.pods],
        "example": str(refusal.example.metadata.key),
        "reasons": [{**reason_data(reason), "misses": _misses(reason)} for reason in refusal.reasons],
        "fix": None if refusal.remedy is None else _fix_data(refusal.remedy),
        "searched": refusal.is_searched,
    }


def reason_data(reason: Reason) -> dict[str, Any]:
    """Return one reason in the form of `-o json`."""
    return {
        "pool": None if reason.pool is None else pool_data(reason.pool),
        "layer": reason.layer,
        "code": reason.code,
        "message": reason.message,
    }


def pool_data(key: PoolKey) -> dict[str, str]:
    """Return a pool's kind and name in the form of `-o json`."""
    return {"kind": key.kind, "name": key.name}


def _misses(reason: Reason) -> list[dict[str, str]]:
    return [{"code": miss.code, "subject": miss.subject, "message": miss.message} for miss in reason.misses]


def _fix_data(remedy: Remedy) -> dict[str, Any]:
    return {
        "message": remedy.message,
        "changes": [_change_data(change) for change in remedy.changes],
        "placed": remedy.placed,
        "existingNodes": list(remedy.nodes),
        "newNodes": dict(remedy.machines),
        "pricePerHour": round(float(remedy.price), 6),
    }


def _change_data(change: Change) -> dict[str, Any]:
    return {
        "target": change.target,
        "pool": None if change.pool is None else pool_data(change.pool),
        "code": change.code,
        "subject": change.subject,
        "before": change.before,
        "after": change.after,
        "message": change.message,
    }


# --- rows -------------------------------------------------------------------------------------------------------------


def refusals_table(refusals: Sequence[Refusal]) -> Table:
    """Return a block for each group: which pods, why, pool by pool, and what would help."""
    table = Table(
        title="No place found", title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False
    )
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for refusal in refusals[:_SHOWN_GROUPS]:
        table.add_row(Text(str(len(refusal.pods)), style="bold"), Text(_named(refusal), style="bold"))
        for line in _lines(refusal):
            table.add_row("", line)
    if len(refusals) > _SHOWN_GROUPS:
        rest = refusals[_SHOWN_GROUPS:]
        count = sum(len(refusal.pods) for refusal in rest)
        table.add_row(str(count), f"more pods for {len(rest)} other reasons; -o json lists them all")
    return table


def _named(refusal: Refusal) -> str:
    names = [str(pod.metadata.key) for pod in refusal.pods]
    more = f" and {len(names) - _SHOWN_PODS} more" if len(names) > _SHOWN_PODS else ""
    return ", ".join(names[:_SHOWN_PODS]) + more


def _lines(refusal: Refusal) -> Iterator[Text]:
    if not refusal.is_uniform:
        yield Text(f"most of all {refusal.example.metadata.key}:")
    for reason in refusal.reasons[:_SHOWN_POOLS]:
        yield Text(f"{reason.pool}: {reason.message}" if reason.pool else reason.message)
    if len(refusal.reasons) > _SHOWN_POOLS:
        yield Text(f"and {len(refusal.reasons) - _SHOWN_POOLS} more pools; -o json lists them all")
    if refusal.remedy is not None:
        yield Text(f"fix: {refusal.remedy.message}", style="green")
        yield Text(f"     then {outcome(refusal.remedy, len(refusal.pods))}", style="green")
    elif refusal.is_searched:
        yield Text("no change of one or two things was found that would help")


def outcome(remedy: Remedy, pods: int) -> str:
    """Return what a remedy achieves for so many pods, in words."""
    who = "it fits" if pods == 1 else f"all {pods} fit" if remedy.placed == pods else f"{remedy.placed} of {pods} fit"
    count = sum(number for _, number in remedy.machines)
    named = ", ".join(f"{number} {kind}" for kind, number in remedy.machines[:_SHOWN_PLACES])
    named += f" and {len(remedy.machines) - _SHOWN_PLACES} other types" if len(remedy.machines) > _SHOWN_PLACES else ""
    places = [f"{count} new node{'' if count == 1 else 's'} ({named}), ${remedy.price:.4f} an hour"] if count else []
    if len(remedy.nodes) > _SHOWN_PLACES:
        places.append(f"{len(remedy.nodes)} nodes of the plan or there already")
    elif remedy.nodes:
        places.append(", ".join(remedy.nodes))
    return f"{who} on {' and '.join(places)}"
