"""The watches that feed the cluster state, one per kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from karpenter.model.core import Node, Pod
from karpenter.model.errors import ManifestError
from karpenter.model.meta import LabelSelector
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.pause import CONFIG_MAP, NOTHING, read_pauses
from karpenter.model.pools import Mode, decode_nodeclaim, decode_pool
from karpenter.model.selecting import ReplicationController, SelectingSet
from karpenter.model.storage import CSINode
from karpenter.model.units import ObjectKey, PoolKey
from karpenter.runtime import kube, logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import run_all
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import KubeClient, RawObject, Resource, WatchEvent
from karpenter.runtime.metrics import Metrics
from karpenter.state.cluster import ClusterState

T = TypeVar("T")
log = logs.get("state")


class ClusterInformers:
    """Keeps a `ClusterState` up to date. Writers fold the answers to their writes in through it."""

    def __init__(
        self,
        client: KubeClient,
        state: ClusterState,
        *,
        clock: Clock,
        metrics: Metrics,
        namespace: str = "kube-system",
        mode: Mode = "compat",
        watches_selectors: bool = False,
    ) -> None:
        """`namespace` is where our own ConfigMaps are; Services and workloads are watched only when asked for."""
        self._state = state
        self._mode = mode
        self._all: list[Informer[Any]] = []

        def informer(resource: Resource[T], *, name: str = "") -> Informer[T]:
            scope = (namespace, f"metadata.name={name}") if name else ("", "")
            made = Informer(client, resource, clock=clock, metrics=metrics, namespace=scope[0], field_selector=scope[1])
            self._all.append(made)
            return made

        self.nodes = informer(kube.NODES)
        self.pods = informer(kube.PODS)
        self.claims = informer(kube.NODE_CLAIMS)
        self.provisioners = informer(kube.PROVISIONERS)
        self.node_pools = informer(kube.NODE_POOLS)
        self.attachments = informer(kube.VOLUME_ATTACHMENTS)
        self.pdbs = informer(kube.PDBS)
        self.pauses = informer(kube.CONFIG_MAPS, name=CONFIG_MAP)
        self.invalid_pools: dict[PoolKey, ManifestError] = {}
        """Pools that cannot be decoded, and why; they plan nothing until they are edited."""
        self._feed_views()
        self._feed(informer(kube.DAEMON_SETS), state.daemon_sets)
        self._feed(self.pdbs, state.pdbs)
        self._feed(informer(kube.PVCS), state.volume_claims)
        self._feed(informer(kube.LIMIT_RANGES), state.limit_ranges)
        self._feed(informer(kube.PVS), state.volumes, by=lambda key: key.name)
        self._feed(informer(kube.STORAGE_CLASSES), state.storage_classes, by=lambda key: key.name)
        self._feed(informer(kube.NAMESPACES), state.namespaces, by=lambda key: key.name)

        if watches_selectors:
            self._feed(informer(kube.SERVICES), state.services)
            for resource in (kube.REPLICA_SETS, kube.STATEFUL_SETS):
                self._feed_selectors(informer(resource), resource.kind)
            self._feed_selectors(informer(kube.REPLICATION_CONTROLLERS), kube.REPLICATION_CONTROLLERS.kind)

        def on_csi_node(event: WatchEvent[CSINode]) -> None:
            if event.object is None:
                return
            if event.type == "DELETED":
                state.drop_csi_node(event.object.metadata.name)
            else:
                state.set_csi_node(event.object)

        informer(kube.CSI_NODES).subscribe(on_csi_node)

    @property
    def has_synced(self) -> bool:
        """Whether every kind has been listed once."""
        return all(informer.has_synced for informer in self._all)

    async def wait_synced(self) -> None:
        """Return once every kind has been listed."""
        for informer in self._all:
            await informer.wait_synced()

    async def run(self) -> None:
        """Watch until cancelled."""
        await run_all(*self._all)

    def decode_claim(self, raw: RawObject) -> NodeClaim:
        """Take in a claim as the server answered, and return it decoded."""
        self.claims.fold(raw)
        return decode_nodeclaim(raw)

    def _feed_views(self) -> None:
        state = self._state

        def on_node(event: WatchEvent[Node]) -> None:
            if event.object is None:
                return
            if event.type == "DELETED":
                state.drop_node(event.object.metadata.name)
            else:
                state.set_node(event.object)

        def on_pod(event: WatchEvent[Pod]) -> None:
            if event.object is None:
                return
            if event.type == "DELETED":
                state.drop_pod(event.object.metadata.key)
            else:
                state.set_pod(event.object)

        self.nodes.subscribe(on_node)
        self.pods.subscribe(on_pod)
        self.claims.subscribe(self._on_claim)
        self.pauses.subscribe(self._on_pauses)
        self.provisioners.subscribe(self._on_pool)
        self.node_pools.subscribe(self._on_pool)

    def _on_claim(self, event: WatchEvent[RawObject]) -> None:
        if event.object is None:
            return
        name = event.object["metadata"]["name"]
        if event.type == "DELETED":
            self._state.drop_claim(name)
            return
        try:
            self._state.set_claim(decode_nodeclaim(event.object))
        except ManifestError as error:
            # An object that its own schema should have refused: said aloud, and left to its author.
            log.error("nodeclaim cannot be read", nodeclaim=name, error=error)

    def _on_pauses(self, event: WatchEvent[RawObject]) -> None:
        if event.object is None:
            return
        pauses = NOTHING if event.type == "DELETED" else read_pauses(event.object.get("data") or {})
        log.info("paused" if pauses != NOTHING else "resumed", cluster=pauses.cluster, pools=dict(pauses.pools))
        self._state.set_pauses(pauses)

    def _on_pool(self, event: WatchEvent[RawObject]) -> None:
        if event.object is None:
            return
        key = PoolKey(event.object["kind"], event.object["metadata"]["name"])
        self.invalid_pools.pop(key, None)
        if event.type == "DELETED":
            self._state.pools.pop(key, None)
        else:
            self._set_pool(key, event.object)
        self._state.touch()

    def _set_pool(self, key: PoolKey, raw: RawObject) -> None:
        try:
            pool, _ = decode_pool(raw, mode=self._mode)
        except ManifestError as error:
            self._state.pools.pop(key, None)
            self.invalid_pools[key] = error
            log.error("pool cannot be read", pool=str(key), error=error)
        else:
            self._state.pools[key] = pool

    def _feed_selectors(self, informer: Informer[SelectingSet] | Informer[ReplicationController], kind: str) -> None:
        state = self._state

        def on_event(event: WatchEvent[SelectingSet] | WatchEvent[ReplicationController]) -> None:
            if event.object is None:
                return
            namespace, name = event.object.metadata.key
            selector = event.object.spec.selector if event.type != "DELETED" else None
            state.set_selector(
                (namespace, kind, name), LabelSelector(selector) if isinstance(selector, dict) else selector
            )

        informer.subscribe(on_event)

    def _feed(
        self, informer: Informer[T], target: dict[Any, T], *, by: Callable[[ObjectKey], Any] = lambda key: key
    ) -> None:
        """Mirror an informer in a dict of the state."""
        state = self._state

        def on_event(event: WatchEvent[Any]) -> None:
            if event.object is None:
                return
            key = by(event.object.metadata.key)
            if event.type == "DELETED":
                target.pop(key, None)
            else:
                target[key] = event.object
            state.touch()

        informer.subscribe(on_event)


def pools_of(state: ClusterState) -> tuple[NodePool, ...]:
    """Return the pools that are not being deleted, sorted by kind and name."""
    return tuple(pool for key, pool in sorted(state.pools.items()) if not pool.metadata.is_deleting)
