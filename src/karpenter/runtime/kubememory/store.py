"""The API itself: what get, list, watch, create, update, patch and delete mean."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, Literal

from karpenter.model.units import ObjectKey, UnixSeconds
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import BadRequest, Forbidden, NotFound, PatchType, RawObject
from karpenter.runtime.kubememory.admission import Admission, usual_admission
from karpenter.runtime.kubememory.bootstrap import bootstrap
from karpenter.runtime.kubememory.builtin import BUILTIN
from karpenter.runtime.kubememory.changes import check_has_version, check_same_object, confine
from karpenter.runtime.kubememory.custom import CLEANUP, DEFINITIONS, CustomKinds, CustomVersion, key_of
from karpenter.runtime.kubememory.deletion import (
    PLAIN_DELETE,
    DeleteOptions,
    check_deletable,
    check_preconditions,
    is_released,
    request_deletion,
)
from karpenter.runtime.kubememory.expiry import EVENTS, SWEEP_EVERY_S, expired
from karpenter.runtime.kubememory.gate import Gate
from karpenter.runtime.kubememory.history import Follower
from karpenter.runtime.kubememory.journal import Journal
from karpenter.runtime.kubememory.metadata import (
    generate_name,
    identify,
    stamp,
)
from karpenter.runtime.kubememory.ownership import Manager, begin_applied, merge_applied, track_update
from karpenter.runtime.kubememory.patches import Patch, apply_patch
from karpenter.runtime.kubememory.records import Record, copy_tree, encode, record_of
from karpenter.runtime.kubememory.refusals import already_exists, details, not_found
from karpenter.runtime.kubememory.resources import ApiResource, Registry, ResourceKey
from karpenter.runtime.kubememory.schema.shapes import ANYTHING, Schema
from karpenter.runtime.kubememory.selectors import EVERYTHING, Selection
from karpenter.runtime.kubememory.storage import Storage
from karpenter.runtime.kubememory.strategies import strategy_of
from karpenter.runtime.kubememory.writes import PLAIN_WRITE, Deleted, WriteOptions, Written
from karpenter.runtime.kubememory.wrongtypes import untyped_apply, untyped_patch

_NAMESPACES: Final = ResourceKey("", "namespaces")
_NEED_VERSION: Final = frozenset(
    {
        ResourceKey("apiextensions.k8s.io", "customresourcedefinitions"),
        ResourceKey("coordination.k8s.io", "leases"),
        ResourceKey("policy", "poddisruptionbudgets"),
    }
)
"""Kinds that are replaced only by who says which version it read."""
_NAME_TRIES: Final = 8


class MemoryStore:
    """The objects of a cluster and the rules by which they change. Not thread-safe: one event loop owns it.

    Writes are done when the call returns, and in the journal if there is one.
    """

    def __init__(self, clock: Clock, *, journal: Journal | None = None, rng: random.Random | None = None) -> None:
        self._clock = clock
        self._rng = rng or random.Random()
        self._storage = Storage(journal)
        self.registry = Registry(BUILTIN)
        """The kinds served now."""
        self._custom = CustomKinds(self.registry)
        self._next_sweep_at = 0.0
        self._gate = Gate(self._custom, [usual_admission(self)])
        self._storage.restore(self._restored)
        bootstrap(self)

    @property
    def revision(self) -> int:
        """The version of the whole store, as a list's resourceVersion tells it."""
        return self._storage.revision

    @property
    def admission(self) -> list[Admission]:
        """The hooks that see, may change and may refuse objects on their way in: append to it."""
        return self._gate.hooks

    def now(self) -> UnixSeconds:
        """Return the server's time."""
        return self._clock.now()

    def custom(self, resource: ApiResource) -> CustomVersion | None:
        """Return what its definition says of a custom kind; None for Kubernetes' own."""
        return self._custom.find(resource)

    def schema(self, resource: ApiResource) -> Schema | None:
        """Return the shape of a kind; None when nothing is known of it."""
        return self._gate.schema(resource)

    def present(self, resource: ApiResource, record: Record) -> bytes:
        """Return an object as JSON in the version that it is asked for."""
        custom = self._custom.find(resource)
        if custom is None or custom.stored_as == resource.api_version:
            return record.data
        return encode(record.decode() | {"apiVersion": resource.api_version})

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

    def follow(self, resource: ApiResource, *, revision: int) -> AbstractContextManager[Follower]:
        """Return a reader of the changes of a kind after a revision; who selects asks each change `seen_by`."""
        return self._storage.history(resource.key).follow(revision)

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
        options: WriteOptions = PLAIN_WRITE,
    ) -> Written:
        """Store a new object. Raises AlreadyExists, BadRequest, Invalid; NotFound or Forbidden for its namespace."""
        tree = copy_tree(dict(body))
        identify(resource, tree, namespace)
        self._check_namespace(resource, namespace, str(tree["metadata"].get("name", "")))
        warnings = self._gate.read(resource, tree, options.field_validation)
        if resource.has_status and not strategy_of(resource).brings_status:
            tree.pop("status", None)
        self._name(resource, tree, namespace)
        stamp(resource, tree, now=self._clock.now(), rng=self._rng, revision=self.revision + 1)
        self._gate.fill(resource, tree)
        if options.field_manager:
            self._track(resource, None, tree, options=options)
        strategy_of(resource).begin(tree)
        strategy_of(resource).allot(tree)
        if resource.has_status and not resource.is_custom:
            tree.setdefault("status", {})
        tree, said = self._gate.admit("CREATE", resource, tree)
        key = ObjectKey(tree["metadata"].get("namespace", ""), tree["metadata"]["name"])
        if self._storage.get(resource.key, key):
            raise already_exists(resource, key.name)
        record = record_of(resource, tree, 0) if options.dry_run else self._put(resource, tree)
        return Written(record, (*warnings, *said), created=True)

    def update(
        self, resource: ApiResource, key: ObjectKey, body: Mapping[str, Any], *, options: WriteOptions = PLAIN_WRITE
    ) -> Written:
        """Replace an object, or the part of it that a subresource owns. Raises NotFound, Conflict, Invalid."""
        old, new = self.get(resource, key), copy_tree(dict(body))
        if resource.key in _NEED_VERSION or resource.is_custom:
            check_has_version(resource, new)
        return self._replace(resource, old, new, options=options)

    def patch(
        self,
        resource: ApiResource,
        key: ObjectKey,
        patch: Patch,
        *,
        patch_type: PatchType = "merge",
        options: WriteOptions = PLAIN_WRITE,
    ) -> Written:
        """Change an object by a patch; `apply` creates it when it is missing.

        Raises NotFound, Conflict, BadRequest, Invalid, UnsupportedMediaType.
        """
        if patch_type == "apply":
            return self._apply(resource, key, patch, options=options)
        old = self.get(resource, key)
        schema = None if resource.is_custom else self.schema(resource)
        tree = old.decode() | {"apiVersion": resource.api_version}
        patched = apply_patch(tree, patch, patch_type, schema=schema)
        try:
            return self._replace(resource, old, patched, options=options)
        except BadRequest as error:
            raise untyped_patch(patch, patch_type, error) from error

    def delete(self, resource: ApiResource, key: ObjectKey, options: DeleteOptions = PLAIN_DELETE) -> Deleted:
        """Request the deletion of an object; finalizers and grace may keep it. Raises NotFound, Conflict."""
        check_deletable(resource, key.name)
        old = self.get(resource, key)
        tree = old.decode()
        check_preconditions(resource, tree, options)
        if resource.key == DEFINITIONS and "deletionTimestamp" not in tree["metadata"]:
            tree["metadata"].setdefault("finalizers", []).append(CLEANUP)
        goes = request_deletion(resource, tree, options, now=self._clock.now())
        if options.dry_run:
            return Deleted(record_of(resource, tree, old.revision), goes)
        if goes:
            return Deleted(self._drop(resource, old, tree), is_gone=True)
        record = self.overwrite(resource, old, tree)
        if resource.key == DEFINITIONS:
            self._delete_objects_of(tree)
        return Deleted(record, is_gone=False)

    def overwrite(self, resource: ApiResource, old: Record, new: RawObject, *, dry_run: bool = False) -> Record:
        """Store a tree as it is: for writers of this package that have rules of their own.

        A write that changes nothing makes no revision and no event, so that level-triggered writers come to rest.
        """
        self._set_stored_version(resource, new)
        candidate = record_of(resource, new, old.revision)
        return candidate if dry_run or candidate.data == old.data else self._put(resource, new)

    # inside -----------------------------------------------------------------------------------------------------------

    def _replace(
        self, resource: ApiResource, old: Record, new: RawObject, *, options: WriteOptions, tracks: bool = True
    ) -> Written:
        subresource = options.subresource
        if subresource and subresource not in resource.subresources:
            raise NotFound("the server could not find the requested resource")
        before = old.decode()
        identify(resource, new, old.key.namespace)
        warnings = self._gate.read(resource, new, options.field_validation, old=before)
        check_same_object(resource, before, new)
        self._gate.fill(resource, new, old=before)
        strategy_of(resource).allot(new)
        new = confine(resource, before, new, subresource=subresource)
        new, said = self._gate.admit("UPDATE", resource, new, old=before, runs_hooks=not subresource)
        warnings = (*warnings, *said)
        if tracks:
            self._track(resource, before, new, options=options)
        if is_released(new) and not options.dry_run:
            return Written(self._drop(resource, old, new), warnings)
        return Written(self.overwrite(resource, old, new, dry_run=options.dry_run), warnings)

    def _apply(self, resource: ApiResource, key: ObjectKey, patch: Patch, *, options: WriteOptions) -> Written:
        if not isinstance(patch, Mapping):
            raise BadRequest("an apply patch must be an object")
        applied = copy_tree(dict(patch))
        identify(resource, applied, key.namespace)
        applied["metadata"].setdefault("name", key.name)
        if applied["metadata"].pop("managedFields", None):
            raise BadRequest("metadata.managedFields must be nil")
        try:
            warnings = self._gate.read(resource, applied, options.field_validation)
        except BadRequest as error:
            raise untyped_apply(resource, key, error) from error
        schema, manager = self.schema(resource) or ANYTHING, self._manager(resource, "Apply", options)
        old = self._storage.get(resource.key, key)
        if old is None:
            begin_applied(applied, schema, manager=manager, now=self.now())
            written = self.create(
                resource, applied, namespace=key.namespace, options=replace(options, field_manager="")
            )
        else:
            merged = merge_applied(
                old.decode() | {"apiVersion": resource.api_version},
                applied,
                schema,
                manager=manager,
                force=options.force,
                now=self.now(),
            )
            written = self._replace(resource, old, merged, options=options, tracks=False)
        return replace(written, warnings=(*warnings, *written.warnings))

    def _manager(self, resource: ApiResource, operation: Literal["Apply", "Update"], options: WriteOptions) -> Manager:
        subresource = options.written_as or options.subresource
        return Manager(options.field_manager or "unknown", operation, resource.api_version, subresource)

    def _track(self, resource: ApiResource, old: RawObject | None, new: RawObject, *, options: WriteOptions) -> None:
        manager = self._manager(resource, "Update", options)
        track_update(old, new, self.schema(resource) or ANYTHING, manager=manager, now=self.now())

    def _name(self, resource: ApiResource, tree: RawObject, namespace: str) -> None:
        metadata = tree["metadata"]
        if metadata.get("name") or not metadata.get("generateName"):
            return
        for _ in range(_NAME_TRIES):
            metadata["name"] = generate_name(metadata["generateName"], self._rng)
            if self._storage.get(resource.key, ObjectKey(namespace, metadata["name"])) is None:
                return

    def _check_namespace(self, resource: ApiResource, namespace: str, name: str) -> None:
        if not resource.namespaced:
            return
        record = self._storage.get(_NAMESPACES, ObjectKey("", namespace))
        if record is None:
            raise NotFound(f'namespaces "{namespace}" not found', details={"name": namespace, "kind": "namespaces"})
        if record.fields.get("status.phase") == "Terminating":
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise Forbidden(
                f'{resource.key} "{name}" is forbidden: {why}', details=details(resource, name) | {"causes": [cause]}
            )

    # definitions of kinds ---------------------------------------------------------------------------------------------

    def _restored(self, kind: ResourceKey, tree: RawObject) -> ApiResource | None:
        if kind == DEFINITIONS:
            self._custom.install(tree)
        return self.registry.by_key(kind)

    def _put(self, resource: ApiResource, tree: RawObject) -> Record:
        if resource.key == DEFINITIONS:
            self._custom.install(tree)
        elif resource.key == EVENTS:
            self._expire_events(resource)
        self._set_stored_version(resource, tree)
        return self._storage.write(resource, tree)

    def _expire_events(self, resource: ApiResource) -> None:
        now = self._clock.now()
        if now >= self._next_sweep_at:
            self._next_sweep_at = now + SWEEP_EVERY_S
            for record, tree in expired(self._storage.all(EVENTS), now):
                self._drop(resource, record, tree)

    def _set_stored_version(self, resource: ApiResource, tree: RawObject) -> None:
        if custom := self._custom.find(resource):
            tree["apiVersion"] = custom.stored_as

    def _drop(self, resource: ApiResource, old: Record, last: RawObject) -> Record:
        record = self._storage.remove(resource, old, last)
        if resource.key == DEFINITIONS:
            self._custom.uninstall(key_of(last))
        elif resource.is_custom:
            self._release_definition(resource.key)
        return record

    def _delete_objects_of(self, definition: RawObject) -> None:
        kind = key_of(definition)
        if resource := self.registry.by_key(kind):
            for record in list(self._storage.all(kind)):
                self.delete(resource, record.key)
        self._release_definition(kind)

    def _release_definition(self, kind: ResourceKey) -> None:
        """Let a definition that is being deleted go once the last object of its kind is gone."""
        definitions = self.registry.find(DEFINITIONS.group, "v1", DEFINITIONS.plural)
        record = self._storage.get(DEFINITIONS, ObjectKey("", str(kind)))
        if record is None or self._storage.all(kind):
            return
        tree = record.decode()
        if "deletionTimestamp" not in tree["metadata"]:
            return
        tree["metadata"]["finalizers"] = [name for name in tree["metadata"].get("finalizers", ()) if name != CLEANUP]
        if is_released(tree):
            self._drop(definitions, record, tree)
        else:
            self.overwrite(definitions, record, tree)
