"""Where writes are kept so that a cluster survives a crash."""

from __future__ import annotations

from typing import Protocol

from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.records import Record
from karpenter.runtime.kubememory.resources import ResourceKey


class Journal(Protocol):
    """Keeps the newest version of every object. Each call is durable when it returns: answers are given after it."""

    def restore(self) -> tuple[int, list[tuple[ResourceKey, RawObject]]]:
        """Return the last revision (0 when new) and all objects with their kind."""
        ...

    def put(self, kind: ResourceKey, record: Record) -> None:
        """Keep a new version of an object."""
        ...

    def remove(self, kind: ResourceKey, record: Record) -> None:
        """Forget an object that was deleted at the record's revision."""
        ...

    def close(self) -> None:
        """Release the files; nothing is written afterwards."""
        ...
