"""`KubeClient` over the in-memory API: no socket, no bytes but those of the objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from karpenter.model.units import ObjectKey
from karpenter.runtime import logs
from karpenter.runtime.kube import BadRequest, Listing, PatchType, Propagation, Resource, WatchEvent
from karpenter.runtime.kubememory.deletion import DeleteOptions
from karpenter.runtime.kubememory.pods import bind, evict
from karpenter.runtime.kubememory.records import Record
from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.runtime.kubememory.selectors import select
from karpenter.runtime.kubememory.store import MemoryStore
from karpenter.runtime.kubememory.writes import WriteOptions, Written

log = logs.get("kube")

T = TypeVar("T")


class MemoryKubeClient:
    """A client of a `MemoryStore`. Any number of clients may share one."""

    def __init__(self, store: MemoryStore, *, field_manager: str = "karpenter") -> None:
        self.store = store
        self._field_manager = field_manager
        self._decoders: dict[type, msgspec.json.Decoder[Any]] = {}

    async def get(self, resource: Resource[T], name: str, *, namespace: str = "") -> T:
        """Return one object. Raises NotFound."""
        await _yield()
        return self._decode(resource, self.store.get(self._find(resource), ObjectKey(namespace, name)))

    async def list(
        self, resource: Resource[T], *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> Listing[T]:
        """Return all matching objects. An empty namespace means all namespaces."""
        await _yield()
        kind = self._find(resource)
        wanted = select(kind, namespace=namespace, label_selector=label_selector, field_selector=field_selector)
        records = self.store.list(kind, wanted)
        return Listing(tuple(self._decode(resource, record) for record in records), str(self.store.revision))

    async def watch(
        self,
        resource: Resource[T],
        *,
        resource_version: str,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[WatchEvent[T]]:
        """Yield changes after `resource_version` until the store cuts its watches. Raises Gone when it is too old."""
        kind = self._find(resource)
        wanted = select(kind, namespace=namespace, label_selector=label_selector, field_selector=field_selector)
        with self.store.follow(kind, revision=_revision(resource_version)) as follower:
            while (changes := await follower.next()) is not None:
                for change in changes:
                    if seen := change.seen_by(wanted):
                        word, record = seen
                        yield WatchEvent(word, self._decode(resource, record), str(record.revision))

    async def create(self, resource: Resource[T], body: Mapping[str, Any], *, namespace: str = "") -> T:
        """Store a new object and return it as stored. Raises AlreadyExists, Invalid."""
        await _yield()
        place = namespace or body.get("metadata", {}).get("namespace", "")
        return self._done(resource, self.store.create(self._find(resource), body, namespace=place))

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        namespace: str = "",
        patch_type: PatchType = "merge",
        subresource: str = "",
    ) -> T:
        """Change an object and return it. A merge patch with `metadata.resourceVersion` raises Conflict when stale."""
        await _yield()
        written = self.store.patch(
            self._find(resource),
            ObjectKey(namespace, name),
            patch,
            patch_type=patch_type,
            options=WriteOptions(subresource=subresource, field_manager=self._field_manager),
        )
        return self._done(resource, written)

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        grace_period_s: int | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        """Request deletion; finalizers and grace delay it. `uid` is a precondition (Conflict). Raises NotFound."""
        await _yield()
        options = DeleteOptions(grace_period_s=grace_period_s, uid=uid, propagation=propagation)
        self.store.delete(self._find(resource), ObjectKey(namespace, name), options)

    async def evict(self, name: str, *, namespace: str, uid: str = "", grace_period_s: int | None = None) -> None:
        """Evict a pod. Raises TooManyRequests when a disruption budget forbids it now, NotFound, Conflict."""
        await _yield()
        evict(self.store, ObjectKey(namespace, name), DeleteOptions(grace_period_s=grace_period_s, uid=uid))

    async def bind(self, name: str, *, namespace: str, node: str, uid: str = "") -> None:
        """Assign a pod to a node, as a scheduler does. Raises NotFound, and Conflict when it is assigned already."""
        await _yield()
        bind(self.store, ObjectKey(namespace, name), node, uid=uid)

    async def close(self) -> None:
        """Nothing is held."""

    def _find(self, resource: Resource[Any]) -> ApiResource:
        return self.store.registry.find(resource.group, resource.version, resource.plural)

    def _done(self, resource: Resource[T], written: Written) -> T:
        for warning in written.warnings:
            log.warning("api warning", kind=resource.kind, name=written.record.key, warning=warning)
        return self._decode(resource, written.record)

    def _decode(self, resource: Resource[T], record: Record) -> T:
        decoder = self._decoders.get(resource.type)
        if decoder is None:
            decoder = self._decoders[resource.type] = msgspec.json.Decoder(resource.type)
        return cast(T, decoder.decode(self.store.present(self._find(resource), record)))


async def _yield() -> None:
    # As over a socket, others run while a caller waits: watchers keep up, and races show in tests too.
    await asyncio.sleep(0)


def _revision(text: str) -> int:
    if not text.isdigit():
        raise BadRequest(f"invalid resource version {text!r}: it is the one that a list told")
    return int(text)
