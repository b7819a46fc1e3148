"""How each controller is made: what it is given, out of what they all share."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable

from karpenter.app.measures.publisher import Measures
from karpenter.app.settings import Settings
from karpenter.cloud.provider import CloudProvider
from karpenter.disruption.context import Context
from karpenter.disruption.controller import Disruption
from karpenter.disruption.freshness import Freshness
from karpenter.disruption.interruption import Interruptions
from karpenter.disruption.ledger import Ledger
from karpenter.disruption.marks import Marks
from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.orchestrator import Orchestrator
from karpenter.disruption.repair import Repair
from karpenter.disruption.retreat import Retreat
from karpenter.lifecycle.adoption import Adoption
from karpenter.lifecycle.breakers import Breakers
from karpenter.lifecycle.claims import ClaimLifecycle
from karpenter.lifecycle.consistency import Consistency
from karpenter.lifecycle.evictions import EvictionQueue
from karpenter.lifecycle.garbage import GarbageCollection
from karpenter.lifecycle.instances import Instances, Pace
from karpenter.lifecycle.launch import Launcher
from karpenter.lifecycle.machine import Timeouts
from karpenter.lifecycle.nodes import NodeTermination
from karpenter.lifecycle.poolhash import PoolHash
from karpenter.lifecycle.pools import PoolStatus
from karpenter.lifecycle.registration import RegistrationHealth
from karpenter.lifecycle.termination import ClaimTermination
from karpenter.lifecycle.writer import Writer
from karpenter.model.core import Pod
from karpenter.model.nodepool import NodeClassRef
from karpenter.model.units import ObjectKey
from karpenter.provisioning.batcher import Batcher
from karpenter.provisioning.controller import Provisioner, ProvisioningSettings
from karpenter.provisioning.governor import Governor
from karpenter.provisioning.hinting import PlacementHints
from karpenter.provisioning.writing import ClaimWriter
from karpenter.runtime.backoff import Backoff
from karpenter.runtime.clock import Clock
from karpenter.runtime.events import EventRecorder
from karpenter.runtime.kube import KubeClient
from karpenter.runtime.metrics import Metrics
from karpenter.scheduling import Options
from karpenter.state.allocatable import FoundAllocatable
from karpenter.state.cluster import ClusterState
from karpenter.state.informers import ClusterInformers
from karpenter.state.memory import Memory

FIRST_RETRY_S, LONGEST_RETRY_S = 0.5, 10.0


class Parts:
    """Makes the controllers of one operator."""

    def __init__(
        self, client: KubeClient, provider: CloudProvider, *, clock: Clock, settings: Settings, metrics: Metrics
    ) -> None:
        namespace = settings.process.leader_election_namespace
        self._client = client
        self._provider = provider
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._options = Options(policy=settings.policy)
        self.state = ClusterState()
        self.informers = ClusterInformers(
            client,
            self.state,
            clock=clock,
            metrics=metrics,
            namespace=namespace,
            watches_selectors=bool(settings.policy.default_spread) or settings.policy.workload_share is not None,
        )
        self.recorder = EventRecorder(client, clock, metrics=metrics)
        self.memory = Memory(client, clock=clock, namespace=namespace, backoff=_backoff("memory"))
        self.found = FoundAllocatable(self.memory)
        self.health = RegistrationHealth()
        self.breakers = Breakers(self.memory, self.state, clock=clock)
        self._writer = Writer(client, self.informers, metrics=metrics)
        governor = Governor(settings.launch, self.breakers, clock=clock)
        self._claim_writer = ClaimWriter(client, self.informers, governor=governor, metrics=metrics)
        self.evictions = EvictionQueue(client, self.recorder, is_wanted=self._is_draining, clock=clock, metrics=metrics)
        self.context = Context(
            state=self.state,
            writer=self._writer,
            claims=self._claim_writer,
            freshness=Freshness(client, self.state, self.informers),
            recorder=self.recorder,
            clock=clock,
            metrics=metrics,
            options=DisruptionOptions(solve=self._options, expiration=settings.expiration),
        )
        self.retreat = Retreat(self.context, client)
        self.measures = Measures(
            self.state, metrics, clock=clock, settings=settings.metrics, is_synced=lambda: self.is_synced
        )

    @property
    def is_synced(self) -> bool:
        """Whether the picture of the cluster is complete."""
        return self.informers.has_synced and self.memory.is_loaded

    async def wait_synced(self) -> None:
        """Return once the picture of the cluster is complete."""
        await self.informers.wait_synced()
        await self.memory.wait_loaded()

    def _is_draining(self, name: str) -> bool:
        node = self.state.nodes.get(name)
        claim = self.state.claim_of(node) if node else None
        is_leaving = node is not None and node.metadata.is_deleting
        return is_leaving and claim is not None and not self.state.is_draining_paused(claim)

    def provisioner(
        self, refresh_offers: Callable[[], Awaitable[None]], *, planned: Callable[[ObjectKey], None]
    ) -> Provisioner:
        """Return what plans machines for pending pods; `planned` is told of each that has a place."""
        batch = self._settings.batch
        decided = self.measures.pod_times.decided

        def tell(placed: Iterable[Pod], refused: Iterable[Pod]) -> None:
            pods = tuple(placed)
            decided(pods, refused)
            for pod in pods:
                planned(pod.metadata.key)

        return Provisioner(
            self.state,
            self._claim_writer,
            refresh_offers=refresh_offers,
            is_synced=lambda: self.is_synced,
            batcher=Batcher(self._clock, batch),
            recorder=self.recorder,
            clock=self._clock,
            metrics=self._metrics,
            settings=ProvisioningSettings(options=self._options, nomination_s=max(10.0, 2 * batch.max_s)),
            decided=tell,
        )

    def placement_hints(self) -> PlacementHints:
        """Return what tells kube-scheduler where pods were planned."""
        return PlacementHints(
            self._client, self.state, self.informers, clock=self._clock, settings=self._settings.placement
        )

    def claim_lifecycle(self) -> ClaimLifecycle:
        """Return what brings claims from birth to death."""
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
            breakers=self.breakers,
            health=self.health,
            found=self.found,
            recorder=self.recorder,
        )

    def node_termination(self) -> NodeTermination:
        """Return what drains nodes and ends their machines."""
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

    def marks(self) -> Marks:
        """Return what keeps the conditions that disruption goes by."""
        return Marks(self.state, self._writer, self._provider, recorder=self.recorder, clock=self._clock)

    def pool_status(self, class_generation: Callable[[NodeClassRef | None], int]) -> PoolStatus:
        """Return what keeps the status of pools."""
        return PoolStatus(
            self._client,
            self.state,
            self.informers,
            health=self.health,
            class_generation=class_generation,
            clock=self._clock,
            metrics=self._metrics,
        )

    def pool_hash(self) -> PoolHash:
        """Return what writes the digests of pools."""
        return PoolHash(self._client, self.state, self._writer)

    def adoption(self) -> Adoption:
        """Return what hands the nodes of Provisioners over to NodePools."""
        return Adoption(self.state, self._writer, self.recorder)

    def garbage(self) -> GarbageCollection:
        """Return what finds claims without machines and machines without claims."""
        return GarbageCollection(self._provider, self.state, self._writer, clock=self._clock)

    def consistency(self) -> Consistency:
        """Return what finds nodes that are smaller than their claims say."""
        return Consistency(self.state, self._writer, recorder=self.recorder, clock=self._clock)

    def orchestrator(self, provisioner: Provisioner) -> Orchestrator:
        """Return what carries commands out."""
        return Orchestrator(self.context, self.retreat, is_synced=lambda: self.is_synced, plan_anew=provisioner.trigger)

    def disruption(self, orchestrator: Orchestrator, enqueue: Callable[[str], None]) -> Disruption:
        """Return what decides which nodes to give back."""
        return Disruption(
            self.context,
            orchestrator,
            self.retreat,
            ledger=Ledger(self.memory, self.recorder, self._options.policy),
            is_synced=lambda: self.is_synced,
            enqueue=enqueue,
        )

    def interruptions(self, provisioner: Provisioner) -> Interruptions:
        """Return what replaces machines that the cloud takes away."""
        return Interruptions(
            self.context,
            self._provider.interruptions,
            settings=self._settings.interruption,
            wait_synced=self.wait_synced,
            plan_now=provisioner.plan_now,
            backoff=_backoff("interruption"),
        )

    def repair(self) -> Repair:
        """Return what replaces nodes that have been broken for long."""
        policies = self._provider.repair_policies if self._settings.repair.enabled else ()
        return Repair(self.context, policies, is_synced=lambda: self.is_synced)


def _backoff(name: str) -> Backoff:
    return Backoff(random.Random(name), base_s=FIRST_RETRY_S, cap_s=LONGEST_RETRY_S)
