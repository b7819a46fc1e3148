"""What was moved lately, as far as it bears on what may be moved now. Pure.

It is read from what the operator remembers in the cluster (see `ledger`), and handed to decisions with their options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from karpenter.model.units import PoolKey, UnixSeconds


@dataclass(frozen=True, slots=True)
class PastMove:
    """Pods of one pool that a command of consolidation moved, or is moving."""

    at: UnixSeconds
    pool: PoolKey
    pods: int
    singletons: frozenset[str] = frozenset()
    """Workloads (uids) of one replica that were among them."""


@dataclass(frozen=True, slots=True)
class Past:
    """What consolidation did, newest last."""

    moves: tuple[PastMove, ...] = ()
    rests_until: UnixSeconds | None = None
    """Until when no node is moved for its price, because commands did not save what they promised; None to go on."""
    cheaper_since: Mapping[str, UnixSeconds] = field(default_factory=dict)
    """Since when each spot node, by name, could be swapped for one that is cheaper by enough."""
