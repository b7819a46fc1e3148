"""Which objects belong to a controller: those it owns, and orphans that its selector covers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from karpenter.model.meta import LabelSelector, ObjectMeta


class HasMetadata(Protocol):
    """Anything the API stores."""

    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=HasMetadata)


@dataclass(frozen=True, slots=True)
class Claimed(Generic[T]):
    """What a controller finds."""

    owned: tuple[T, ...]
    """Belong to it and match its selector."""
    orphans: tuple[T, ...]
    """Belong to nobody and match: to be adopted."""
    strays: tuple[T, ...]
    """Belong to it and no longer match: to be let go."""


def claim(owner: ObjectMeta, selector: LabelSelector, candidates: Iterable[T]) -> Claimed[T]:
    """Sort the objects of the owner's namespace. What is being deleted is neither adopted nor let go, nor does an
    owner that is being deleted adopt anything.
    """
    owned: list[T] = []
    orphans: list[T] = []
    strays: list[T] = []
    for one in candidates:
        controller, matches = one.metadata.controller(), selector.matches(one.metadata.labels)
        if controller is not None:
            if controller.uid != owner.uid:
                continue
            if matches:
                owned.append(one)
            elif not one.metadata.is_deleting and not owner.is_deleting:
                strays.append(one)
        elif matches and not one.metadata.is_deleting and not owner.is_deleting:
            orphans.append(one)
    return Claimed(tuple(owned), tuple(orphans), tuple(strays))
