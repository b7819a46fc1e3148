"""The whole input of a decision, as of one instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from karpenter.model.core import LimitRange, Namespace, Node, Pod, PodDisruptionBudget, Service
from karpenter.model.instancetype import InstanceType
from karpenter.model.meta import LabelSelector
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.resources import Resources
from karpenter.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karpenter.model.taints import Taint
from karpenter.model.units import ObjectKey, PoolKey, UnixSeconds
from karpenter.scheduling.repelling import Repelling, repelling
from karpenter.scheduling.requests import total_requests


@dataclass(frozen=True)
class NodeView:
    """A node, a claim in flight, or both: one place where pods are or could go.

    What many what-ifs of one snapshot ask about its pods is kept with it.
    """

    name: str
    """Node name; the claim's name until the node exists. Unique in a snapshot."""
    labels: Mapping[str, str]
    """The labels pods can rely on: the node's, or for a claim in flight the single values it will have."""
    taints: tuple[Taint, ...]
    """Taints that count for scheduling; startup and ephemeral ones do not until the node is initialized (SCH-5)."""
    capacity: Resources
    allocatable: Resources
    """Until the node reports an amount, what its claim promised (SCH-6)."""
    pods: tuple[Pod, ...] = ()
    """Pods bound to it that still use it: neither terminal nor gone. Daemon and static pods included."""
    is_initialized: bool = True
    is_managed: bool = True
    """Whether it belongs to one of our pools; foreign nodes are capacity, never candidates."""
    is_deleting: bool = False
    """Deleted or chosen for it: offers no capacity, and its pods look for another place."""
    is_nominated: bool = False
    """Pods that were placed here lately are expected to arrive."""
    pool: PoolKey | None = None
    instance_type: str | None = None
    zone: str | None = None
    capacity_type: str | None = None
    price: float | None = None
    """USD per hour; None when unknown."""
    node: Node | None = None
    """None while the claim is in flight."""
    claim: NodeClaim | None = None
    """None for a foreign node."""
    csi: CSINode | None = None
    initialized_at: UnixSeconds | None = None
    empty_since: UnixSeconds | None = None
    """Since when it carries no reschedulable pod; None while it does, or when nobody observed it yet."""
    held_until: UnixSeconds | None = None
    """Not to be disrupted by choice before then, because the last try failed; None when it may be."""

    @cached_property
    def requests(self) -> Resources:
        """What its pods need together. Raises ValueError: an amount is not a quantity; the message names it."""
        return total_requests(self.pods)

    @cached_property
    def repelling(self) -> tuple[Repelling, ...]:
        """Its pods that keep others away."""
        return repelling(self.pods)


@dataclass(frozen=True, slots=True)
class PoolView:
    """A pool with what it can launch now and what it uses already."""

    pool: NodePool
    instance_types: tuple[InstanceType, ...]
    usage: Resources = field(default_factory=dict)
    """Capacity of its nodes and claims that are not being deleted, with `nodes`."""
    unready: str | None = None
    """Why it cannot launch now, in words; None when it can."""
    unready_reason: str = ""
    """The same in one CamelCase word; empty when it is ready, or for no reason that has a name."""
    is_paused: bool = False
    """Whether people asked that none of its nodes be disrupted by choice for now."""


@dataclass(frozen=True, slots=True)
class Volumes:
    """Storage objects that decide where a pod can run."""

    claims: Mapping[ObjectKey, PersistentVolumeClaim] = field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a decision may look at. Shares structure with the cluster state; never mutated."""

    taken_at: UnixSeconds
    generation: int = 0
    """Rises with every state change; equal generations mean equal content."""
    nodes: tuple[NodeView, ...] = ()
    """Sorted by name."""
    pools: tuple[PoolView, ...] = ()
    """By descending weight, then kind and name."""
    pending: tuple[Pod, ...] = ()
    """Pods that want a node: provisionable ones, and those of nodes that are leaving."""
    daemons: tuple[Pod, ...] = ()
    """One pod per DaemonSet: the overhead every new node it fits will carry."""
    pdbs: tuple[PodDisruptionBudget, ...] = ()
    volumes: Volumes = field(default_factory=Volumes)
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    limit_ranges: tuple[LimitRange, ...] = ()
    services: tuple[Service, ...] = ()
    """Only for default spread constraints, like `selectors`; whoever does not use these may leave both out."""
    selectors: Mapping[tuple[str, str, str], LabelSelector] = field(default_factory=dict)
    """What workloads select, by namespace, kind and name."""
    well_known: frozenset[str] = frozenset()
    """Label keys of the catalogue that pods may constrain beside `labels.WELL_KNOWN`."""

    def without(self, gone: frozenset[str]) -> Snapshot:
        """Return the snapshot as if the nodes of these names did not exist; their pods are not made pending."""
        return replace(self, nodes=tuple(view for view in self.nodes if view.name not in gone))
