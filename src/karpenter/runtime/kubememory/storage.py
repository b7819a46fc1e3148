"""What is kept: the newest version of every object, one rising revision, the latest changes; under it, the journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from karpenter.model.units import ObjectKey
from karpenter.runtime.kube import Gone, RawObject
from karpenter.runtime.kubememory.history import Change, History
from karpenter.runtime.kubememory.journal import Journal
from karpenter.runtime.kubememory.records import Record, record_of
from karpenter.runtime.kubememory.resources import ApiResource, ResourceKey


@dataclass(slots=True)
class _Shelf:
    """All objects of one kind."""

    history: History
    records: dict[ObjectKey, Record] = field(default_factory=dict)
    ordered: list[Record] | None = None
    """The records by namespace and name; None when a change has made it stale."""


class Storage:
    """The store under the API: every write gets the next revision and is in the journal before anyone sees it."""

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal
        self._shelves: dict[ResourceKey, _Shelf] = {}
        self._first_revision = 0
        self.revision = 0
        """The version of the whole store: that of the last write."""

    def restore(self, serve: Callable[[ResourceKey, RawObject], ApiResource | None]) -> None:
        """Take over what the journal holds, definitions of kinds first.

        `serve` is told of each object and returns its kind; None leaves the object in the journal only.
        """
        if self._journal is None:
            return
        self.revision, kept = self._journal.restore()
        self._first_revision = self.revision
        for kind, tree in sorted(kept, key=lambda one: one[0].plural != "customresourcedefinitions"):
            if resource := serve(kind, tree):
                record = record_of(resource, tree, int(tree["metadata"]["resourceVersion"]))
                self._shelf(kind).records[record.key] = record

    def get(self, kind: ResourceKey, key: ObjectKey) -> Record | None:
        """Return an object; None when there is none."""
        return self._shelf(kind).records.get(key)

    def all(self, kind: ResourceKey) -> list[Record]:
        """Return the objects of a kind by namespace and name. The list is the store's own: do not change it."""
        shelf = self._shelf(kind)
        if shelf.ordered is None:
            shelf.ordered = [record for _, record in sorted(shelf.records.items())]
        return shelf.ordered

    def as_of(self, kind: ResourceKey, revision: int) -> list[Record]:
        """Return the objects of a kind as they were at a revision. Raises Gone when that is too long ago."""
        if revision > self.revision:
            raise Gone(f"resource version {revision} is in the future, the store is at {self.revision}")
        shelf = self._shelf(kind)
        undo = shelf.history.since(revision)
        if not undo:
            return self.all(kind)
        records = dict(shelf.records)
        for change in reversed(undo):
            if change.before is None:
                records.pop(change.after.key, None)
            else:
                records[change.after.key] = change.before
        return [record for _, record in sorted(records.items())]

    def history(self, kind: ResourceKey) -> History:
        """Return the latest changes of a kind."""
        return self._shelf(kind).history

    def write(self, resource: ApiResource, tree: RawObject) -> Record:
        """Keep a new object or a new version of one and return it with its revision."""
        record = record_of(resource, tree, self.revision + 1)
        shelf = self._shelf(resource.key)
        before = shelf.records.get(record.key)
        if self._journal is not None:
            self._journal.put(resource.key, record)
        self.revision = record.revision
        shelf.records[record.key] = record
        shelf.ordered = None
        shelf.history.append(Change("ADDED" if before is None else "MODIFIED", before, record))
        return record

    def remove(self, resource: ApiResource, before: Record, last: RawObject) -> Record:
        """Forget an object and return its last state, at the revision of the deletion."""
        record = record_of(resource, last, self.revision + 1)
        if self._journal is not None:
            self._journal.remove(resource.key, record)
        self.revision = record.revision
        shelf = self._shelf(resource.key)
        del shelf.records[before.key]
        shelf.ordered = None
        shelf.history.append(Change("DELETED", before, record))
        return record

    def cut_watches(self) -> None:
        """End every watch, as a server does that goes away."""
        for shelf in self._shelves.values():
            shelf.history.cut()

    def compact(self) -> None:
        """Forget all changes so far: a watch from before now is Gone."""
        for shelf in self._shelves.values():
            shelf.history.forget(self.revision)

    def _shelf(self, kind: ResourceKey) -> _Shelf:
        if kind not in self._shelves:
            self._shelves[kind] = _Shelf(History(self._first_revision))
        return self._shelves[kind]
