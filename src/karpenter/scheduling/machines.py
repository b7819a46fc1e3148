"""Which type an opened machine gets: the cheapest that holds its load.

Source: spec v1alpha5 SCH-24, SCH-26.
"""

from __future__ import annotations

import numpy as np

from karpenter.scheduling.bins import Bins
from karpenter.scheduling.catalog import Bools, Floats
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.items import Item
from karpenter.scheduling.limits import Budget
from karpenter.scheduling.rails.size import Sizes, cores_of
from karpenter.scheduling.rules import NodeRule


class Machines:
    """Answers for loads under sets of rules; equal questions are asked often, so answers are kept."""

    def __init__(self, columns: Columns, budget: Budget, sizes: Sizes) -> None:
        self._columns = columns
        self._budget = budget
        self._sizes = sizes
        self.tier = np.array([lane.tier for lane in columns.lanes], dtype=np.int64)[columns.lane]
        """Position of the weight of each column's pool, the heaviest first (N)."""
        self.cores = cores_of(columns)
        """vCPU of each column (N)."""
        self._joint: dict[frozenset[NodeRule], tuple[Bools, Floats]] = {}
        self._settled: dict[int, int] = {}
        """Bins that are of the cheapest type already, as of which version of them."""
        self._resized: dict[tuple[bytes, frozenset[NodeRule], int, int], int] = {}

    def resize(self, bins: Bins) -> None:
        """Give every opened machine the cheapest type that holds its load, within its pool's weight and the limits."""
        for row in bins.opened():
            if self._settled.get(row) == bins.version[row]:
                continue
            now = int(bins.column[row])
            load, rules, sizes = bins.load(row), bins.rules(row), self.sized(bins, row)
            key = load.tobytes(), rules, now, id(sizes)
            if key not in self._resized:
                self._resized[key] = self._cheapest(load, rules, now, sizes=sizes)
            better = self._resized[key]
            if better == now:
                self._settled[row] = bins.version[row]
            elif self._budget.affords_instead(now)[better]:
                self._budget.take(now, -1)
                self._budget.take(better)
                self.retype(bins, row, better)

    def retype(self, bins: Bins, row: int, column: int) -> None:
        """Make an opened machine one of another column."""
        bins.retype(row, column, self.together(bins.rules(row))[0][column])

    def together(self, rules: frozenset[NodeRule]) -> tuple[Bools, Floats]:
        """Return where pods of all rules may be together (N×Z×K), and the least price there, by speed (N)."""
        found = self._joint.get(rules)
        if found is None:
            joint = np.isfinite(self._columns.price)
            for rule in rules:
                joint = joint & self._columns.row(rule)
            if self._columns.peers and not self._columns.nested(frozenset(map(self._columns.code, rules))):
                joint[list(self._columns.peers)] = False
            least = np.where(joint, self._columns.price, np.inf).min(axis=(1, 2))
            found = self._joint[rules] = joint, least * self._columns.slowness
        return found

    def sized(self, bins: Bins, row: int, *more: Item) -> Bools:
        """Return the columns that an opened machine may be of for the size of what is on it, and of one copy more."""
        if self._sizes.is_off:
            return self._sizes.plain
        return self._sizes.together((*(share.item for share in bins.shares[row]), *more))

    def _cheapest(self, load: Floats, rules: frozenset[NodeRule], now: int, *, sizes: Bools) -> int:
        price = self.together(rules)[1]
        holds = (self._columns.room >= load).all(axis=1) & (self.tier == self.tier[now]) & sizes
        best = int(np.where(holds, price, np.inf).argmin())
        # Where nothing may hold the load (the rails on size let the machine be as an exception), `best` is any column.
        return best if holds[best] and price[best] < price[now] else now
