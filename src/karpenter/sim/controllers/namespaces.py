"""Namespaces: one that is being deleted is emptied, then let go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from karpenter.model.meta import Condition, changed_condition, merged_conditions
from karpenter.model.units import ObjectKey
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import Conflict, NotFound, Resource, WatchEvent
from karpenter.sim.kinds import CLEARED_WITH_NAMESPACE, NAMESPACES, MetadataOnly, Namespace, metadata_only
from karpenter.sim.standins import Context, Enqueue

_FINALIZER: Final = "kubernetes"
_LOOK_AGAIN_S: Final = 1.0
_FINE: Final = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)
"""What cannot fail here."""


class Namespaces:
    """Empties namespaces. The last step goes through the subresource `finalize`, as a patch: a real API server takes
    only whole objects there, but has a controller of its own for this.
    """

    name = "sim.namespace"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
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
        left: dict[str, tuple[MetadataOnly, ...]] = {}
        for resource in (*custom, *CLEARED_WITH_NAMESPACE):
            if kept := await self._clear(resource, key.name):
                left[str(resource.plural + (f".{resource.group}" if resource.group else ""))] = kept
        if left:
            await self._tell(namespace, left)
            return Result(_LOOK_AGAIN_S)
        others = [one for one in namespace.spec.finalizers if one != _FINALIZER]
        await self._kube.patch(NAMESPACES, key.name, {"spec": {"finalizers": others}}, subresource="finalize")
        return DONE

    async def _tell(self, namespace: Namespace, left: Mapping[str, Sequence[MetadataOnly]]) -> None:
        present, now = namespace.status.conditions, self._clock.now()
        changed = [new for one in what_remains(left) if (new := changed_condition(present, one, now)) is not None]
        if changed:
            patch = {"status": {"conditions": merged_conditions(present, changed)}}
            await self._kube.patch(NAMESPACES, namespace.metadata.name, patch, subresource="status")

    async def _clear(self, resource: Resource[MetadataOnly], namespace: str) -> tuple[MetadataOnly, ...]:
        """Ask for the deletion of all objects of a kind; return those that there were."""
        try:
            listing = await self._kube.list(resource, namespace=namespace)
        except NotFound:
            return ()  # this cluster does not serve the kind
        for one in listing.items:
            if one.metadata.is_deleting:
                continue
            try:
                await self._kube.delete(resource, one.metadata.name, namespace=namespace, uid=one.metadata.uid)
            except (NotFound, Conflict):
                continue
        return listing.items


def what_remains(left: Mapping[str, Sequence[MetadataOnly]]) -> Iterator[Condition]:
    """Yield the conditions of a namespace that is being emptied; `left` has what is there by `plural.group`."""
    for kind, reason, message in _FINE:
        yield Condition(kind, "False", reason, message)
    counts = ", ".join(f"{name} has {len(objects)} resource instances" for name, objects in sorted(left.items()))
    yield Condition(
        "NamespaceContentRemaining", "True", "SomeResourcesRemain", f"Some resources are remaining: {counts}"
    )
    holders = Counter(name for objects in left.values() for one in objects for name in one.metadata.finalizers)
    held = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(holders.items()))
    kind = "NamespaceFinalizersRemaining"
    if held:
        message = f"Some content in the namespace has finalizers remaining: {held}"
        yield Condition(kind, "True", "SomeFinalizersRemain", message)
    else:
        yield Condition(kind, "False", "ContentHasNoFinalizers", "All content-preserving finalizers finished")
