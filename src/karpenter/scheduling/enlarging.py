"""Larger types for machines that are planned already: where one copy more adds least.

Source: spec v1alpha5 SCH-24, SCH-26.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from karpenter.scheduling.bins import Bins
from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.items import Item
from karpenter.scheduling.limits import Budget
from karpenter.scheduling.machines import Machines
from karpenter.scheduling.rules import NodeRule

_MOST_ENLARGED: Final = 128
"""Planned machines that are looked at for a larger type."""


@dataclass(frozen=True, slots=True)
class Enlargement:
    """A planned machine, the type that holds one copy more, and what that adds in USD per hour."""

    row: int
    column: int
    price: float


@dataclass(frozen=True, slots=True)
class _Successors:
    """What may take the place of machines of one column under the limits."""

    columns: Ints
    most: Floats
    """The largest amount of each resource on any of them (R)."""


class Enlarger:
    """Answers for the machines of one solve; answers are kept for as long as machine and limits stay the same."""

    def __init__(self, bins: Bins, machines: Machines, budget: Budget) -> None:
        self._bins = bins
        self._machines = machines
        self._budget = budget
        self._left = b""
        """What limits left when the answers were given."""
        self._successors: dict[int, _Successors] = {}
        self._answers: dict[tuple[NodeRule, bytes], dict[int, tuple[int, Enlargement]]] = {}
        """By what a copy asks for, and by row: the version of the bin, and the answer."""

    def cheapest(self, item: Item, rows: Ints) -> Enlargement | None:
        """Return where a copy adds least among these opened machines, which welcome it; None where none can hold it."""
        self._forget()
        answers = self._answers.setdefault((item.rule, item.request.tobytes()), {})
        best: Enlargement | None = None
        for row in self._roomy(item, rows)[:_MOST_ENLARGED].tolist():
            version = self._bins.version[row]
            known = answers.get(row)
            if known is None or known[0] != version:
                known = answers[row] = version, self._enlarged(row, item)
            if known[1].price < (np.inf if best is None else best.price):
                best = known[1]
        return best

    def _forget(self) -> None:
        left = self._budget.left.tobytes()
        if left != self._left:
            self._left = left
            self._successors.clear()
            self._answers.clear()

    def _roomy(self, item: Item, rows: Ints) -> Ints:
        """Return the machines of which some successor has enough of every single resource: the others need no look."""
        if not len(rows):
            return rows
        columns = self._bins.column[rows]
        distinct, at = np.unique(columns, return_inverse=True)
        most = np.stack([self._succeeding(column).most for column in distinct.tolist()])
        load = self._bins.columns.room[columns] - self._bins.room[rows]
        return rows[(load + item.request <= most[at]).all(axis=1)]

    def _succeeding(self, column: int) -> _Successors:
        found = self._successors.get(column)
        if found is None:
            tier = self._machines.tier
            columns = np.flatnonzero(self._budget.affords_instead(column) & (tier == tier[column]))
            most = self._bins.columns.room[columns].max(axis=0)
            found = self._successors[column] = _Successors(columns, most)
        return found

    def _enlarged(self, row: int, item: Item) -> Enlargement:
        """Return the cheapest type that holds one copy more; infinitely dear without one."""
        now, rules = int(self._bins.column[row]), self._bins.rules(row)
        may = self._succeeding(now).columns
        holds = (self._bins.columns.room[may] >= self._bins.load(row) + item.request).all(axis=1)
        may = may[holds & self._machines.sized(self._bins, row, item)[may]]
        price = self._machines.together(rules | {item.rule})[1][may]
        if not np.isfinite(price).any():
            return Enlargement(row, now, float("inf"))
        at = int(price.argmin())
        return Enlargement(row, int(may[at]), float(price[at] - self._machines.together(rules)[1][now]))
