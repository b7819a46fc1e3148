"""Who belongs to whom, and what garbage collection does about one object: no API in here.

Source: kubernetes.io/docs/concepts/architecture/garbage-collection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from karpenter.model.meta import ObjectMeta, OwnerReference
from karpenter.runtime.kube import Propagation, Resource

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


@dataclass(frozen=True, slots=True)
class Tracked:
    """An object of the cluster."""

    resource: Resource[Any]
    metadata: ObjectMeta


class OwnerState(Enum):
    """How an owner stands."""

    SOLID = auto()
    """It is there, and stays or waits for nobody."""
    WAITING = auto()
    """It is being deleted and goes once its dependents are gone."""
    GONE = auto()


class Graph:
    """All objects by uid, and their dependents."""

    def __init__(self) -> None:
        self._objects: dict[str, Tracked] = {}
        self._dependents: dict[str, set[str]] = {}

    def put(self, tracked: Tracked) -> frozenset[str]:
        """Take in an object's latest state; return the uids of its owners, former ones included."""
        uid = tracked.metadata.uid
        before = _owners(self._objects.get(uid))
        after = _owners(tracked)
        self._objects[uid] = tracked
        for owner in before - after:
            self._forget_dependent(owner, uid)
        for owner in after:
            self._dependents.setdefault(owner, set()).add(uid)
        return before | after

    def remove(self, uid: str) -> frozenset[str]:
        """Forget an object; return the uids of its owners."""
        owners = _owners(self._objects.pop(uid, None))
        for owner in owners:
            self._forget_dependent(owner, uid)
        return owners

    def get(self, uid: str) -> Tracked | None:
        """Return an object; None for one that is not there, as far as we know."""
        return self._objects.get(uid)

    def dependents(self, uid: str) -> tuple[Tracked, ...]:
        """Return the objects that name this one as an owner, in the order of their uids."""
        return tuple(self._objects[one] for one in sorted(self._dependents.get(uid, ())))

    def _forget_dependent(self, owner: str, uid: str) -> None:
        self._dependents[owner].discard(uid)
        if not self._dependents[owner]:
            del self._dependents[owner]


def _owners(tracked: Tracked | None) -> frozenset[str]:
    return frozenset(owner.uid for owner in tracked.metadata.owner_references) if tracked is not None else frozenset()


def is_waiting(metadata: ObjectMeta) -> bool:
    """Return whether an object is being deleted after its dependents."""
    return metadata.is_deleting and FOREGROUND in metadata.finalizers


def blocks(dependent: Tracked, owner: str) -> bool:
    """Return whether an owner that waits for its dependents has to wait for this one."""
    return any(one.uid == owner and one.block_owner_deletion for one in dependent.metadata.owner_references)


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object."""

    propagation: Propagation


@dataclass(frozen=True, slots=True)
class KeepOwners:
    """Take all other owners off the object."""

    owners: tuple[OwnerReference, ...]


@dataclass(frozen=True, slots=True)
class ReleaseDependents:
    """Take the object off its dependents' owners, then take off its finalizer `orphan`."""


@dataclass(frozen=True, slots=True)
class DropForeground:
    """All that the object waited for is gone: take off its finalizer."""


@dataclass(frozen=True, slots=True)
class WakeDependents:
    """The object waits: look at those that it waits for."""


Action: TypeAlias = Delete | KeepOwners | ReleaseDependents | DropForeground | WakeDependents | None
Standing: TypeAlias = Mapping[str, OwnerState]
"""Owner's uid to how it stands."""


def decide(tracked: Tracked, dependents: Sequence[Tracked], standing: Callable[[], Standing]) -> Action:
    """Return what to do about an object; None for nothing. `standing` is asked only when its owners matter."""
    metadata = tracked.metadata
    if metadata.is_deleting:
        if ORPHAN in metadata.finalizers:
            return ReleaseDependents()
        if FOREGROUND not in metadata.finalizers:
            return None
        return WakeDependents() if any(blocks(one, metadata.uid) for one in dependents) else DropForeground()
    if not metadata.owner_references:
        return None
    return _by_owners(metadata, dependents, standing())


def _by_owners(metadata: ObjectMeta, dependents: Sequence[Tracked], standing: Standing) -> Action:
    solid = tuple(one for one in metadata.owner_references if standing[one.uid] is OwnerState.SOLID)
    if solid:
        return None if len(solid) == len(metadata.owner_references) else KeepOwners(solid)
    if OwnerState.WAITING in standing.values() and dependents:
        return Delete("Foreground")  # the owner waits for us, so we wait for ours
    if ORPHAN in metadata.finalizers:
        return Delete("Orphan")
    return Delete("Foreground" if FOREGROUND in metadata.finalizers else "Background")
