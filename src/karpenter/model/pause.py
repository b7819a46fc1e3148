"""The pause switch: what people asked us to leave alone for now, kept in a ConfigMap of the cluster.

Its keys are `cluster`, for everything, and `pool.NAME`; its values say how much is paused. Source: issue 6, point 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from karpenter.model.units import PoolKey

Level = Literal["disruption", "everything"]
"""`disruption`: no node is taken by choice, but drains that people asked for go on. `everything`: nothing is launched,
drained or taken, whoever asked for it."""

CONFIG_MAP: Final = "karpenter-pause"
CLUSTER: Final = "cluster"
POOL_PREFIX: Final = "pool."


@dataclass(frozen=True, slots=True)
class Pauses:
    """What is paused."""

    cluster: Level | None = None
    """None while the cluster as a whole is not paused."""
    pools: Mapping[str, Level] = field(default_factory=dict)
    """By name; a pause holds for every pool of that name, of whatever kind."""

    def of(self, pool: PoolKey | None) -> Level | None:
        """Return how much is paused for a pool's nodes, or for those of no pool; None for nothing."""
        levels = {self.cluster, self.pools.get(pool.name) if pool else None}
        return "everything" if "everything" in levels else "disruption" if "disruption" in levels else None

    def stops_disruption(self, pool: PoolKey | None) -> bool:
        """Return whether nodes of the pool are not to be taken by choice."""
        return self.of(pool) is not None

    def stops_everything(self, pool: PoolKey | None) -> bool:
        """Return whether nothing at all is to be done for the pool."""
        return self.of(pool) == "everything"


NOTHING: Final = Pauses()


def read_pauses(data: Mapping[str, str]) -> Pauses:
    """Return what a ConfigMap's data says. A value that nobody knows pauses everything: doubt blocks."""
    levels: dict[str, Level] = {key: _level(text) for key, text in data.items()}
    pools = {key.removeprefix(POOL_PREFIX): level for key, level in levels.items() if key.startswith(POOL_PREFIX)}
    return Pauses(levels.get(CLUSTER), pools)


def _level(text: str) -> Level:
    return "disruption" if text.strip() == "disruption" else "everything"
