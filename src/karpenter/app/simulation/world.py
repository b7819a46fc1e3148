"""The input as the operator would see it: one snapshot of the cluster.

It goes through the operator's own cluster state, so that whatever counts there counts here in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from karpenter.app.manifests.kept import pauses_in
from karpenter.app.manifests.load import Input
from karpenter.app.simulation.offers import Price, Quote
from karpenter.cloud.unavailable import OfferingKey
from karpenter.disruption.records import record_on
from karpenter.model import labels
from karpenter.model.core import DaemonSet, LimitRange, Namespace, Node, PodDisruptionBudget, Service
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.storage import CSINode, PersistentVolume, StorageClass
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.snapshot import NodeView, Snapshot
from karpenter.state.cluster import ClusterState

T = TypeVar("T")


def snapshot_of(given: Input, quote: Quote, *, now: UnixSeconds) -> Snapshot:
    """Return the cluster that the input describes, what is paused in it included.

    Nodes are priced by their labels, also those of no pool.

    Nodes that a command or an interruption is about to take count as leaving, as they do for the operator.
    """
    state = ClusterState()
    state.set_pauses(pauses_in(given))
    state.set_offers(quote.offers)
    _fill(state, given)
    snapshot = state.snapshot(now)
    return replace(snapshot, nodes=tuple(_priced(view, quote.price) for view in snapshot.nodes))


def _fill(state: ClusterState, given: Input) -> None:
    objects = given.objects
    state.pools.update({pool.key: pool for pool in objects.of(NodePool)})
    state.daemon_sets.update({each.metadata.key: each for each in objects.of(DaemonSet)})
    state.pdbs.update({each.metadata.key: each for each in objects.of(PodDisruptionBudget)})
    state.volume_claims.update({each.metadata.key: each for each in given.volume_claims})
    state.volumes.update({each.metadata.name: each for each in objects.of(PersistentVolume)})
    state.storage_classes.update({each.metadata.name: each for each in objects.of(StorageClass)})
    state.namespaces.update({each.metadata.name: each for each in objects.of(Namespace)})
    state.limit_ranges.update({each.metadata.key: each for each in objects.of(LimitRange)})
    state.services.update({each.metadata.key: each for each in objects.of(Service)})
    for kind, workload in objects.workloads():
        namespace, name = workload.metadata.key
        state.set_selector((namespace, kind, name), workload.spec.selector)
    _each(objects.of(NodeClaim), state.set_claim)
    _each(objects.of(Node), state.set_node)
    _each(objects.of(CSINode), state.set_csi_node)
    _each(given.pods, state.set_pod)
    for claim in objects.of(NodeClaim):
        if record_on(claim) is not None or labels.INTERRUPTION in claim.metadata.annotations:
            node = state.node_of(claim)
            state.mark_for_deletion(node.metadata.name if node else claim.name)


def _each(values: tuple[T, ...], take: Callable[[T], None]) -> None:
    for value in values:
        take(value)


def _priced(view: NodeView, price: Price) -> NodeView:
    """A node of nobody's pool says no capacity type of ours; it is then priced as on-demand."""
    if view.price is not None or view.instance_type is None or view.zone is None:
        return view
    key = OfferingKey(view.instance_type, view.zone, view.capacity_type or labels.ON_DEMAND)
    return replace(view, price=price(key))
