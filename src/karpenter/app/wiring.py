"""Every controller, and what wakes it: the whole operator on one screen.

The same wiring runs in a real cluster, in the demo and in virtual time; only client, cloud and clock differ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Final, TypeVar

from karpenter.app.settings import Settings
from karpenter.cloud.provider import CloudProvider
from karpenter.disruption.controller import Disruption
from karpenter.disruption.marks import Marks
from karpenter.lifecycle.claims import ClaimLifecycle
from karpenter.lifecycle.evictions import EvictionQueue
from karpenter.lifecycle.garbage import GarbageCollection
from karpenter.lifecycle.instances import Instances, Pace
from karpenter.lifecycle.launch import Launcher
from karpenter.lifecycle.machine import Timeouts
from karpenter.lifecycle.nodes import NodeTermination
from karpenter.lifecycle.pools import PoolStatus
from karpenter.lifecycle.termination import ClaimTermination
from karpenter.lifecycle.writer import Writer
from karpenter.model.core import Node, Pod
from karpenter.model.units import PoolKey
from karpenter.provisioning.batcher import Batcher
from karpenter.provisioning.controller import Provisioner, ProvisioningSettings
from karpenter.provisioning.writing import ClaimWriter
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import Controller, Reconciler, Result, Singleton, run_all
from karpenter.runtime.events import EventRecorder
from karpenter.runtime.kube import KubeClient, RawObject, WatchEvent
from karpenter.runtime.metrics import Metrics
from karpenter.scheduling import Options
from karpenter.state.cluster import ClusterState
from karpenter.state.informers import ClusterInformers, pools_of
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
    ) -> None:
        self.state = ClusterState()
        self.informers = ClusterInformers(client, self.state, clock=clock, metrics=metrics)
        self.recorder = EventRecorder(client, clock, metrics=metrics)
        self.evictions = EvictionQueue(client, self.recorder, clock=clock, metrics=metrics)
        self._client = client
        self._provider = provider
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._well_known = well_known
        self._writer = Writer(client, self.informers, metrics=metrics)
        self.provisioner = self._make_provisioner()
        self.claims = self._controller(self._claim_lifecycle(), workers=100)
        self.nodes = self._controller(self._node_termination(), workers=100)
        self.marks = self._controller(Marks(self.state, self._writer, clock=clock), workers=10)
        self.pools = self._controller(PoolStatus(client, self.state, clock=clock, metrics=metrics))
        self.disruption = self._singleton("disruption", self._make_disruption().run_once)
        garbage = GarbageCollection(provider, self.state, self._writer, clock=clock)
        self.garbage = self._singleton("nodeclaim.garbagecollection", self._once_synced(garbage.collect))
        self.offers = self._singleton("offers", self.refresh_offers, OFFERS_INTERVAL_S)
        self._subscribe()

    # --- how each is made -----------------------------------------------------------------------------------------

    def _make_provisioner(self) -> Provisioner:
        batch = self._settings.batch
        return Provisioner(
            self.state,
            ClaimWriter(self._client, self.informers, metrics=self._metrics),
            refresh_offers=self.refresh_offers,
            is_synced=self.is_synced,
            batcher=Batcher(self._clock, batch),
            recorder=self.recorder,
            clock=self._clock,
            metrics=self._metrics,
            settings=ProvisioningSettings(
                options=Options(policy=self._settings.policy), nomination_s=max(10.0, 2 * batch.max_s)
            ),
        )

    def _claim_lifecycle(self) -> ClaimLifecycle:
        return ClaimLifecycle(
            self.state,
            self._writer,
            launcher=Launcher(self._provider, self._writer, self.recorder, clock=self._clock),
            termination=ClaimTermination(
                self.state,
                self._writer,
                Instances(self._provider),
                recorder=self.recorder,
                clock=self._clock,
                metrics=self._metrics,
                pace=Pace(),
            ),
            clock=self._clock,
            metrics=self._metrics,
            timeouts=Timeouts(),
        )

    def _node_termination(self) -> NodeTermination:
        return NodeTermination(
            self._client,
            self.state,
            self.informers,
            writer=self._writer,
            instances=Instances(self._provider),
            evictions=self.evictions,
            recorder=self.recorder,
            clock=self._clock,
            metrics=self._metrics,
            pace=Pace(),
        )

    def _make_disruption(self) -> Disruption:
        return Disruption(
            self._client,
            self.state,
            self._writer,
            is_synced=self.is_synced,
            recorder=self.recorder,
            clock=self._clock,
            metrics=self._metrics,
        )

    def _controller(self, reconciler: Reconciler[K], *, workers: int = 1) -> Controller[K]:
        return Controller(reconciler, clock=self._clock, workers=workers, metrics=self._metrics)

    def _singleton(
        self, name: str, fn: Callable[[], Awaitable[Result | None]], interval_s: float | None = None
    ) -> Singleton:
        return Singleton(name, fn, interval_s, clock=self._clock, metrics=self._metrics)

    def is_synced(self) -> bool:
        """Return whether the picture of the cluster is complete."""
        return self.informers.has_synced

    async def refresh_offers(self) -> None:
        """Ask the cloud again what every pool can launch."""
        offers = await load_offers(self._provider, pools_of(self.state), self._well_known)
        self.state.set_offers(offers)

    async def run(self) -> None:
        """Run everything until cancelled."""
        self.disruption.trigger()
        self.garbage.trigger()
        await run_all(
            self.informers,
            self.recorder,
            self.offers,
            self.provisioner,
            self.claims,
            self.nodes,
            self.evictions,
            self.marks,
            self.pools,
            self.disruption,
            self.garbage,
        )

    def _once_synced(self, fn: Callable[[], Awaitable[Result]]) -> Callable[[], Awaitable[Result]]:
        async def run() -> Result:
            await self.informers.wait_synced()
            return await fn()

        return run

    # --- what wakes whom ------------------------------------------------------------------------------------------

    def _subscribe(self) -> None:
        self.informers.claims.subscribe(self._on_claim)
        self.informers.nodes.subscribe(self._on_node)
        self.informers.pods.subscribe(self.provisioner.on_pod)
        self.informers.pods.subscribe(self._on_pod)
        self.informers.provisioners.subscribe(self._on_pool)
        self.informers.node_pools.subscribe(self._on_pool)

    def _on_claim(self, event: WatchEvent[RawObject]) -> None:
        if event.object is None:
            return
        name = event.object["metadata"]["name"]
        self.claims.enqueue(name)
        self.marks.enqueue(name)
        claim = self.state.claims.get(name)
        if claim is not None and claim.pool is not None:
            self.pools.enqueue(claim.pool)
        if claim is not None and claim.metadata.is_deleting:
            self.provisioner.trigger(name)

    def _on_node(self, event: WatchEvent[Node]) -> None:
        if event.object is None:
            return
        node = event.object
        self.nodes.enqueue(node.metadata.name)
        self._wake_claim(node)
        if node.metadata.is_deleting:
            self.provisioner.trigger(node.metadata.name)

    def _on_pod(self, event: WatchEvent[Pod]) -> None:
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
        self.pools.enqueue(PoolKey(event.object["kind"], event.object["metadata"]["name"]))
        # A new or changed pool may help pods that nothing could help before.
        self.offers.trigger()
        for pod in self.state.provisionable_pods():
            self.provisioner.trigger(pod.metadata.uid)

    def _wake_claim(self, node: Node) -> None:
        claim = self.state.claim_of(node)
        if claim is not None:
            self.claims.enqueue(claim.name)
            self.marks.enqueue(claim.name)
