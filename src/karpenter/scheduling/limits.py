"""Pool limits, kept exactly while a batch is planned: the capacity of every planned machine counts at once.

Capacity reservations are counted in the same way (S-52).
Source: spec v1alpha5 SCH-26; spec v1 S-48, S-49 (with `nodes` counted within the batch, which upstream does not).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from karpenter.model.resources import NODES
from karpenter.model.units import PoolKey
from karpenter.scheduling.catalog import Bools, Floats
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.reservations import AMOUNT
from karpenter.scheduling.snapshot import PoolView


@dataclass(slots=True)
class Budget:
    """What limits leave: Q amounts, one for each limited resource of each pool that can launch."""

    names: tuple[tuple[PoolKey | None, str], ...]
    """Pool and resource of each amount; without a pool it is a limit of this solve, or what a reservation holds (Q)."""
    charge: Floats
    """What one machine of each column takes of each amount at most, if minValues keep others open (N×Q)."""
    size: Floats
    """What one of just this column takes of each amount (N×Q)."""
    left: Floats
    """What is left of each amount (Q); never below zero through our own doing."""
    version: int = 0
    """Rises whenever something is taken or given back."""
    _affords: Bools | None = None

    def affords(self) -> Bools:
        """Return which columns still fit under all limits of their pools (N)."""
        if self._affords is None:
            self._affords = np.all((self.charge <= self.left) | (self.charge == 0), axis=1)
        return self._affords

    def affords_instead(self, column: int) -> Bools:
        """Return which columns may take the place of a machine of this column (N)."""
        more = self.charge - self.charge[column]
        paid: Bools = np.all((more <= self.left) | (more <= 0), axis=1)
        return paid

    def take(self, column: int, times: int = 1) -> None:
        """Count machines of a column; a negative number gives them back."""
        self.left -= times * self.charge[column]
        self.version += 1
        self._affords = None

    def spare(self, column: int, machines: int) -> Floats:
        """Return how much more than this column each of `machines` may take if the cloud picks another type (Q)."""
        if not len(self.left):
            return self.left
        return np.asarray(self.charge[column] + np.maximum(self.left, 0) / max(machines, 1))


def budget_of(columns: Columns, *, max_nodes: int | None = None) -> Budget:
    """Return the budget before anything is planned: limits less what the pools use already.

    `max_nodes` is one more limit, on the new nodes of all pools together.
    """
    views: dict[PoolKey, PoolView] = {lane.view.pool.key: lane.view for lane in columns.lanes}
    limits = [(key, resource) for key, view in views.items() for resource in sorted(view.pool.limits)]
    left = [views[key].pool.limits[resource] - views[key].usage.get(resource, 0) for key, resource in limits]
    size = np.zeros((len(columns), len(limits)))
    for at, lane in enumerate(columns.lanes):
        mine = np.flatnonzero(columns.lane == at)
        for q, (key, resource) in enumerate(limits):
            if key == lane.view.pool.key:
                size[mine, q] = 1 if resource == NODES else lane.table.capacity(resource)[columns.kind[mine]]
    names: list[tuple[PoolKey | None, str]] = [*limits]
    for identity, count in _reserved(columns).items():
        names.append((None, f"{AMOUNT}{identity}"))
        left.append(count)
        holds = np.array([lane.reservation == identity for lane in columns.lanes], dtype=np.float64)
        size = np.column_stack((size, holds[columns.lane]))
    if max_nodes is not None:
        names.append((None, NODES))
        left.append(max_nodes)
        size = np.column_stack((size, np.ones(len(columns))))
    charge = size.copy()
    for column, peers in columns.peers.items():
        charge[column] = size[peers].max(axis=0, initial=0.0)
    return Budget(tuple(names), charge, size, np.array(left, dtype=np.float64))


def _reserved(columns: Columns) -> dict[str, int]:
    """Return what each capacity reservation holds: the least that any pool knows of (S-52)."""
    counts: dict[str, int] = {}
    for lane in columns.lanes:
        if lane.reservation is not None:
            counts[lane.reservation] = min(lane.reserved_count, counts.get(lane.reservation, lane.reserved_count))
    return dict(sorted(counts.items()))
