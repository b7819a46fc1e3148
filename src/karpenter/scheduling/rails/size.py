"""The largest node: how much is lost with one machine, and bare metal only where nothing else will do.

A pool's machines hold at most a share of what the pool is asked for, within two fixed ends. A pod that needs more gets
the smallest size of that pool that holds it; others may use what is left there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from karpenter.model.resources import CPU
from karpenter.model.units import PoolKey
from karpenter.scheduling.catalog import Bools, Floats, Ints
from karpenter.scheduling.columns import Columns
from karpenter.scheduling.items import Item, Wait
from karpenter.scheduling.nodes import Nodes
from karpenter.scheduling.policy import Policy, SizeRails
from karpenter.scheduling.rules import NodeRule

_METAL: Final = 1e9
"""What bare metal counts on top of its vCPU: more than anything else."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Says which columns may be opened for a load."""

    columns: Columns
    rank: Floats
    """vCPU of each column, bare metal behind everything else (N)."""
    cap: Floats
    """The largest rank that its pool opens without need (N)."""
    pool: Ints
    """Position of each column's pool (N)."""
    plain: Bools
    """Columns within the cap (N)."""
    is_off: bool = field(init=False)
    """Whether every column may be opened for everybody."""
    _known: dict[tuple[NodeRule, bytes], Bools] = field(default_factory=dict)
    _masks: dict[bytes, Bools] = field(default_factory=dict)
    """Equal masks are one array, so that groups may go by identity."""

    def __post_init__(self) -> None:
        # Asked for every machine, many times over.
        object.__setattr__(self, "is_off", bool(self.plain.all()))

    def open_to(self, rule: NodeRule, load: Floats) -> Bools:
        """Return the columns that may be opened for pods of a rule that load a machine so (R): N, the same array for
        equal answers. Of every pool that could serve them there is one."""
        if self.is_off:
            return self.plain
        key = rule, load.tobytes()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._judge(self.columns.open_to(rule) & self.columns.holding(load))
        return found

    def affordable(self, item: Item, open_now: Bools) -> Bools:
        """Return the columns that may be opened for a copy while no others than these can be (N).

        When that leaves none, the rail gives way: no pod stays pending for it.
        """
        allowed = self.open_to(item.rule, item.request)
        if self.is_off:
            return allowed
        fits = self.columns.open_to(item.rule) & self.columns.holding(item.request) & open_now
        return allowed if (allowed & fits).any() else self._judge(fits)

    def together(self, items: Iterable[Item]) -> Bools:
        """Return the columns that may hold these on one machine: whoever needs most decides (N)."""
        if self.is_off:
            return self.plain
        joint = self.plain
        for mask in {id(mask): mask for item in items for mask in [self.open_to(item.rule, item.request)]}.values():
            joint = joint | mask
        return self._interned(joint)

    def _judge(self, fits: Bools) -> Bools:
        """Return the columns of at most the cap, or of the smallest rank that fits where that is larger."""
        least = np.full(int(self.pool.max(initial=-1)) + 1, np.inf)
        np.minimum.at(least, self.pool[fits], self.rank[fits])
        needed = np.where(np.isfinite(least), least, 0.0)[self.pool]
        if (needed <= self.cap).all():
            return self.plain
        return self._interned(self.rank <= np.maximum(self.cap, needed))

    def _interned(self, mask: Bools) -> Bools:
        if np.array_equal(mask, self.plain):
            return self.plain
        return self._masks.setdefault(mask.tobytes(), mask)


def sizes_of(columns: Columns, waits: Sequence[Wait], *, nodes: Nodes, room: Floats, policy: Policy) -> Sizes:
    """Return the rail for a batch; `room` is what is left on the nodes (B×R)."""
    keys = tuple(dict.fromkeys(lane.view.pool.key for lane in columns.lanes))
    of_lane = np.array([keys.index(lane.view.pool.key) for lane in columns.lanes], dtype=np.int64)
    pool = of_lane[columns.lane]
    if not policy.rails:
        everything = np.ones(len(columns), dtype=np.bool_)
        return Sizes(columns, np.zeros(len(columns)), np.full(len(columns), np.inf), pool, everything)
    used = _running(nodes, room, cpu=columns.resources.index(CPU))
    cores = _asked(columns, waits, pool) + np.array([used.get(key, 0.0) for key in keys])
    rank = cores_of(columns) + (0.0 if policy.size.metal else _METAL * _metal(columns))
    cap = _caps(cores, policy.size)[pool]
    return Sizes(columns, rank, cap, pool, rank <= cap)


def _caps(cores: Floats, rails: SizeRails) -> Floats:
    """Return the cap of each pool by the cores that it is asked for."""
    return np.asarray(np.minimum(rails.vcpu, np.maximum(rails.least_vcpu, rails.share * cores)), dtype=np.float64)


def cores_of(columns: Columns) -> Floats:
    """Return the vCPU of each column (N)."""
    cores = np.zeros(len(columns))
    for at, lane in enumerate(columns.lanes):
        mine = columns.lane == at
        cores[mine] = lane.table.capacity(CPU)[columns.kind[mine]] / 1000
    return cores


def _metal(columns: Columns) -> Bools:
    """Return which columns are bare metal (N)."""
    metal = np.zeros(len(columns), dtype=np.bool_)
    for at, lane in enumerate(columns.lanes):
        mine = columns.lane == at
        metal[mine] = lane.table.is_metal[columns.kind[mine]]
    return metal


def _running(nodes: Nodes, room: Floats, *, cpu: int) -> Mapping[PoolKey, float]:
    """Return the cores that pods and daemons take of each pool's nodes."""
    used: dict[PoolKey, float] = {}
    for view, left in zip(nodes.views, room[:, cpu].tolist(), strict=True):
        if view.pool is not None:
            taken = (view.allocatable.get(CPU, 0) - max(left, 0.0)) / 1000
            used[view.pool] = used.get(view.pool, 0.0) + taken
    return used


def _asked(columns: Columns, waits: Sequence[Wait], pool: Ints) -> Floats:
    """Return the cores that waiting pods ask of each pool: of the heaviest pools that could serve them."""
    tier = np.array([lane.tier for lane in columns.lanes], dtype=np.int64)[columns.lane]
    asked = np.zeros(int(pool.max(initial=-1)) + 1)
    cpu = columns.resources.index(CPU)
    serving: dict[tuple[NodeRule, bytes], Ints] = {}
    for wait in waits:
        rule = wait.levels[-1].rule
        key = rule, wait.request.tobytes()
        if key not in serving:
            fits = np.flatnonzero(columns.open_to(rule) & columns.holding(wait.request))
            serving[key] = np.unique(pool[fits[tier[fits] == tier[fits].min(initial=len(columns.lanes))]])
        asked[serving[key]] += wait.left * wait.request[cpu] / 1000
    return asked
