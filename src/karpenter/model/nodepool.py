"""The hub's NodePool: what machines may be launched, and when they are given back.

It has the shape of `karpenter.sh/v1` NodePool plus fields marked *hub-only*, which hold what a v1alpha5 Provisioner
says and a NodePool cannot. Codecs (`v1`, `v1alpha5`) build it; nothing else asks which generation an object came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from karpenter.model.meta import Condition, ObjectMeta, OwnerReference
from karpenter.model.requirements import Requirements
from karpenter.model.resources import Resources
from karpenter.model.taints import Taint
from karpenter.model.units import PoolKey


@dataclass(frozen=True, slots=True)
class NodeClassRef:
    """Names the object that holds the cloud's details."""

    group: str
    kind: str
    name: str

    @property
    def labels(self) -> dict[str, str]:
        """What claims and nodes carry to be selected by; nothing where the name is too long for a label."""
        return {f"{self.group}/{self.kind.lower()}": self.name} if len(self.name) <= 63 else {}


@dataclass(frozen=True, slots=True)
class Origin:
    """Which API object a hub value was decoded from; only codecs and status writers read it."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class KubeletConfiguration:
    """Kubelet settings that change what a node can hold or how it boots. None or empty means not set (spec §1.3)."""

    cluster_dns: tuple[str, ...] = ()
    container_runtime: str | None = None
    max_pods: int | None = None
    pods_per_core: int | None = None
    system_reserved: Resources = field(default_factory=dict)
    kube_reserved: Resources = field(default_factory=dict)
    eviction_hard: Mapping[str, str] = field(default_factory=dict)
    eviction_soft: Mapping[str, str] = field(default_factory=dict)
    eviction_soft_grace_period_s: Mapping[str, float] = field(default_factory=dict)
    eviction_max_pod_grace_period_s: int | None = None
    image_gc_high_threshold_percent: int | None = None
    image_gc_low_threshold_percent: int | None = None
    cpu_cfs_quota: bool | None = None


@dataclass(frozen=True, slots=True)
class PoolTemplate:
    """The blueprint of every machine of a pool."""

    requirements: Requirements = field(default_factory=Requirements)
    """What the manifest says after defaulting; template labels and the pool's own label are not in it."""
    node_class_ref: NodeClassRef | None = None
    """None only for a Provisioner with an inline `provider`, an anonymous node class (see `inline_provider`)."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    expire_after_s: float | None = None
    """Seconds of life after which a node expires; None means never."""
    termination_grace_period_s: float | None = None
    """Seconds a drain may take before pods are deleted by force; None means it waits for ever."""
    inline_provider: Mapping[str, object] | None = None
    """*hub-only*: the legacy inline AWS configuration, decoded like an AWSNodeTemplate's spec."""


ConsolidationPolicy = Literal["Off", "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"]
"""`Off` is hub-only: a Provisioner without consolidation and without `ttlSecondsAfterEmpty`."""

DisruptionReason = Literal["Empty", "Expired", "Drifted", "Underutilized"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How many nodes of a pool may be disrupted at once, for which reasons and in which window."""

    nodes: str = "10%"
    """A count or a percentage of the pool's nodes."""
    reasons: frozenset[str] | None = None
    """Disruption reasons it speaks of; None means all."""
    schedule: str | None = None
    """Cron line in UTC at which the window opens; None means it is always open."""
    duration_s: float | None = None
    """How long the window stays open; given together with the schedule."""


@dataclass(frozen=True, slots=True)
class Disruption:
    """When nodes of a pool are given back."""

    policy: ConsolidationPolicy = "WhenEmptyOrUnderutilized"
    consolidate_after_s: float | None = 0.0
    """Seconds without pod changes before a non-empty node may be consolidated; None when the pool says `Never`."""
    empty_after_s: float | None = 0.0
    """*hub-only*: seconds a node must have been empty before it goes; None means empty nodes stay (as far as
    `consolidate_after_s` does not take them: with a `ttlSecondsAfterEmpty` this field alone rules empty nodes)."""
    drift: bool = True
    """*hub-only*: whether nodes that no longer match the pool are replaced."""
    expires_by_pool: bool = False
    """*hub-only*: whether the life time that the pool states now rules nodes that exist already (a Provisioner's TTL);
    otherwise each claim keeps the one it was made with."""
    budgets: tuple[Budget, ...] = (Budget(),)


@dataclass(frozen=True, slots=True)
class NodePool:
    """A template for machines, a policy for giving them back, and limits."""

    metadata: ObjectMeta
    origin: Origin
    template: PoolTemplate
    identity: tuple[str, str]
    """*hub-only*: the label, key and value, that ties nodes to this pool (`karpenter.sh/nodepool: default`)."""
    disruption: Disruption = field(default_factory=Disruption)
    limits: Resources = field(default_factory=dict)
    """Most capacity all nodes of the pool may have together, also `nodes`; a resource not named is unlimited."""
    weight: int = 0
    """Pools are tried from the heaviest down."""
    replicas: int | None = None
    """Fixed number of nodes of a static pool; None for an ordinary one."""
    kubelet: KubeletConfiguration | None = None
    """*hub-only*: kubelet settings of a Provisioner; they override the node class's."""
    hash_annotations: Mapping[str, str] = field(default_factory=dict)
    """*hub-only*: annotations that every claim gets, naming the template it was built from (static drift)."""
    conditions: tuple[Condition, ...] = ()
    resources: Resources = field(default_factory=dict)
    """Capacity in use, as the status last said."""
    class_generation: int = 0
    """Generation of the node class, as the status last said; 0 when it said nothing."""

    @property
    def name(self) -> str:
        """The object's name."""
        return self.metadata.name

    @property
    def key(self) -> PoolKey:
        """Kind and name, unique over both API generations."""
        return PoolKey(self.origin.kind, self.metadata.name)

    def owner_reference(self) -> OwnerReference:
        """Return the reference by which claims say that they are this pool's: they go with it, and hold it up."""
        origin = self.origin
        return OwnerReference(origin.api_version, origin.kind, origin.name, origin.uid, block_owner_deletion=True)

    def node_requirements(self) -> Requirements:
        """Return what every node of the pool is: requirements, template labels and the pool's own label (SCH-2)."""
        own = Requirements.from_labels({**self.template.labels, self.identity[0]: self.identity[1]})
        return self.template.requirements.intersect(own)
