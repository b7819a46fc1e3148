"""Objects by what they have to do with others, such as pods by node, kept up to date by the informer of their kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from karpenter.model.core import Pod
from karpenter.model.meta import ObjectMeta
from karpenter.model.storage import VolumeAttachment
from karpenter.model.units import ObjectKey
from karpenter.runtime.identity import key_of
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import WatchEvent
from karpenter.sim.storagekinds import Volume

T = TypeVar("T")


class HasMetadata(Protocol):
    """Anything the API stores."""

    @property
    def metadata(self) -> ObjectMeta: ...


class Index(Generic[T]):
    """Objects by values that each of them has, one, none or many."""

    def __init__(self, informer: Informer[T], values: Callable[[T], Iterable[str]]) -> None:
        self._informer = informer
        self._values_of = values
        self._keys: dict[str, dict[ObjectKey, None]] = {}
        self._values: dict[ObjectKey, tuple[str, ...]] = {}
        informer.subscribe(self._changed)

    def get(self, value: str) -> tuple[T, ...]:
        """Return the objects with a value, those that got it last at the end."""
        found = (self._informer.get(key) for key in self._keys.get(value, ()))
        return tuple(one for one in found if one is not None)

    def values(self) -> Iterable[str]:
        """Return all values that some object has."""
        return tuple(self._keys)

    def _changed(self, event: WatchEvent[T]) -> None:
        assert event.object is not None
        key = key_of(event.object)
        after = () if event.type == "DELETED" else tuple(dict.fromkeys(self._values_of(event.object)))
        before = self._values.pop(key, ())
        if after:
            self._values[key] = after
        if after == before:
            return
        for value in before:
            if value not in after:
                del self._keys[value][key]
                if not self._keys[value]:
                    del self._keys[value]
        for value in after:
            if value not in before:
                self._keys.setdefault(value, {})[key] = None


def node_of(pod: Pod) -> tuple[str, ...]:
    """Return the node that a pod is bound to; nothing while it has none."""
    return (pod.spec.node_name,) if pod.spec.node_name else ()


def controller_of(one: HasMetadata) -> tuple[str, ...]:
    """Return the uid of an object's controller; nothing when nobody controls it."""
    controller = one.metadata.controller()
    return (controller.uid,) if controller is not None else ()


def orphanage_of(pod: Pod) -> tuple[str, ...]:
    """Return the namespace of a pod that nobody controls; nothing for any other."""
    return () if pod.metadata.controller() is not None else (pod.metadata.namespace,)


def claims_of(pod: Pod) -> tuple[str, ...]:
    """Return the claims that a pod mounts, as `NAMESPACE/NAME`; those that are to be made for it too."""
    return tuple(str(key) for key in claim_keys(pod))


def claim_keys(pod: Pod) -> Iterable[ObjectKey]:
    """Yield the claims that a pod mounts, in the order of its volumes."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ObjectKey(pod.metadata.namespace, volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            yield ObjectKey(pod.metadata.namespace, f"{pod.metadata.name}-{volume.name}")


def claim_of(volume: Volume) -> tuple[str, ...]:
    """Return the claim that a volume is bound to or kept for, as `NAMESPACE/NAME`; nothing for a free one."""
    reference = volume.spec.claim_ref
    return (str(ObjectKey(reference.namespace, reference.name)),) if reference is not None else ()


def node_attached_to(attachment: VolumeAttachment) -> tuple[str, ...]:
    """Return the node that a volume is attached to."""
    return (attachment.spec.node_name,)


def volume_of(attachment: VolumeAttachment) -> tuple[str, ...]:
    """Return the name of the volume that is attached; nothing for one without an object of its own."""
    name = attachment.spec.source.persistent_volume_name
    return (name,) if name else ()
