"""Everything the input says, each object once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from karpenter.model.core import Workload
from karpenter.model.units import ObjectKey

T = TypeVar("T")


class Identity(NamedTuple):
    """What makes an object the same one: group, kind and key."""

    group: str
    kind: str
    key: ObjectKey


@dataclass(frozen=True, slots=True)
class Objects:
    """Decoded objects in the order of the input; of two with one identity only the last."""

    by_identity: Mapping[Identity, object]
    places: Mapping[Identity, str] = field(default_factory=dict)
    """The file each object is from, as the user named it."""

    def of(self, kind: type[T]) -> tuple[T, ...]:
        """Return the objects of one type of the model, such as `core.Pod`."""
        return tuple(value for value in self.by_identity.values() if isinstance(value, kind))

    def workloads(self) -> Iterable[tuple[str, Workload]]:
        """Yield (kind, workload) for every Deployment, ReplicaSet, StatefulSet and Job."""
        for identity, value in self.by_identity.items():
            if isinstance(value, Workload):
                yield identity.kind, value
