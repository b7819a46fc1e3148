"""Namespaces: one that is being deleted is emptied, then let go."""

from __future__ import annotations

from typing import Final

from karpenter.model.units import ObjectKey
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import Conflict, NotFound, Resource, WatchEvent
from karpenter.sim.kinds import CLEARED_WITH_NAMESPACE, NAMESPACES, MetadataOnly, Namespace, metadata_only
from karpenter.sim.standins import Context, Enqueue

_FINALIZER: Final = "kubernetes"
_LOOK_AGAIN_S: Final = 1.0


class Namespaces:
    """Empties namespaces. The last step goes through the subresource `finalize`, as a patch: a real API server takes
    only whole objects there, but has a controller of its own for this.
    """

    name = "sim.namespace"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._namespaces = context.informers.namespaces
        self._custom = context.informers.custom

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a namespace when it changes."""

        def changed(event: WatchEvent[Namespace]) -> None:
            if event.object is not None and event.type != "DELETED":
                enqueue(event.object.metadata.key)

        self._namespaces.subscribe(changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Delete what is left in one namespace that is going."""
        namespace = self._namespaces.get(key)
        if namespace is None or not namespace.metadata.is_deleting or _FINALIZER not in namespace.spec.finalizers:
            return DONE
        custom = (metadata_only(one) for one in self._custom.resources if one.namespaced)
        left = 0
        for resource in (*custom, *CLEARED_WITH_NAMESPACE):
            left += await self._clear(resource, key.name)
        if left:
            return Result(_LOOK_AGAIN_S)
        kept = [one for one in namespace.spec.finalizers if one != _FINALIZER]
        await self._kube.patch(NAMESPACES, key.name, {"spec": {"finalizers": kept}}, subresource="finalize")
        return DONE

    async def _clear(self, resource: Resource[MetadataOnly], namespace: str) -> int:
        """Ask for the deletion of all objects of a kind; return how many there were."""
        try:
            listing = await self._kube.list(resource, namespace=namespace)
        except NotFound:
            return 0  # this cluster does not serve the kind
        for one in listing.items:
            if one.metadata.is_deleting:
                continue
            try:
                await self._kube.delete(resource, one.metadata.name, namespace=namespace, uid=one.metadata.uid)
            except (NotFound, Conflict):
                continue
        return len(listing.items)
