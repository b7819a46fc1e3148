"""Instance types as columns: amounts, prices and label values of all types of a pool, each as one array.

A table is made once for a tuple of types and kept as long as pools go on naming that very tuple, so a solve only pays
for what is new. Masks by requirement are remembered with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from karpenter.model import labels
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.requirements import Requirement, Requirements

Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]

PLACE_KEYS: Final = frozenset({labels.ZONE, labels.CAPACITY_TYPE})
"""Label keys that an offering decides, not its type: they are axes of the price table."""
ATTACHED: Final = "attached-volumes/"
"""Begins the name of the resource that counts volumes of a CSI driver: what a node attaches at most."""
UNLIMITED: Final = 1e6
"""How many volumes a node attaches of a driver that knows no limit."""
_MOST_TABLES: Final = 64
_tables: dict[int, TypeTable] = {}


def table_of(types: tuple[InstanceType, ...]) -> TypeTable:
    """Return the table of these types: the one made before, when it is the same tuple."""
    table = _tables.get(id(types))
    if table is None or table.types is not types:
        if len(_tables) >= _MOST_TABLES:
            del _tables[next(iter(_tables))]
        table = _tables[id(types)] = TypeTable(types)
    return table


class TypeTable:
    """The T instance types of a pool by column. Arrays are shared: nobody writes to them."""

    def __init__(self, types: tuple[InstanceType, ...]) -> None:
        self.types = types
        """Kept, so that the tuple's identity stays taken while the table lives."""
        self.names = tuple(kind.name for kind in types)
        offerings = [offering for kind in types for offering in kind.offerings]
        self.zones = tuple(sorted({offering.zone for offering in offerings}))
        self.capacity_types = tuple(sorted({offering.capacity_type for offering in offerings}))
        self._amounts: dict[tuple[str, bool], Floats] = {}
        self._values: dict[str, tuple[tuple[Requirement, ...], Ints]] = {}
        self._masks: dict[Requirement, Bools] = {}

    def __len__(self) -> int:
        return len(self.types)

    def allocatable(self, resource: str) -> Floats:
        """Return what pods and daemons can use of one resource on each type (T)."""
        return self._amount(resource, physical=False)

    def capacity(self, resource: str) -> Floats:
        """Return each type's physical amount of one resource (T): what limits count."""
        return self._amount(resource, physical=True)

    def _amount(self, resource: str, *, physical: bool) -> Floats:
        found = self._amounts.get((resource, physical))
        if found is None:
            if resource.startswith(ATTACHED):
                driver = resource.removeprefix(ATTACHED)
                amounts = [float(kind.volume_limits.get(driver, UNLIMITED)) for kind in self.types]
            else:
                lists = [kind.capacity if physical else kind.allocatable for kind in self.types]
                amounts = [float(amounts.get(resource, 0)) for amounts in lists]
            found = np.array(amounts, dtype=np.float64)
            self._amounts[resource, physical] = found
        return found

    @cached_property
    def is_metal(self) -> Bools:
        """Which types are bare metal (T)."""
        return np.array([kind.is_metal for kind in self.types], dtype=np.bool_)

    @cached_property
    def prices(self) -> Floats:
        """USD per hour by type, zone and capacity type (T×Z×K); infinite where nothing can be had now."""
        table = np.full(self._shape, np.inf)
        for at, instance_type in enumerate(self.types):
            for offering in instance_type.offerings:
                if offering.available and offering.reservation_capacity != 0:
                    spot = at, *self._place(offering)
                    table[spot] = min(table[spot], offering.price)
        return table

    @cached_property
    def offered(self) -> Bools:
        """Whether the type is sold there at all, even if it cannot be had now (T×Z×K)."""
        table = np.zeros(self._shape, dtype=np.bool_)
        for at, instance_type in enumerate(self.types):
            for offering in instance_type.offerings:
                table[at, *self._place(offering)] = True
        return table

    @cached_property
    def retry_at(self) -> Floats:
        """When an offering that cannot be had now is asked for again (T×Z×K); infinite where nobody knows."""
        table = np.full(self._shape, np.inf)
        for at, instance_type in enumerate(self.types):
            for offering in instance_type.offerings:
                if offering.retry_at is not None:
                    table[at, *self._place(offering)] = offering.retry_at
        return table

    @property
    def _shape(self) -> tuple[int, int, int]:
        return len(self.types), len(self.zones), len(self.capacity_types)

    def _place(self, offering: Offering) -> tuple[int, int]:
        return self.zones.index(offering.zone), self.capacity_types.index(offering.capacity_type)

    def mask(self, requirement: Requirement) -> Bools:
        """Return which types can have a value of the label that the requirement allows (T); API-26.

        A type that does not speak of the key puts no bound on it.
        """
        found = self._masks.get(requirement)
        if found is None:
            distinct, codes = self._coded(requirement.key)
            verdicts = np.array([*(value.overlaps(requirement) for value in distinct), True], dtype=np.bool_)
            found = self._masks[requirement] = verdicts[codes]
        return found

    def mask_all(self, requirements: Requirements) -> Bools:
        """Return which types meet all requirements but those on zone and capacity type (T)."""
        mask = np.ones(len(self.types), dtype=np.bool_)
        for key, requirement in requirements.items():
            if key not in PLACE_KEYS:
                mask &= self.mask(requirement)
        return mask

    def values(self, key: str) -> Sequence[Requirement]:
        """Return the different requirements that types state for a label key."""
        return self._coded(key)[0]

    def is_decided(self, key: str) -> bool:
        """Return whether each type has exactly one value of the label, or surely none."""
        distinct, codes = self._coded(key)
        single = all(not value.complement and len(value.values) <= 1 for value in distinct)
        return single and bool((codes >= 0).all())

    def _coded(self, key: str) -> tuple[tuple[Requirement, ...], Ints]:
        """Return the different requirements on a key and each type's position among them, -1 for those without."""
        found = self._values.get(key)
        if found is None:
            position: dict[Requirement, int] = {}
            codes = np.full(len(self.types), -1, dtype=np.int64)
            for at, kind in enumerate(self.types):
                requirement = kind.requirements.get(key)
                if requirement is not None:
                    codes[at] = position.setdefault(requirement, len(position))
            found = self._values[key] = (tuple(position), codes)
        return found
