"""Places for single copies: room that is there, a larger type for a machine that is planned, or a machine of its own.

The way out for what patterns cannot express: company on one host, spreads that limits have cut short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from karpenter.scheduling.bins import Bins
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.enlarging import Enlargement, Enlarger
from karpenter.scheduling.hosts import HostRules
from karpenter.scheduling.items import Item
from karpenter.scheduling.limits import Budget
from karpenter.scheduling.machines import Machines
from karpenter.scheduling.rails.size import Sizes


@dataclass(frozen=True, slots=True)
class Grower:
    """Places copies one by one in a state of bins, under limits and host rules."""

    bins: Bins
    machines: Machines
    enlarger: Enlarger
    budget: Budget
    hosts: HostRules
    sizes: Sizes
    node_fee: float
    """USD per hour that a machine costs beside its price."""

    def insert(self, item: Item, scale: Floats) -> None:
        """Place one copy where it costs least: in free room, by a larger type, on a machine of its own."""
        for rows in (self.bins.known, self.bins.new):
            self.bins.fill(item, rows, scale)
            if not item.left:
                return
        if not item.may_launch:
            return
        larger = self._cheapest_enlargement(item)
        own = self._own_machine(item, item.request)
        if own is not None and (larger is None or self._price(own, item) + self.node_fee < larger.price):
            self._open(own, item, 1)
        elif larger is not None:
            self._enlarge(larger, item)

    def found(self, item: Item, scale: Floats) -> None:
        """Place the first of copies that all have to be on one host, together with as many others as one host takes."""
        rows = slice(0, self.bins.size)
        copies = self.bins.fitting(item, rows)
        slack = (self.bins.room * scale).sum(axis=1)
        enough = np.flatnonzero(copies >= item.left)
        if len(enough):
            self.bins.put(int(enough[slack[enough].argmin()]), item, item.left)
            return
        most = int(copies.max(initial=0))
        together = self._own_machine(item, item.left * item.request) if item.may_launch else None
        count = item.left
        if together is None and item.may_launch:
            count = self._largest_group(item)
            together = self._own_machine(item, count * item.request) if count > most else None
        if together is not None:
            self._open(together, item, count)
        elif most:
            self.bins.put(int(copies.argmax()), item, most)

    def _largest_group(self, item: Item) -> int:
        """Return the most copies that any machine holds."""
        columns = self.bins.columns
        asked = item.request > 0
        open_now = np.flatnonzero(columns.open_to(item.rule) & self.budget.affords())
        copies = np.floor(columns.room[np.ix_(open_now, asked)] / item.request[asked]).min(
            axis=1, initial=float(item.left)
        )
        return int(copies.max(initial=0))

    def _own_machine(self, item: Item, load: Floats) -> int | None:
        """Return the cheapest column of the first tier that holds the load; None when none may be opened for it."""
        columns = self.bins.columns
        fresh = self.hosts.room(item, slice(self.bins.size, self.bins.size + 1))
        if fresh is not None and fresh[0] < 1:
            return None
        open_now: Bools = columns.open_to(item.rule) & self.budget.affords() & columns.holding(load)
        if not open_now.any():
            return None
        sized = open_now & self.sizes.open_to(item.rule, load)
        open_now = sized if sized.any() else open_now
        tier = self.machines.tier
        first: Ints = np.flatnonzero(open_now & (tier == tier[open_now].min()))
        prices = np.array([self._price(int(column), item) for column in first])
        return int(first[prices.argmin()])

    def _price(self, column: int, item: Item) -> float:
        columns = self.bins.columns
        least = np.where(columns.row(item.rule)[column], columns.price[column], np.inf).min()
        return float(least * columns.slowness[column])

    def _open(self, column: int, item: Item, count: int) -> None:
        row = self.bins.open(column, np.isfinite(self.bins.columns.price[column]))
        room = self.hosts.room(item, slice(row, row + 1))
        self.budget.take(column)
        self.bins.put(row, item, count if room is None else int(min(count, room[0])))

    def _cheapest_enlargement(self, item: Item) -> Enlargement | None:
        new = self.bins.new
        room = self.hosts.room(item, new)
        rows = np.array(self.bins.opened(), dtype=np.int64)
        return self.enlarger.cheapest(item, rows if room is None else rows[room[rows - new.start] >= 1])

    def _enlarge(self, larger: Enlargement, item: Item) -> None:
        self.budget.take(int(self.bins.column[larger.row]), -1)
        self.budget.take(larger.column)
        self.machines.retype(self.bins, larger.row, larger.column)
        self.bins.put(larger.row, item, 1)
