"""The only mutable picture of the cluster: fed by informers, read through snapshots.

Every event replaces what it concerns and marks one view as stale; `snapshot` rebuilds the stale views and shares the
rest. Events may come late, twice or in another order: the same objects always end in the same state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import msgspec

from karpenter.model.core import DaemonSet, LimitRange, Namespace, Node, Pod, PodDisruptionBudget, Service
from karpenter.model.instancetype import InstanceType
from karpenter.model.meta import LabelSelector
from karpenter.model.nodeclaim import NodeClaim, was_our_choice
from karpenter.model.nodepool import NodePool
from karpenter.model.pause import NOTHING, Pauses
from karpenter.model.pods import is_provisionable, is_reschedulable, is_terminal
from karpenter.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karpenter.model.units import ObjectKey, PoolKey, ProviderID, UnixSeconds
from karpenter.scheduling.snapshot import NodeView, Snapshot, Volumes
from karpenter.state.daemons import daemon_pods
from karpenter.state.offers import Offers
from karpenter.state.plans import Plan, Plans
from karpenter.state.pools import pool_views
from karpenter.state.views import Marks, node_view


class ClusterState:
    """Nodes, claims, pods and pools as last seen, with what the operator itself decided about them."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.claims: dict[str, NodeClaim] = {}
        self.pods: dict[ObjectKey, Pod] = {}
        self.pools: dict[PoolKey, NodePool] = {}
        self.daemon_sets: dict[ObjectKey, DaemonSet] = {}
        self.pdbs: dict[ObjectKey, PodDisruptionBudget] = {}
        self.volume_claims: dict[ObjectKey, PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.storage_classes: dict[str, StorageClass] = {}
        self.csi_nodes: dict[str, CSINode] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.limit_ranges: dict[ObjectKey, LimitRange] = {}
        self.services: dict[ObjectKey, Service] = {}
        """Filled only where default spread constraints are set, like `selectors`."""
        self.selectors: dict[tuple[str, str, str], LabelSelector] = {}
        """What workloads select, by namespace, kind and name."""
        self.pauses: Pauses = NOTHING
        self.generation = 0
        self._offers = Offers()
        self._pods_on: defaultdict[str, set[ObjectKey]] = defaultdict(set)
        self._claim_of: dict[ProviderID, str] = {}
        self._node_of: dict[ProviderID, str] = {}
        self._marks: dict[str, Marks] = {}
        self._plans = Plans()
        self._views: dict[str, NodeView] = {}
        self._stale: set[str] = set()
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have `listener` called whenever the generation has risen: often, so it must be quick."""
        self._listeners.append(listener)

    # --- events ---------------------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> None:
        """Take in a node as it is now; a heartbeat changes nothing that a decision could look at."""
        before = self.nodes.get(node.metadata.name)
        self.nodes[node.metadata.name] = node
        if before is not None and _as_of(before, node.metadata.resource_version) == node:
            self._stale.add(node.metadata.name)
            return
        if node.spec.provider_id:
            provider_id = ProviderID(node.spec.provider_id)
            self._node_of[provider_id] = node.metadata.name
            self._touch(self._claim_of.get(provider_id))
        self._touch(node.metadata.name)

    def drop_node(self, name: str) -> None:
        """Forget a node that no longer exists."""
        node = self.nodes.pop(name, None)
        if node and node.spec.provider_id and self._node_of.get(ProviderID(node.spec.provider_id)) == name:
            del self._node_of[ProviderID(node.spec.provider_id)]
            self._touch(self._claim_of.get(ProviderID(node.spec.provider_id)))
        self._marks.pop(name, None)
        self._touch(name)

    def set_claim(self, claim: NodeClaim) -> None:
        """Take in a claim as it is now."""
        self.claims[claim.name] = claim
        if claim.provider_id:
            self._claim_of[claim.provider_id] = claim.name
            self._touch(self._node_of.get(claim.provider_id))
        self._touch(claim.name)

    def drop_claim(self, name: str) -> None:
        """Forget a claim that no longer exists."""
        claim = self.claims.pop(name, None)
        if claim and claim.provider_id and self._claim_of.get(claim.provider_id) == name:
            del self._claim_of[claim.provider_id]
            self._touch(self._node_of.get(claim.provider_id))
        self._marks.pop(name, None)
        self._touch(name)

    def set_pod(self, pod: Pod) -> None:
        """Take in a pod as it is now; a terminal pod uses nothing but is remembered until it is gone."""
        key = pod.metadata.key
        before = self.pods.get(key)
        if before is not None and before.spec.node_name != pod.spec.node_name:
            self._leave(key, before.spec.node_name)
        self.pods[key] = pod
        if before is None or before.metadata.uid != pod.metadata.uid or before.spec.node_name != pod.spec.node_name:
            self._settle_plan(pod)
        if pod.spec.node_name:
            self._pods_on[pod.spec.node_name].add(key)
        self._touch(pod.spec.node_name or None)

    def _settle_plan(self, pod: Pod) -> None:
        """End the plan of a pod that is bound now, or that is another one than before."""
        node = self.nodes.get(pod.spec.node_name)
        claim = self.claim_of(node) if node else None
        places = {pod.spec.node_name, claim.name} if claim else {pod.spec.node_name}
        for place in self._plans.settle(pod, places):
            self._touch_marked(place)

    def drop_pod(self, key: ObjectKey) -> None:
        """Forget a pod that no longer exists."""
        pod = self.pods.pop(key, None)
        if pod is not None:
            self._leave(key, pod.spec.node_name)
            self._touch_marked(self._plans.drop(key))

    def _leave(self, key: ObjectKey, node_name: str) -> None:
        self._pods_on[node_name].discard(key)
        if not self._pods_on[node_name]:
            del self._pods_on[node_name]
        self._touch(node_name or None)

    def set_csi_node(self, csi: CSINode) -> None:
        """Take in what drivers run on a node and how much they can attach."""
        self.csi_nodes[csi.metadata.name] = csi
        self._touch(csi.metadata.name)

    def drop_csi_node(self, name: str) -> None:
        """Forget a node's drivers."""
        self.csi_nodes.pop(name, None)
        self._touch(name)

    def set_selector(self, workload: tuple[str, str, str], selector: LabelSelector | None) -> None:
        """Take in what a workload (namespace, kind, name) selects; None when it selects nothing or is gone."""
        if selector == self.selectors.get(workload):
            return  # its status changed, as it does with every pod
        if selector is None:
            del self.selectors[workload]
        else:
            self.selectors[workload] = selector
        self.touch()

    def touch(self) -> None:
        """Say that something beside nodes, claims and pods changed (a pool, a budget, a volume)."""
        self.generation += 1
        for listener in self._listeners:
            listener()

    def set_pauses(self, pauses: Pauses) -> None:
        """Take in what people asked us to leave alone."""
        self.pauses = pauses
        self.touch()

    def set_offers(self, offers: Offers) -> None:
        """Take in what every pool can launch now; prices of all nodes follow."""
        if offers != self._offers:
            self._offers = offers
            self._stale.update(self._views)
            self.touch()

    # --- what the operator decided --------------------------------------------------------------------------------

    def nominate(self, name: str, until: UnixSeconds) -> None:
        """Expect pods on a node or claim until then: it is no candidate meanwhile (S-62)."""
        self._mark(name, replace(self._marks_on(name), nominated_until=until))

    def plan(self, pod: Pod, place: str, *, now: UnixSeconds, keep_s: float) -> None:
        """Keep room for a pod on a claim or node for so long, counted from when the place is ready for pods."""
        self._touch_marked(self._plans.drop(pod.metadata.key))
        owner = pod.metadata.controller()
        kept = Plan(pod.metadata.uid, place, now, UnixSeconds(now + keep_s), owner.uid if owner else None)
        self._plans.set(pod, kept)
        self._touch_marked(place)

    def is_planned(self, pod: Pod, now: UnixSeconds) -> bool:
        """Return whether room is kept for this very pod, as far as views are up to date."""
        plan = self._plans.of(pod)
        return plan is not None and self._holds(plan, now)

    def planned_node(self, pod: Pod) -> Node | None:
        """Return the node that this very pod was planned on; None without a plan, or until the machine has joined."""
        plan = self._plans.of(pod)
        claim = self.claims.get(plan.place) if plan else None
        return self.node_of(claim) if claim else self.nodes.get(plan.place) if plan else None

    def planned_on(self, node: Node) -> tuple[ObjectKey, ...]:
        """Return the pods that were planned on a node, before or after it joined."""
        claim = self.claim_of(node)
        return (*self._plans.on(node.metadata.name), *(self._plans.on(claim.name) if claim else ()))

    def mark_for_deletion(self, name: str) -> None:
        """Count a node as leaving: it offers no room, and its pods look for another place."""
        self._mark(name, replace(self._marks_on(name), is_marked_for_deletion=True))

    def unmark(self, name: str) -> None:
        """Take a mark for deletion back."""
        self._mark(name, replace(self._marks_on(name), is_marked_for_deletion=False))

    def hold(self, name: str, until: UnixSeconds) -> None:
        """Leave a node alone until then: an attempt to disrupt it failed."""
        self._mark(name, replace(self._marks_on(name), held_until=until))

    # --- questions ------------------------------------------------------------------------------------------------

    def unlaunched_claims(self) -> tuple[str, ...]:
        """Return claims that wait for their machine; while there are any, no new plan is made (S-4)."""
        waiting = (claim for claim in self.claims.values() if not claim.provider_id and not claim.metadata.is_deleting)
        return tuple(sorted(claim.name for claim in waiting))

    def is_draining_paused(self, claim: NodeClaim) -> bool:
        """Return whether people asked to leave a node alone that is leaving: whoever asked for its end, or only us."""
        pauses = self.pauses
        return pauses.stops_everything(claim.pool) or (was_our_choice(claim) and pauses.stops_disruption(claim.pool))

    def pods_on(self, node_name: str) -> tuple[Pod, ...]:
        """Return the pods bound to a node, sorted by namespace and name."""
        return tuple(self.pods[key] for key in sorted(self._pods_on.get(node_name, ())))

    def claim_of(self, node: Node) -> NodeClaim | None:
        """Return the claim a node was launched for; None for a foreign node."""
        name = self._claim_of.get(ProviderID(node.spec.provider_id)) if node.spec.provider_id else None
        return self.claims.get(name) if name else None

    def claim_with(self, provider_id: ProviderID) -> NodeClaim | None:
        """Return the claim of a machine; None for one of somebody else."""
        name = self._claim_of.get(provider_id)
        return self.claims.get(name) if name else None

    def instance_types(self, pool: PoolKey) -> Mapping[str, InstanceType]:
        """Return what a pool could launch when the cloud was last asked, by name."""
        return self._offers.named.get(pool, {})

    def node_of(self, claim: NodeClaim) -> Node | None:
        """Return the node of a claim; None until it joined."""
        name = self._node_of.get(claim.provider_id) if claim.provider_id else None
        return self.nodes.get(name) if name else None

    def view_of(self, claim: NodeClaim, now: UnixSeconds) -> NodeView | None:
        """Return the view that a claim is part of; None when it is not known here."""
        node = self.node_of(claim)
        return self._fresh_views(now).get(node.metadata.name if node else claim.name)

    def nodes_of(self, provider_id: ProviderID) -> tuple[Node, ...]:
        """Return every node that reports this provider id; more than one means that something is broken."""
        return tuple(node for node in self.nodes.values() if node.spec.provider_id == provider_id)

    def provisionable_pods(self) -> tuple[Pod, ...]:
        """Return the unbound pods that a new node could help."""
        return tuple(pod for pod in self.pods.values() if not pod.spec.node_name and is_provisionable(pod))

    def snapshot(self, now: UnixSeconds) -> Snapshot:
        """Return everything a decision may look at, as of now."""
        views = self._fresh_views(now)
        ordered = tuple(views[name] for name in sorted(views))
        return Snapshot(
            taken_at=now,
            generation=self.generation,
            nodes=ordered,
            pools=pool_views(self.pools.values(), ordered, offers=self._offers, pauses=self.pauses),
            pending=self._pending(ordered),
            daemons=daemon_pods(self.daemon_sets.values(), self._daemon_owned()),
            pdbs=tuple(self.pdbs[key] for key in sorted(self.pdbs)),
            volumes=Volumes(dict(self.volume_claims), dict(self.volumes), dict(self.storage_classes)),
            namespaces=dict(self.namespaces),
            limit_ranges=tuple(self.limit_ranges[key] for key in sorted(self.limit_ranges)),
            services=tuple(self.services[key] for key in sorted(self.services)),
            selectors=dict(self.selectors),
            well_known=self._offers.well_known,
        )

    # --- inside ---------------------------------------------------------------------------------------------------

    def _touch(self, name: str | None) -> None:
        if name:
            self._stale.add(name)
        self.touch()

    def _marks_on(self, name: str) -> Marks:
        return self._marks.get(name, Marks())

    def _mark(self, name: str, marks: Marks) -> None:
        if marks != self._marks_on(name):
            self._marks[name] = marks
            self._touch_marked(name)

    def _touch_marked(self, name: str | None) -> None:
        """Mark stale what a mark or plan on a node or claim shows on: a claim's also counts for its node."""
        if name is None:
            return
        self._touch(name)
        claim = self.claims.get(name)
        node = self.node_of(claim) if claim else None
        if node is not None:
            self._touch(node.metadata.name)

    def _fresh_views(self, now: UnixSeconds) -> Mapping[str, NodeView]:
        self._rebuild(now)
        ended = [key for key, plan in self._plans if not self._holds(plan, now)]
        for key in ended:
            self._touch_marked(self._plans.drop(key))
        if ended:
            self._rebuild(now)
        return self._views

    def _holds(self, plan: Plan, now: UnixSeconds) -> bool:
        """Return whether a place is still kept: it is there, stays, and is not ready yet or its time has not passed."""
        claim = self.claims.get(plan.place)
        node = self.node_of(claim) if claim else None
        view = self._views.get(node.metadata.name if node else plan.place)
        if view is None or view.is_deleting:
            return False
        ready_at = view.initialized_at
        kept_s = plan.until - plan.at
        return not view.is_initialized or now < max(plan.until, (ready_at or 0.0) + kept_s)

    def _rebuild(self, now: UnixSeconds) -> None:
        expired = [name for name, m in self._marks.items() if m.nominated_until and m.nominated_until <= now]
        for name in expired:
            self._mark(name, replace(self._marks_on(name), nominated_until=None))
        for name in self._stale:
            view = self._build(name, now)
            if view is None:
                self._views.pop(name, None)
            else:
                self._views[name] = view
        self._stale.clear()

    def _build(self, name: str, now: UnixSeconds) -> NodeView | None:
        """Build the view keyed by a node's name, or by a claim's while it has no node."""
        node = self.nodes.get(name)
        claim = self.claim_of(node) if node else self.claims.get(name)
        if node is None and (claim is None or self.node_of(claim) is not None):
            return None
        view = node_view(
            node,
            claim,
            (*self._bound(name), *self._expected(name, claim)),
            now=now,
            marks=self._marks_on(name).joined(self._marks_on(claim.name) if claim else Marks()),
            csi=self.csi_nodes.get(name),
        )
        return self._offers.priced(view)

    def _bound(self, node_name: str) -> Iterable[Pod]:
        return (self.pods[key] for key in self._pods_on.get(node_name, ()))

    def _expected(self, name: str, claim: NodeClaim | None) -> Iterable[Pod]:
        """Yield the pods that room is kept for, as if they were here already."""
        places = {name, claim.name} if claim else {name}
        for place in sorted(places):
            for key in self._plans.on(place):
                pod = self.pods[key]
                yield msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=name))

    def _daemon_owned(self) -> Iterable[Pod]:
        return (pod for pod in self.pods.values() if pod.metadata.is_owned_by("DaemonSet") and not is_terminal(pod))

    def _pending(self, views: Iterable[NodeView]) -> tuple[Pod, ...]:
        """Provisionable pods, and those of nodes that are leaving (POD-5), without those that room is kept for.

        Sorted by namespace and name.
        """
        leaving = [pod for view in views if view.is_deleting for pod in view.pods if is_reschedulable(pod)]
        waiting = [pod for pod in (*self.provisionable_pods(), *leaving) if self._plans.of(pod) is None]
        return tuple(sorted(waiting, key=lambda pod: pod.metadata.key))


def _as_of(node: Node, version: str) -> Node:
    """Return the node as if it had been read at another version."""
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, resource_version=version))
