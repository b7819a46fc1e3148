"""Reading disruption budgets, of a v1 NodePool and of the annotation that gives a Provisioner some.

Source: spec v1 §1.3, §1.4.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from karpenter.model.cron import MACROS
from karpenter.model.durations import parse_budget_duration
from karpenter.model.nodepool import Budget
from karpenter.model.reading import Reader

REASONS: Final = ("Underutilized", "Empty", "Drifted")
MOST: Final = 50
_NODES: Final = re.compile(r"(?:100|[0-9]{1,2})%|[0-9]+")
_CRON: Final = re.compile(r"[^\s=]+(?: [^\s=]+){4}")


def read_budgets(reader: Reader, name: str, *, reasons: Collection[str] = REASONS) -> tuple[Budget, ...]:
    """Return the budgets of a list; whether a cron line makes sense is seen when it is used."""
    parts = reader.parts(name)
    if len(parts) > MOST:
        reader.fail(name, f"has {len(parts)} budgets", f"at most {MOST}")
    return tuple(_read_budget(part, reasons) for part in parts)


def _read_budget(part: Reader, reasons: Collection[str]) -> Budget:
    nodes = part.string("nodes") or "10%"
    if not _NODES.fullmatch(nodes):
        part.fail("nodes", f"{nodes!r} is no number of nodes", "a percentage from 0% to 100%, or a count such as 5")
    given = part.strings("reasons")
    for index, reason in enumerate(given):
        if reason not in reasons:
            part.fail(f"reasons[{index}]", f"{reason!r} is not supported", f"one of {', '.join(reasons)}")
    schedule = part.text("schedule")
    if schedule is not None and schedule not in MACROS and not _CRON.fullmatch(schedule):
        part.fail("schedule", f"{schedule!r} is no cron line", 'five fields in UTC such as "0 9 * * 1-5", or @daily')
    duration = part.parsed("duration", parse_budget_duration, default=None)
    if part.has("schedule") != part.has("duration"):
        part.fail("", "schedule and duration must be given together", "add the one that is missing")
    return Budget(
        nodes=nodes, reasons=frozenset(given) if part.has("reasons") else None, schedule=schedule, duration_s=duration
    )
