"""Which instance types of a pool hold an amount of pods, its daemons taken off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karpenter.model import labels
from karpenter.model.requirements import Requirements
from karpenter.model.resources import Resources
from karpenter.scheduling.catalog import Bools, Floats
from karpenter.scheduling.daemons import Daemon, load_of
from karpenter.scheduling.lanes import Lane


@dataclass(frozen=True, slots=True)
class Holding:
    """Answers for the types of one lane (T types)."""

    lane: Lane
    daemons: Sequence[Daemon]
    well_known: frozenset[str]

    def room(self, resource: str) -> Floats:
        """Return what is left for pods of one resource on each type (T)."""
        load = load_of(self.lane, self.daemons, well_known=self.well_known)
        return self.lane.table.allocatable(resource) - load.amounts([resource])[:, 0]

    def holds(self, requests: Resources) -> Bools:
        """Return which types hold these requests beside their daemons (T)."""
        found = load_of(self.lane, self.daemons, well_known=self.well_known).fits.copy()
        for resource, amount in requests.items():
            found &= self.room(resource) >= amount
        return found


def places(lane: Lane, wanted: Requirements) -> Bools:
    """Return the zones and capacity types of the lane's table that requirements allow (Z×K)."""
    zones, kinds = wanted.allowed(labels.ZONE), wanted.allowed(labels.CAPACITY_TYPE)
    table = lane.table
    zone = np.array([zones.allows(name) for name in table.zones], dtype=np.bool_)
    kind = np.array([kinds.allows(name) for name in table.capacity_types], dtype=np.bool_)
    return zone[:, None] & kind
