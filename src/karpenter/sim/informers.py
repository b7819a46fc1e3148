"""One copy of each kind for all stand-ins, as controllers of a real control plane share theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from karpenter.runtime import kube as api
from karpenter.runtime.clock import Clock
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import KubeClient, Resource, WatchEvent
from karpenter.runtime.metrics import Metrics
from karpenter.sim import batchkinds, kinds, storagekinds
from karpenter.sim.indexes import (
    Index,
    claim_of,
    claims_of,
    controller_of,
    node_attached_to,
    node_of,
    orphanage_of,
    volume_of,
)
from karpenter.sim.kinds import Definition

T = TypeVar("T")


class SharedInformers:
    """The objects that scheduler, kubelets and controllers look at."""

    def __init__(self, kube: KubeClient, clock: Clock, *, metrics: Metrics) -> None:
        def informer(resource: Resource[T]) -> Informer[T]:
            return Informer(kube, resource, clock=clock, metrics=metrics)

        self.pods = informer(api.PODS)
        self.nodes = informer(api.NODES)
        self.namespaces = informer(kinds.NAMESPACES)
        self.service_accounts = informer(kinds.SERVICE_ACCOUNTS)
        self.services = informer(kinds.SERVICES)
        self.deployments = informer(kinds.DEPLOYMENTS)
        self.replica_sets = informer(kinds.REPLICA_SETS)
        self.stateful_sets = informer(kinds.STATEFUL_SETS)
        self.daemon_sets = informer(kinds.DAEMON_SETS)
        self.jobs = informer(batchkinds.JOBS)
        self.cron_jobs = informer(batchkinds.CRON_JOBS)
        self.budgets = informer(kinds.BUDGETS)
        self.leases = informer(kinds.LEASES)
        self.revisions = informer(kinds.CONTROLLER_REVISIONS)
        self.claims = informer(storagekinds.CLAIMS)
        self.volumes = informer(storagekinds.VOLUMES)
        self.storage_classes = informer(storagekinds.STORAGE_CLASSES)
        self.attachments = informer(storagekinds.ATTACHMENTS)
        self.csi_nodes = informer(api.CSI_NODES)
        self.priority_classes = informer(api.PRIORITY_CLASSES)
        self.definitions = informer(kinds.DEFINITIONS)
        self.others = tuple(informer(resource) for resource in kinds.OTHERS_WITH_OWNERS)
        """Kinds of which only the metadata matters here."""
        self.node_claims = informer(kinds.NODE_CLAIMS)
        self.custom = CustomInformers(self.definitions, informer, known=(self.node_claims,))
        self.pods_by_node = Index(self.pods, node_of)
        self.pods_by_controller = Index(self.pods, controller_of)
        """By the controller's uid."""
        self.orphans_by_namespace = Index(self.pods, orphanage_of)
        """Pods that nobody controls."""
        self.pods_by_claim = Index(self.pods, claims_of)
        """By `NAMESPACE/NAME` of each claim that they mount, or that is to be made for them."""
        self.volumes_by_claim = Index(self.volumes, claim_of)
        """By `NAMESPACE/NAME` of the claim that they are bound to or kept for."""
        self.revisions_by_owner = Index(self.revisions, controller_of)
        self.jobs_by_owner = Index(self.jobs, controller_of)
        self.attachments_by_node = Index(self.attachments, node_attached_to)
        self.attachments_by_volume = Index(self.attachments, volume_of)

    @property
    def builtin(self) -> tuple[Informer[Any], ...]:
        """The informers of kinds that every cluster serves."""
        named = (one for one in vars(self).values() if isinstance(one, Informer) and one is not self.node_claims)
        return (*named, *self.others)

    async def wait_synced(self) -> None:
        """Return once every kind that each cluster serves has been listed."""
        for informer in self.builtin:
            await informer.wait_synced()

    async def run(self) -> None:
        """Keep all copies up to date until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self.builtin:
                group.create_task(informer.run(), name=informer.name)
            group.create_task(self.custom.run())


class CustomInformers:
    """Informers of the kinds that CustomResourceDefinitions define, for as long as they do."""

    def __init__(
        self,
        definitions: Informer[Definition],
        informer: Callable[[Resource[Any]], Informer[Any]],
        *,
        known: tuple[Informer[Any], ...],
    ) -> None:
        """`known` are informers that somebody else reads too; they are run when their kind is there."""
        self._definitions = definitions
        self._informer = informer
        self._known = {(one.resource.group, one.resource.plural): one for one in known}
        self._informers: dict[str, Informer[Any]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._listeners: list[Callable[[Informer[Any]], None]] = []
        self._news = asyncio.Event()
        definitions.subscribe(self._changed)

    @property
    def resources(self) -> tuple[Resource[Any], ...]:
        """The custom kinds that are served now."""
        return tuple(self._informers[name].resource for name in self._tasks)

    def subscribe(self, listener: Callable[[Informer[Any]], None]) -> None:
        """Call with the informer of each custom kind that there is, and of each that comes."""
        self._listeners.append(listener)
        for informer in self._informers.values():
            listener(informer)

    async def run(self) -> None:
        """Run the informers of all kinds that are defined until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._news.clear()
                self._start_and_stop(group)
                await self._news.wait()

    def _changed(self, event: WatchEvent[Definition]) -> None:
        self._news.set()

    def _start_and_stop(self, group: asyncio.TaskGroup) -> None:
        served: dict[str, Resource[Any]] = {}
        for definition in self._definitions.values():
            resource = kinds.custom_resource(definition)
            if resource is not None:
                served[definition.metadata.name] = resource
        for name in [name for name in self._tasks if name not in served]:
            self._tasks.pop(name).cancel()
        for name, resource in served.items():
            if name not in self._tasks:
                informer = self._get(name, resource)
                self._tasks[name] = group.create_task(informer.run(), name=informer.name)

    def _get(self, name: str, resource: Resource[Any]) -> Informer[Any]:
        informer = self._informers.get(name)
        if informer is None:
            informer = self._known.get((resource.group, resource.plural)) or self._informer(resource)
            self._informers[name] = informer
            for listener in self._listeners:
                listener(informer)
        return informer
