"""The API itself: what get, list, watch, create, update, patch and delete mean."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from karpenter.model.units import ObjectKey, UnixSeconds
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import Forbidden, NotFound, PatchType, RawObject
from karpenter.runtime.kubememory.builtin import BUILTIN
from karpenter.runtime.kubememory.changes import check_same_object, confine
from karpenter.runtime.kubememory.deletion import (
    PLAIN_DELETE,
    DeleteOptions,
    check_preconditions,
    is_released,
    request_deletion,
)
from karpenter.runtime.kubememory.history import ChangeType
from karpenter.runtime.kubememory.journal import Journal
from karpenter.runtime.kubememory.metadata import check_metadata, check_new_finalizers, generate_name, identify, stamp
from karpenter.runtime.kubememory.patches import Patch, apply_patch
from karpenter.runtime.kubememory.records import Record, copy_tree, record_of
from karpenter.runtime.kubememory.refusals import Causes, already_exists, details, not_found
from karpenter.runtime.kubememory.resources import ApiResource, Registry, ResourceKey
from karpenter.runtime.kubememory.selectors import EVERYTHING, Selection
from karpenter.runtime.kubememory.storage import Storage
from karpenter.runtime.kubememory.strategies import strategy_of

Operation = Literal["CREATE", "UPDATE"]
Admission: TypeAlias = Callable[[Operation, ApiResource, RawObject, RawObject | None], tuple[RawObject, Sequence[str]]]
"""(operation, kind, new, old) → (the object to go on with, warnings). Raises Invalid with all causes at once."""

_NAMESPACES = ResourceKey("", "namespaces")
_NAME_TRIES = 8
_FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to write."""

    dry_run: bool = False
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """What a write answers."""

    record: Record
    warnings: tuple[str, ...] = ()
    created: bool = False


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion answers: the object's last known state, and whether it is gone already."""

    record: Record
    is_gone: bool


