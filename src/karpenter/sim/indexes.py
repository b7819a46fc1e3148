"""Pods by where they run and by whom they belong to, kept up to date by the pods' informer."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import WatchEvent


class PodIndex:
    """Pods by something that each pod has one of, such as its node."""

    def __init__(self, pods: Informer[Pod], value: Callable[[Pod], str]) -> None:
        self._pods = pods
        self._value = value
        self._keys: dict[str, dict[ObjectKey, None]] = {}
        self._values: dict[ObjectKey, str] = {}
        pods.subscribe(self._changed)

    def get(self, value: str) -> tuple[Pod, ...]:
        """Return the pods with a value, oldest news first."""
        found = (self._pods.get(key) for key in self._keys.get(value, ()))
        return tuple(pod for pod in found if pod is not None)

    def values(self) -> Iterable[str]:
        """Return all values that some pod has."""
        return tuple(self._keys)

    def _changed(self, event: WatchEvent[Pod]) -> None:
        pod = event.object
        assert pod is not None
        key = pod.metadata.key
        value = "" if event.type == "DELETED" else self._value(pod)
        before = self._values.get(key, "")
        if value == before:
            return
        if before:
            del self._values[key]
            del self._keys[before][key]
            if not self._keys[before]:
                del self._keys[before]
        if value:
            self._values[key] = value
            self._keys.setdefault(value, {})[key] = None


def node_of(pod: Pod) -> str:
    """Return the node that a pod is bound to; empty while it has none."""
    return pod.spec.node_name


def controller_of(pod: Pod) -> str:
    """Return the uid of a pod's controller; empty when nobody controls it."""
    controller = pod.metadata.controller()
    return controller.uid if controller is not None else ""


def orphanage_of(pod: Pod) -> str:
    """Return the namespace of a pod that nobody controls; empty for any other."""
    return "" if pod.metadata.controller() is not None else pod.metadata.namespace
