"""What the scheduler looks up beside pods and nodes: namespaces, services, workloads, volumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from karpenter.model.core import Pod
from karpenter.model.meta import LabelSelector
from karpenter.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karpenter.model.units import ObjectKey
from karpenter.runtime.identity import key_of
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import WatchEvent
from karpenter.sim.informers import SharedInformers
from karpenter.sim.kinds import Budget
from karpenter.sim.scheduler.podfacts import PodFacts

VOLUME_PLUGINS: Final = frozenset({"VolumeBinding", "VolumeZone", "NodeVolumeLimits"})
_NO_PLUGIN: Final = frozenset[str]()

Changed = Callable[[frozenset[str]], None]
"""Told of a change, with the filters that may now judge otherwise."""


class ClusterSurroundings:
    """Lookups in the shared informers, and a stamp that moves only when something changes that scheduling looks at."""

    def __init__(self, informers: SharedInformers, *, changed: Changed) -> None:
        self._informers = informers
        self._changed = changed
        self._seen: dict[tuple[str, ObjectKey], object] = {}
        self.stamp = 0

    def observe(self) -> None:
        """Follow the kinds that matter from now on."""
        informers = self._informers
        self._follow(informers.namespaces, lambda one: one.metadata.labels, frozenset({"InterPodAffinity"}))
        self._follow(informers.services, lambda one: one.spec.selector, _NO_PLUGIN)
        self._follow(informers.replica_sets, lambda one: one.metadata.uid, _NO_PLUGIN)
        self._follow(informers.stateful_sets, lambda one: one.metadata.uid, _NO_PLUGIN)
        self._follow(informers.claims, _claim_facts, VOLUME_PLUGINS)
        self._follow(informers.volumes, lambda one: (one.spec, one.metadata.labels), VOLUME_PLUGINS)
        self._follow(informers.storage_classes, lambda one: one.metadata.uid, VOLUME_PLUGINS)
        self._follow(informers.csi_nodes, lambda one: one.spec, VOLUME_PLUGINS)

    def _follow(self, informer: Informer[Any], facts: Callable[[Any], object], plugins: frozenset[str]) -> None:
        def handle(event: WatchEvent[Any]) -> None:
            place = (informer.name, key_of(event.object))
            before = self._seen.pop(place, None)
            after = None if event.type == "DELETED" else facts(event.object)
            if after is not None:
                self._seen[place] = after
            if after != before:
                self.stamp += 1
                self._changed(plugins)

        informer.subscribe(handle)

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """Return a namespace's labels; empty for one that is not there."""
        found = self._informers.namespaces.get(ObjectKey("", namespace))
        return found.metadata.labels if found is not None else {}

    def default_selectors(self, pod: PodFacts) -> tuple[LabelSelector, ...]:
        """Return the selectors of the services that cover a pod and of the workload that owns it."""
        services = tuple(
            LabelSelector(match_labels=service.spec.selector)
            for service in self._informers.services.values()
            if service.metadata.namespace == pod.namespace
            and service.spec.selector
            and service.spec.selector.items() <= pod.labels.items()
        )
        owned = self._owner_selector(pod)
        return services if owned is None else (*services, owned)

    def _owner_selector(self, pod: PodFacts) -> LabelSelector | None:
        if pod.owner is None:
            return None
        key = ObjectKey(pod.namespace, pod.owner.name)
        match pod.owner.kind:
            case "ReplicaSet":
                replica_set = self._informers.replica_sets.get(key)
                return replica_set.spec.selector if replica_set is not None else None
            case "StatefulSet":
                stateful_set = self._informers.stateful_sets.get(key)
                return stateful_set.spec.selector if stateful_set is not None else None
            case _:
                return None

    def pod(self, key: ObjectKey) -> Pod | None:
        """Return a pod as the API has it; None when it is gone."""
        return self._informers.pods.get(key)

    def budgets(self) -> tuple[Budget, ...]:
        """Return all disruption budgets."""
        return tuple(self._informers.budgets.values())

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        """Return a claim; None when there is none."""
        return self._informers.claims.get(key)

    def volume(self, name: str) -> PersistentVolume | None:
        """Return a volume; None when there is none."""
        return self._informers.volumes.get(ObjectKey("", name))

    def storage_class(self, name: str) -> StorageClass | None:
        """Return a storage class; None when there is none."""
        return self._informers.storage_classes.get(ObjectKey("", name))

    def csi_node(self, name: str) -> CSINode | None:
        """Return what a node's volume drivers say; None when there is none."""
        return self._informers.csi_nodes.get(ObjectKey("", name))


def _claim_facts(claim: PersistentVolumeClaim) -> object:
    metadata = claim.metadata
    return claim.spec, claim.status.phase, metadata.annotations, metadata.is_deleting