class MemoryStore:
    """The objects of a cluster and the rules by which they change. Not thread-safe: one event loop owns it."""

    def __init__(self, clock: Clock, *, journal: Journal | None = None, rng: random.Random | None = None) -> None:
        self._clock = clock
        self._rng = rng or random.Random()
        self._storage = Storage(journal)
        self.registry = Registry(BUILTIN)
        """The kinds served now."""
        self.admission: list[Admission] = []
        """Hooks that see, may change and may refuse objects on their way in."""
        self._storage.restore(lambda kind, _: self.registry.by_key(kind))
        self._bootstrap()

    @property
    def revision(self) -> int:
        """The version of the whole store, as a list's resourceVersion tells it."""
        return self._storage.revision

    def now(self) -> UnixSeconds:
        """Return the server's time."""
        return self._clock.now()

    # reading ----------------------------------------------------------------------------------------------------------

    def get(self, resource: ApiResource, key: ObjectKey) -> Record:
        """Return one object. Raises NotFound."""
        record = self._storage.get(resource.key, key)
        if record is None:
            raise not_found(resource, key.name)
        return record

    def list(
        self, resource: ApiResource, selection: Selection = EVERYTHING, *, revision: int | None = None
    ) -> list[Record]:
        """Return the selected objects by namespace and name, as of now or of a revision. Raises Gone."""
        kind = resource.key
        records = self._storage.all(kind) if revision is None else self._storage.as_of(kind, revision)
        return [record for record in records if selection.matches(record)]

    async def watch(
        self, resource: ApiResource, selection: Selection = EVERYTHING, *, revision: int
    ) -> AsyncIterator[tuple[ChangeType, Record]]:
        """Yield `(ADDED | MODIFIED | DELETED, object)` for what changes after a revision, until the watch is cut.

        Raises Gone when the revision is too old.
        """
        async for change in self._storage.history(resource.key).follow(revision):
            if seen := change.seen_by(selection):
                yield seen

    def cut_watches(self) -> None:
        """End every watch, as a server does that goes away; clients resume where they were."""
        self._storage.cut_watches()

    def compact(self) -> None:
        """Forget past changes: whoever resumes a watch from before now has to list again."""
        self._storage.compact()

    # writing ----------------------------------------------------------------------------------------------------------

    def create(
        self,
        resource: ApiResource,
        body: Mapping[str, Any],
        *,
        namespace: str = "",
        options: WriteOptions = WriteOptions(),
    ) -> Written:
        """Store a new object. Raises AlreadyExists, Invalid, NotFound for its namespace, Forbidden while that goes."""
        tree = copy_tree(dict(body))
        identify(resource, tree, namespace)
        self._check_namespace(resource, namespace)
        strategy = strategy_of(resource)
        if resource.has_status and not strategy.brings_status:
            tree.pop("status", None)
        self._name(resource, tree, namespace)
        stamp(resource, tree, now=self._clock.now(), rng=self._rng, revision=self.revision + 1)
        strategy.begin(tree)
        tree, warnings = self._admit("CREATE", resource, tree)
        key = ObjectKey(tree["metadata"].get("namespace", ""), tree["metadata"]["name"])
        if self._storage.get(resource.key, key):
            raise already_exists(resource, key.name)
        return Written(self._write(resource, tree, options), warnings, created=True)

    def update(
        self, resource: ApiResource, key: ObjectKey, body: Mapping[str, Any], *, options: WriteOptions = WriteOptions()
    ) -> Written:
        """Replace an object, or the part of it that a subresource owns. Raises NotFound, Conflict, Invalid."""
        old = self.get(resource, key)
        new = copy_tree(dict(body))
        identify(resource, new, key.namespace)
        return self._replace(resource, old, new, options=options)

    def patch(
        self,
        resource: ApiResource,
        key: ObjectKey,
        patch: Patch,
        *,
        patch_type: PatchType = "merge",
        options: WriteOptions = WriteOptions(),
    ) -> Written:
        """Change an object by a patch. Raises NotFound, Conflict, BadRequest, Invalid."""
        old = self.get(resource, key)
        new = apply_patch(old.decode(), patch, patch_type)
        identify(resource, new, key.namespace)
        return self._replace(resource, old, new, options=options)

    def delete(self, resource: ApiResource, key: ObjectKey, options: DeleteOptions = PLAIN_DELETE) -> Deleted:
        """Request the deletion of an object; finalizers and grace may keep it. Raises NotFound, Conflict."""
        old = self.get(resource, key)
        tree = old.decode()
        check_preconditions(resource, tree, options)
        goes = request_deletion(resource, tree, options, now=self._clock.now())
        if options.dry_run:
            return Deleted(record_of(resource, tree, old.revision), goes)
        if goes:
            return Deleted(self._storage.remove(resource, old, tree), is_gone=True)
        return Deleted(self.overwrite(resource, old, tree), is_gone=False)

    def overwrite(self, resource: ApiResource, old: Record, new: RawObject, *, dry_run: bool = False) -> Record:
        """Store a tree as it is: for writers of this package that have rules of their own.

        A write that changes nothing makes no revision and no event, so that level-triggered writers come to rest.
        """
        candidate = record_of(resource, new, old.revision)
        return candidate if dry_run or candidate.data == old.data else self._storage.write(resource, new)

    # inside -----------------------------------------------------------------------------------------------------------

    def _replace(self, resource: ApiResource, old: Record, new: RawObject, *, options: WriteOptions) -> Written:
        subresource = options.subresource
        if subresource and subresource not in resource.subresources:
            raise NotFound("the server could not find the requested resource")
        before = old.decode()
        check_same_object(resource, before, new)
        new = confine(resource, before, new, subresource=subresource)
        new, warnings = self._admit("UPDATE", resource, new, old=before)
        if is_released(new) and not options.dry_run:
            return Written(self._storage.remove(resource, old, new), warnings)
        return Written(self.overwrite(resource, old, new, dry_run=options.dry_run), warnings)

    def _name(self, resource: ApiResource, tree: RawObject, namespace: str) -> None:
        metadata = tree["metadata"]
        if metadata.get("name") or not metadata.get("generateName"):
            return
        for _ in range(_NAME_TRIES):
            metadata["name"] = generate_name(metadata["generateName"], self._rng)
            if self._storage.get(resource.key, ObjectKey(namespace, metadata["name"])) is None:
                return

    def _admit(
        self, operation: Operation, resource: ApiResource, tree: RawObject, *, old: RawObject | None = None
    ) -> tuple[RawObject, tuple[str, ...]]:
        strategy, causes = strategy_of(resource), Causes()
        strategy.default(tree)
        warnings: list[str] = []
        for hook in self.admission:
            tree, said = hook(operation, resource, tree, old)
            warnings.extend(said)
        check_metadata(resource, tree, causes)
        strategy.check(tree, causes)
        if old is not None:
            check_new_finalizers(old, tree, causes)
            strategy.check_update(old, tree, causes)
        causes.raise_for(resource, tree["metadata"].get("name", ""))
        return tree, tuple(warnings)

    def _write(self, resource: ApiResource, tree: RawObject, options: WriteOptions) -> Record:
        if options.dry_run:
            return record_of(resource, tree, self.revision)
        return self._storage.write(resource, tree)

    def _check_namespace(self, resource: ApiResource, namespace: str) -> None:
        if not resource.namespaced:
            return
        record = self._storage.get(_NAMESPACES, ObjectKey("", namespace))
        if record is None:
            raise NotFound(f'namespaces "{namespace}" not found', details={"name": namespace, "kind": "namespaces"})
        if record.fields.get("status.phase") == "Terminating":
            raise Forbidden(
                f"unable to create new content in namespace {namespace} because it is being terminated",
                details=details(resource, "")
                | {
                    "causes": [
                        {
                            "reason": "NamespaceTerminating",
                            "message": f"namespace {namespace} is being terminated",
                            "field": "metadata.namespace",
                        }
                    ]
                },
            )

    def _bootstrap(self) -> None:
        namespaces = self.registry.find("", "v1", "namespaces")
        for name in _FIRST_NAMESPACES:
            if self._storage.get(_NAMESPACES, ObjectKey("", name)) is None:
                self.create(namespaces, {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}})
