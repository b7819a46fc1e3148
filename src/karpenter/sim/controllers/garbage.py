"""Garbage collection: what belongs to an object goes with it, before it, or stays an orphan, as its deletion asked."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, assert_never

import msgspec

from karpenter.model.meta import ObjectMeta, OwnerReference
from karpenter.runtime import logs
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import Conflict, NotFound, RawObject, Resource, WatchEvent
from karpenter.sim.controllers.graph import (
    FOREGROUND,
    ORPHAN,
    Delete,
    DropForeground,
    Graph,
    KeepOwners,
    OwnerState,
    ReleaseDependents,
    Standing,
    Tracked,
    WakeDependents,
    decide,
    is_waiting,
)
from karpenter.sim.kinds import metadata_only
from karpenter.sim.standins import Context, Enqueue

_REMEMBERED: Final = 10_000

log = logs.get("sim.garbage")


class GarbageCollector:
    """Looks at each object whose owners or dependents changed. Keys are uids."""

    name = "sim.garbagecollector"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._informers = context.informers
        self._graph = Graph()
        self._gone: OrderedDict[str, None] = OrderedDict()
        """Uids that are known not to exist: they never come back."""
        self._kinds: dict[tuple[str, str], Resource[Any]] = {}
        self._enqueue: Enqueue[str] = _nobody_listens

    def watch(self, enqueue: Enqueue[str]) -> None:
        """Follow all kinds, custom ones as they come."""
        self._enqueue = enqueue
        for informer in self._informers.builtin:
            self._follow(informer)
        self._informers.custom.subscribe(self._follow)

    def _follow(self, informer: Informer[Any]) -> None:
        self._kinds[informer.resource.api_version, informer.resource.kind] = informer.resource

        def changed(event: WatchEvent[Any]) -> None:
            assert event.object is not None
            tracked = Tracked(informer.resource, event.object.metadata)
            uid = tracked.metadata.uid
            if event.type == "DELETED":
                self._note_gone(uid)
                dependents = self._graph.dependents(uid)
                owners = self._graph.remove(uid)
                for one in dependents:
                    self._enqueue(one.metadata.uid)
            else:
                before = self._graph.get(uid)
                owners = self._graph.put(tracked)
                if before is None or _ties(before.metadata) != _ties(tracked.metadata):
                    self._enqueue(uid)
            for owner in owners:
                known = self._graph.get(owner)
                if known is not None and is_waiting(known.metadata):
                    self._enqueue(owner)

        informer.subscribe(changed)

    async def reconcile(self, key: str) -> Result:
        """Do what one object's owners and finalizers call for."""
        tracked = self._graph.get(key)
        if tracked is None:
            return DONE
        standing: Standing = {}
        if not tracked.metadata.is_deleting:
            standing = {one.uid: await self._state(one, tracked) for one in tracked.metadata.owner_references}
        action = decide(tracked, self._graph.dependents(key), lambda: standing)
        match action:
            case None:
                pass
            case Delete():
                await self._delete(tracked, action)
            case KeepOwners():
                await self._patch(tracked, {"ownerReferences": _references(action.owners)})
            case ReleaseDependents():
                await self._release(tracked)
            case DropForeground():
                await self._drop_finalizer(tracked, FOREGROUND)
            case WakeDependents():
                for one in self._graph.dependents(key):
                    self._enqueue(one.metadata.uid)
            case _:
                assert_never(action)
        return DONE

    async def _state(self, owner: OwnerReference, of: Tracked) -> OwnerState:
        known = self._graph.get(owner.uid)
        if known is not None:
            return OwnerState.WAITING if is_waiting(known.metadata) else OwnerState.SOLID
        if owner.uid in self._gone:
            return OwnerState.GONE
        resource = self._kinds.get((owner.api_version, owner.kind))
        if resource is None:
            return OwnerState.SOLID  # of a kind that nobody here can ask about: better to keep too much
        if await self._exists(resource, owner, of.metadata.namespace):
            return OwnerState.SOLID
        self._note_gone(owner.uid)
        return OwnerState.GONE

    async def _exists(self, resource: Resource[Any], owner: OwnerReference, namespace: str) -> bool:
        """Ask the API: the informer of the owner's kind may only be late."""
        place = namespace if resource.namespaced else ""
        try:
            found = await self._kube.get(metadata_only(resource), owner.name, namespace=place)
        except NotFound:
            return False
        return found.metadata.uid == owner.uid

    def _note_gone(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)

    async def _delete(self, tracked: Tracked, action: Delete) -> None:
        metadata = tracked.metadata
        log.debug("deleting what nobody owns any more", kind=tracked.resource.kind, name=str(metadata.key))
        try:
            await self._kube.delete(
                tracked.resource,
                metadata.name,
                namespace=metadata.namespace,
                uid=metadata.uid,
                propagation=action.propagation,
            )
        except (NotFound, Conflict):
            return  # gone, or another object has its name by now

    async def _release(self, tracked: Tracked) -> None:
        uid = tracked.metadata.uid
        for one in self._graph.dependents(uid):
            kept = tuple(owner for owner in one.metadata.owner_references if owner.uid != uid)
            await self._patch(one, {"ownerReferences": _references(kept)})
        await self._drop_finalizer(tracked, ORPHAN)

    async def _drop_finalizer(self, tracked: Tracked, finalizer: str) -> None:
        kept = [one for one in tracked.metadata.finalizers if one != finalizer]
        await self._patch(tracked, {"finalizers": kept or None})

    async def _patch(self, tracked: Tracked, metadata: RawObject) -> None:
        known = tracked.metadata
        body = {"metadata": {"resourceVersion": known.resource_version, **metadata}}
        try:
            await self._kube.patch(metadata_only(tracked.resource), known.name, body, namespace=known.namespace)
        except NotFound:
            return


def _ties(metadata: ObjectMeta) -> tuple[object, ...]:
    """Return the part of an object that decides what becomes of it; heartbeats and the like do not touch it."""
    return metadata.owner_references, metadata.finalizers, metadata.deletion_timestamp


def _nobody_listens(key: str, *, after_s: float = 0.0) -> None:
    """Stand for the queue until there is one."""


def _references(owners: tuple[OwnerReference, ...]) -> list[RawObject] | None:
    found = [msgspec.to_builtins(owner) for owner in owners]
    return [{key: value for key, value in one.items() if value is not None} for one in found] or None
