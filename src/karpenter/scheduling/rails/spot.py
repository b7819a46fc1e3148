"""The spot share: machines of one type in one zone are interrupted together, so a pool has only so many of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from karpenter.model import labels
from karpenter.model.units import PoolKey
from karpenter.scheduling.policy import FlexibilityRails
from karpenter.scheduling.snapshot import NodeView

Deck: TypeAlias = tuple[PoolKey, str, str]
"""Pool, instance type, zone: what is interrupted together."""


@dataclass(slots=True)
class SpotShares:
    """How many spot machines each pool has of each type in each zone."""

    rails: FlexibilityRails
    _decks: Counter[Deck] = field(default_factory=Counter)
    _nodes: Counter[PoolKey] = field(default_factory=Counter)
    """Spot machines of each pool, planned ones included."""

    @classmethod
    def of(cls, rails: FlexibilityRails, views: Iterable[NodeView], planned: Iterable[PoolKey]) -> SpotShares:
        """Return the shares before any of the `planned` machines (a pool each) has its type."""
        shares = cls(rails)
        for view in views:
            if view.pool is not None and view.capacity_type == labels.SPOT:
                shares._nodes[view.pool] += 1
                if view.instance_type is not None and view.zone is not None:
                    shares._decks[view.pool, view.instance_type, view.zone] += 1
        shares._nodes.update(planned)
        return shares

    def exhausted(self, pool: PoolKey, zone: str) -> frozenset[str]:
        """Return the types of which the pool may have no machine more in a zone; none while it is small."""
        nodes = self._nodes[pool]
        if nodes < self.rails.spot_share_from:
            return frozenset()
        most = max(1, int(self.rails.spot_share * nodes))
        return frozenset(kind for (of, kind, where), count in self._decks.items()
                         if (of, where) == (pool, zone) and count >= most)  # fmt: skip

    def add(self, pool: PoolKey, instance_type: str, zone: str) -> None:
        """Count a planned machine."""
        self._decks[pool, instance_type, zone] += 1
