"""One copy of each kind for all stand-ins, as controllers of a real control plane share theirs."""

from __future__ import annotations

from typing import Any, TypeVar

from karpenter.runtime import kube as api
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import run_all
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import KubeClient, Resource
from karpenter.runtime.metrics import Metrics
from karpenter.sim import kinds
from karpenter.sim.indexes import PodIndex, controller_of, node_of, orphanage_of

T = TypeVar("T")


class SharedInformers:
    """The objects that scheduler, kubelets and controllers look at."""

    def __init__(self, kube: KubeClient, clock: Clock, *, metrics: Metrics) -> None:
        def informer(resource: Resource[T]) -> Informer[T]:
            return Informer(kube, resource, clock=clock, metrics=metrics)

        self.pods = informer(api.PODS)
        self.nodes = informer(api.NODES)
        self.namespaces = informer(kinds.NAMESPACES)
        self.services = informer(kinds.SERVICES)
        self.deployments = informer(kinds.DEPLOYMENTS)
        self.replica_sets = informer(kinds.REPLICA_SETS)
        self.stateful_sets = informer(kinds.STATEFUL_SETS)
        self.daemon_sets = informer(kinds.DAEMON_SETS)
        self.budgets = informer(kinds.BUDGETS)
        self.leases = informer(kinds.LEASES)
        self.claims = informer(api.PVCS)
        self.volumes = informer(api.PVS)
        self.storage_classes = informer(api.STORAGE_CLASSES)
        self.csi_nodes = informer(api.CSI_NODES)
        self.priority_classes = informer(api.PRIORITY_CLASSES)
        self.node_claims = informer(kinds.NODE_CLAIMS)
        self.others = tuple(informer(resource) for resource in kinds.OTHERS_WITH_OWNERS)
        """Kinds of which only the metadata matters here."""
        self.pods_by_node = PodIndex(self.pods, node_of)
        self.pods_by_controller = PodIndex(self.pods, controller_of)
        """By the controller's uid."""
        self.orphans_by_namespace = PodIndex(self.pods, orphanage_of)
        """Pods that nobody controls."""

    @property
    def all(self) -> tuple[Informer[Any], ...]:
        """Every informer."""
        return (*(one for one in vars(self).values() if isinstance(one, Informer)), *self.others)

    @property
    def needed(self) -> tuple[Informer[Any], ...]:
        """Informers of kinds that every cluster serves; the others may be kinds whose definition comes later."""
        return tuple(one for one in self.all if one is not self.node_claims and one not in self.others)

    async def wait_synced(self) -> None:
        """Return once every kind that each cluster serves has been listed."""
        for informer in self.needed:
            await informer.wait_synced()

    async def run(self) -> None:
        """Keep all copies up to date until cancelled."""
        await run_all(*self.all)
