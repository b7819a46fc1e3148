"""Every controller, and what wakes it: the whole operator on one screen.

The same wiring runs in a real cluster, in the demo and in virtual time; only client, cloud and clock differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, TypeVar

from karpenter.app.parts import Parts
from karpenter.app.settings import Settings
from karpenter.cloud.provider import CloudProvider
from karpenter.disruption.controller import INTERVAL_S
from karpenter.disruption.orchestrator import ids_of
from karpenter.disruption.repair import INTERVAL_S as CHECK_UP_S
from karpenter.lifecycle.pools import COUNT_AGAIN_S
from karpenter.model import labels
from karpenter.model.core import Node, Pod
from karpenter.model.nodepool import NodeClassRef
from karpenter.model.units import PoolKey
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import Controller, Reconciler, Result, Singleton, run_all
from karpenter.runtime.kube import KubeClient, RawObject, WatchEvent
from karpenter.runtime.metrics import Metrics
from karpenter.state.informers import pools_of
from karpenter.state.offers import load_offers

K = TypeVar("K", bound=Hashable)

OFFERS_INTERVAL_S: Final = 60.0


class Operator:
    """Our controllers over one cluster and one cloud."""

    def __init__(
        self,
        client: KubeClient,
        provider: CloudProvider,
        *,
        clock: Clock,
        settings: Settings,
        metrics: Metrics,
        well_known: frozenset[str] = frozenset(),
        class_generation: Callable[[NodeClassRef | None], int] = lambda _: 0,
    ) -> None:
        """`class_generation` returns the generation of a node class; 0 when nobody knows."""
        parts = Parts(client, provider, clock=clock, settings=settings, metrics=metrics)
        self.state, self.informers, self.recorder = parts.state, parts.informers, parts.recorder
        self._parts = parts
        self._provider = provider
        self._clock = clock
        self._metrics = metrics
        self._well_known = well_known
        self.memory = parts.memory
        self.evictions = parts.evictions
        self._hinting = parts.placement_hints()
        self.hints = self._controller(self._hinting, workers=10)
        self.provisioner = parts.provisioner(self.refresh_offers, planned=self.hints.enqueue)
        self.claims = self._controller(parts.claim_lifecycle(), workers=100)
        self.nodes = self._controller(parts.node_termination(), workers=100)
        self._marking = parts.marks()
        self.marks = self._controller(self._marking, workers=10)
        self.pools = self._controller(parts.pool_status(class_generation))
        self.pool_hashes = self._controller(parts.pool_hash())
        self.adoption = self._controller(parts.adoption(), workers=10)
        orchestrator = parts.orchestrator(self.provisioner)
        self.commands = self._controller(orchestrator, workers=100)
        disruption = parts.disruption(orchestrator, self.commands.enqueue)
        self.disruption = self._singleton("disruption", disruption.run_once)
        self.notices = parts.interruptions(self.provisioner)
        self.interruptions = self._controller(self.notices, workers=10)
        self.repair = self._singleton("node.health", parts.repair().run_once)
        self.garbage = self._singleton("nodeclaim.garbagecollection", self._once_synced(parts.garbage().collect))
        consistency = parts.consistency()
        self.consistency = self._singleton("nodeclaim.consistency", self._once_synced(consistency.check))
        self.offers = self._singleton("offers", self.refresh_offers, OFFERS_INTERVAL_S)
        self._subscribe()

    def _controller(self, reconciler: Reconciler[K], *, workers: int = 1) -> Controller[K]:
        return Controller(reconciler, clock=self._clock, workers=workers, metrics=self._metrics)

    def _singleton(
        self, name: str, fn: Callable[[], Awaitable[Result | None]], interval_s: float | None = None
    ) -> Singleton:
        return Singleton(name, fn, interval_s, clock=self._clock, metrics=self._metrics)

    def is_synced(self) -> bool:
        """Return whether the picture of the cluster is complete."""
        return self._parts.is_synced

    async def refresh_offers(self) -> None:
        """Ask the cloud again what every pool can launch."""
        offers = await load_offers(
            self._provider,
            pools_of(self.state),
            self._well_known,
            found=self._parts.found,
            problem=self._parts.breakers.problem,
        )
        self.state.set_offers(offers)

    def node_classes_changed(self) -> None:
        """Look again at everything that hangs on node classes: offers, drift, pods that nothing could help before."""
        self.offers.trigger()
        self._marking.forget_drift()
        for name in self.state.claims:
            self.marks.enqueue(name)
        for key in self.state.pools:
            self.pools.enqueue(key)
        self._plan_again()

    async def run(self) -> None:
        """Run everything until cancelled."""
        for each in (self.disruption, self.garbage, self.repair, self.consistency):
            each.trigger()
        async with asyncio.TaskGroup() as group:
            group.create_task(
                run_all(
                    self.informers,
                    self.memory,
                    self.recorder,
                    self.offers,
                    self.provisioner,
                    self.notices,
                )
            )
            # Half a picture misleads: a node whose pods have not been listed yet looks drained.
            await self._parts.wait_synced()
            group.create_task(
                run_all(
                    self.claims,
                    self.nodes,
                    self.hints,
                    self.evictions,
                    self.marks,
                    self.pools,
                    self.pool_hashes,
                    self.adoption,
                    self.disruption,
                    self.commands,
                    self.interruptions,
                    self.repair,
                    self.garbage,
                    self.consistency,
                )
            )

    def _once_synced(self, fn: Callable[[], Awaitable[Result]]) -> Callable[[], Awaitable[Result]]:
        async def run() -> Result:
            await self._parts.wait_synced()
            return await fn()

        return run

    # --- what wakes whom ------------------------------------------------------------------------------------------

    def _subscribe(self) -> None:
        self.state.on_change(self._on_change)
        self.informers.claims.subscribe(self._on_claim)
        self.informers.nodes.subscribe(self._on_node)
        self.informers.pods.subscribe(self.provisioner.on_pod)
        self.informers.pods.subscribe(self._on_pod)
        self.informers.provisioners.subscribe(self._on_pool)
        measures = self._parts.measures
        self.informers.pods.subscribe(measures.pod_times.on_pod)
        self.informers.nodes.subscribe(measures.conditions.on_node)
        self.informers.claims.subscribe(measures.conditions.on_object("nodeclaim"))
        self.informers.node_pools.subscribe(measures.conditions.on_object("nodepool"))
        self.informers.node_pools.subscribe(self._on_pool)
        self.informers.pauses.subscribe(self._on_pause)

    def _on_change(self) -> None:
        """Let be looked at soon what depends on everything; what comes meanwhile is seen in the same look."""
        self.disruption.trigger_after(INTERVAL_S)
        self.repair.trigger_after(CHECK_UP_S)
        for key in self.state.pools:
            self.pools.enqueue_after(key, COUNT_AGAIN_S)

    def _on_claim(self, event: WatchEvent[RawObject]) -> None:
        if event.object is None:
            return
        name = event.object["metadata"]["name"]
        self.claims.enqueue(name)
        self.marks.enqueue(name)
        self.adoption.enqueue(name)
        claim = self.state.claims.get(name)
        if claim is None:
            return
        if claim.pool is not None:
            self.pools.enqueue(claim.pool)
        for command in ids_of(claim):
            self.commands.enqueue(command)
        if labels.INTERRUPTION in claim.metadata.annotations:
            self.interruptions.enqueue(name)
        self._hint(self.state.node_of(claim))
        if claim.metadata.is_deleting:
            self.provisioner.trigger(name)

    def _on_node(self, event: WatchEvent[Node]) -> None:
        if event.object is None:
            return
        node = event.object
        self.nodes.enqueue(node.metadata.name)
        self._wake_claim(node)
        self._hint(node)
        if node.metadata.is_deleting:
            self.provisioner.trigger(node.metadata.name)

    def _on_pod(self, event: WatchEvent[Pod]) -> None:
        if event.object is not None and self._hinting.concerned(event.object):
            self.hints.enqueue(event.object.metadata.key)
        if event.object is None or not event.object.spec.node_name:
            return
        node = self.state.nodes.get(event.object.spec.node_name)
        if node is None:
            return
        if node.metadata.is_deleting:
            self.nodes.enqueue(node.metadata.name)
        claim = self.state.claim_of(node)
        if claim is not None:
            self.marks.enqueue(claim.name)

    def _on_pool(self, event: WatchEvent[RawObject]) -> None:
        if event.object is None:
            return
        key = PoolKey(event.object["kind"], event.object["metadata"]["name"])
        self.pools.enqueue(key)
        self.pool_hashes.enqueue(key)
        for claim in self.state.claims.values():
            self.adoption.enqueue(claim.name)
            if claim.pool == key:
                self.marks.enqueue(claim.name)
        # A new or changed pool may help pods that nothing could help before.
        self.offers.trigger()
        self._plan_again()

    def _on_pause(self, event: WatchEvent[RawObject]) -> None:
        self.disruption.trigger()
        self._plan_again()

    def _plan_again(self) -> None:
        """Let every pod that waits be planned for: what stopped it may be gone."""
        for pod in self.state.provisionable_pods():
            self.provisioner.trigger(pod.metadata.uid)

    def _hint(self, node: Node | None) -> None:
        for key in self._hinting.on(node) if node is not None else ():
            self.hints.enqueue(key)

    def _wake_claim(self, node: Node) -> None:
        claim = self.state.claim_of(node)
        if claim is not None:
            self.claims.enqueue(claim.name)
            self.marks.enqueue(claim.name)
