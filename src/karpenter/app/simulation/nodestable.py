"""Where pods would go: new nodes one by one, or by kind when there are many, and the room on nodes there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from karpenter.app.simulation.columns import table
from karpenter.model.resources import CPU, MEMORY, format_amount
from karpenter.scheduling.amounts import shown
from karpenter.scheduling.solution import ClaimPlan

_MOST_ROWS: Final = 40
"""More new nodes than this are shown by kind, more existing ones as a sum."""
_DROPPED_FIRST: Final = ("TYPES", "MEMORY", "CPU", "CAPACITY", "POOL")
_NUMBERS: Final = ("NODES", "$/H", "PODS", "CPU", "MEMORY", "TYPES")


def new_nodes(plans: Sequence[ClaimPlan], console: Console) -> Table:
    """Return the machines to launch: what the console is too narrow for is left out, the least needed first."""
    if len(plans) <= _MOST_ROWS:
        return _fitting("New nodes", [_row(plan) for plan in plans], console)
    kinds = groupby(sorted(plans, key=_kind), key=_kind)
    rows = [_kind_row(list(group)) for _, group in kinds]
    rows.sort(key=lambda row: (-float(row["$/H"]), row["TYPE"], row["ZONE"], row["CAPACITY"]))
    shown_rows, rest = rows[:_MOST_ROWS], rows[_MOST_ROWS:]
    made = _fitting("New nodes by kind", shown_rows, console)
    if rest:
        nodes = sum(int(row["NODES"]) for row in rest)
        made.caption = f"and {nodes} nodes of {len(rest)} more kinds; -o json lists them all"
        made.caption_justify = "left"
    return made


def reused_nodes(counts: Counter[str]) -> Table:
    """Return how many pods go to which nodes that are there."""
    made = table("Room on nodes there are", "NODE", "PODS", right=("PODS",))
    names = sorted(counts)
    for name in names[:_MOST_ROWS]:
        made.add_row(name, str(counts[name]))
    if len(names) > _MOST_ROWS:
        rest = names[_MOST_ROWS:]
        made.add_row(f"and {len(rest)} more nodes", str(sum(counts[name] for name in rest)))
    return made


def _row(plan: ClaimPlan) -> dict[str, str]:
    return {
        "NAME": plan.name,
        "POOL": str(plan.pool),
        "TYPE": plan.instance_type,
        "ZONE": plan.zone,
        "CAPACITY": plan.capacity_type,
        "$/H": f"{plan.price:.4f}",
        "PODS": str(len(plan.pods)),
        "CPU": format_amount(CPU, plan.requests.get(CPU, 0)),
        "MEMORY": format_amount(MEMORY, plan.requests.get(MEMORY, 0)),
        "TYPES": str(len(plan.instance_types)),
    }


def _kind(plan: ClaimPlan) -> tuple[str, str, str, str]:
    return str(plan.pool), plan.instance_type, plan.zone, plan.capacity_type


def _kind_row(plans: Sequence[ClaimPlan]) -> dict[str, str]:
    pool, kind, zone, capacity_type = _kind(plans[0])
    return {
        "NODES": str(len(plans)),
        "POOL": pool,
        "TYPE": kind,
        "ZONE": zone,
        "CAPACITY": capacity_type,
        "$/H": f"{sum(plan.price for plan in plans):.4f}",
        "PODS": str(sum(len(plan.pods) for plan in plans)),
        "CPU": shown(CPU, sum(plan.requests.get(CPU, 0) for plan in plans)),
        "MEMORY": shown(MEMORY, sum(plan.requests.get(MEMORY, 0) for plan in plans)),
    }


def _fitting(title: str, rows: Sequence[Mapping[str, str]], console: Console) -> Table:
    """Return the rows as a table that no cell has to be folded for, if that can be had."""
    columns = list(rows[0])
    made = _with(title, rows, columns)
    for column in (name for name in _DROPPED_FIRST if name in columns):
        if Measurement.get(console, console.options.update(width=10_000), made).maximum <= console.width:
            break
        columns.remove(column)
        made = _with(title, rows, columns)
    return made


def _with(title: str, rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> Table:
    made = table(title, *columns, right=_NUMBERS)
    for row in rows:
        made.add_row(*(row[column] for column in columns))
    return made
