"""Volumes that several pods use: attached to a node with the first of them, and there until the last is gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from karpenter.scheduling.catalog import ATTACHED, Floats
from karpenter.scheduling.items import Item
from karpenter.scheduling.stores import Stores
from karpenter.scheduling.volumes import Attachment

_BOUND: Final = 1 << 30
"""Stands for the bound pods that use a volume: more than will ever be taken away."""


@dataclass(slots=True)
class SharedVolumes:
    """Which shared volumes are where, and what the next one attached takes of a bin (R)."""

    resources: Sequence[str]
    _users: dict[Attachment, Counter[int]] = field(default_factory=dict)
    """How many pods use a volume, by row."""

    @classmethod
    def of(cls, stores: Stores, resources: Sequence[str]) -> SharedVolumes:
        """Return the volumes that are on nodes already."""
        users: dict[Attachment, Counter[int]] = {}
        for row, present in enumerate(stores.attached):
            for volume in present:
                users.setdefault(volume, Counter())[row] = _BOUND
        return cls(resources, users)

    def charges(self, item: Item, rows: slice) -> Floats:
        """Return what the first copy of an item takes of each row beside its request (rows×R)."""
        charges = np.zeros((rows.stop - rows.start, len(self.resources)))
        for volume in item.cls.shared:
            at = self._at(volume)
            charges[:, at] += 1
            for row, users in self._users.get(volume, {}).items():
                if users and rows.start <= row < rows.stop:
                    charges[row - rows.start, at] -= 1
        return charges

    def put(self, row: int, item: Item, count: int) -> Floats:
        """Count copies put into a row (taken out, if negative) and return what they take of it beside requests (R)."""
        charge = np.zeros(len(self.resources))
        for volume in item.cls.shared:
            users = self._users.setdefault(volume, Counter())
            before, users[row] = users[row], users[row] + count
            charge[self._at(volume)] += (users[row] > 0) - (before > 0)
        return charge

    def _at(self, volume: Attachment) -> int:
        return self.resources.index(ATTACHED + volume[0])
