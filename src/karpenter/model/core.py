"""The part of core/v1, apps/v1, policy/v1, storage.k8s.io/v1 and scheduling.k8s.io/v1 that we read.

Wire-shaped, frozen, lossy on purpose: unknown fields are dropped. What they mean is computed in `pods` and `nodes`.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from karpenter.model.meta import Condition, LabelSelector, ObjectMeta, SelectorExpression
from karpenter.model.taints import Taint, Toleration

RawQuantity: TypeAlias = str | int | float
RawResources: TypeAlias = dict[str, RawQuantity]


class _Wire(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Base of wire structs: frozen, camelCase on the wire.

    They hold values only, never each other in a circle, so the garbage collector need not look at them: it stopped
    everything for seconds with 50,000 pods.
    """


class ResourceRequirements(_Wire, frozen=True):
    requests: RawResources = {}
    limits: RawResources = {}


class ContainerPort(_Wire, frozen=True):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"
    name: str = ""


class Container(_Wire, frozen=True):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    """`Always` on an init container makes it a sidecar."""


class NodeSelectorTerm(_Wire, frozen=True):
    match_expressions: tuple[SelectorExpression, ...] = ()
    match_fields: tuple[SelectorExpression, ...] = ()


class NodeSelector(_Wire, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()
    """Alternatives: one of them must hold."""


class PreferredSchedulingTerm(_Wire, frozen=True):
    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(_Wire, frozen=True):
    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class PodAffinityTerm(_Wire, frozen=True):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(_Wire, frozen=True):
    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(_Wire, frozen=True):
    """Required and preferred terms; the same shape serves affinity and anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=()
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(_Wire, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(_Wire, frozen=True):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class ClaimVolume(_Wire, frozen=True):
    claim_name: str
    read_only: bool = False


class PersistentVolumeClaimSpec(_Wire, frozen=True):
    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None
    volume_name: str = ""
    resources: ResourceRequirements = ResourceRequirements()


class ClaimTemplate(_Wire, frozen=True):
    spec: PersistentVolumeClaimSpec
    metadata: ObjectMeta = ObjectMeta()


class EphemeralVolume(_Wire, frozen=True):
    volume_claim_template: ClaimTemplate | None = None


class Volume(_Wire, frozen=True):
    name: str
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None


class SchedulingGate(_Wire, frozen=True):
    name: str


class PodResourceClaim(_Wire, frozen=True):
    name: str


class PodSpec(_Wire, frozen=True):
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: RawResources = {}
    resources: ResourceRequirements | None = None
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    """`Never` for pods that displace nobody."""
    volumes: tuple[Volume, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    restart_policy: str = "Always"
    termination_grace_period_seconds: int | None = None
    host_network: bool = False


class ContainerStatus(_Wire, frozen=True):
    name: str = ""
    restart_count: int = 0
    allocated_resources: RawResources = {}
    resources: ResourceRequirements | None = None


class PodStatus(_Wire, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: str | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(_Wire, frozen=True):
    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeSpec(_Wire, frozen=True):
    provider_id: str = msgspec.field(name="providerID", default="")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeSystemInfo(_Wire, frozen=True):
    kubelet_version: str = ""
    os_image: str = ""
    architecture: str = ""


class NodeStatus(_Wire, frozen=True):
    capacity: RawResources = {}
    allocatable: RawResources = {}
    conditions: tuple[Condition, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()
    volumes_in_use: tuple[str, ...] = ()
    """Volumes that the kubelet mounts or may still have mounted, as `kubernetes.io/csi/DRIVER^HANDLE`."""


class Node(_Wire, frozen=True):
    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(_Wire, frozen=True):
    metadata: ObjectMeta


class PodTemplate(_Wire, frozen=True):
    spec: PodSpec
    metadata: ObjectMeta = ObjectMeta()


class DaemonSetSpec(_Wire, frozen=True):
    template: PodTemplate
    selector: LabelSelector | None = None


class DaemonSet(_Wire, frozen=True):
    metadata: ObjectMeta
    spec: DaemonSetSpec


class WorkloadOrdinals(_Wire, frozen=True):
    start: int = 0


class WorkloadSpec(_Wire, frozen=True):
    template: PodTemplate
    replicas: int | None = None
    selector: LabelSelector | None = None
    volume_claim_templates: tuple[ClaimTemplate, ...] = ()
    ordinals: WorkloadOrdinals = WorkloadOrdinals()
    """Only on a StatefulSet."""
    parallelism: int | None = None
    """Only on a Job, as are completions and suspend."""
    completions: int | None = None
    suspend: bool = False


class WorkloadStatus(_Wire, frozen=True):
    conditions: tuple[Condition, ...] = ()
    succeeded: int = 0
    """Only on a Job."""


class Workload(_Wire, frozen=True):
    """A Deployment, ReplicaSet, StatefulSet or Job, as far as expansion into pods needs it."""

    metadata: ObjectMeta
    spec: WorkloadSpec
    status: WorkloadStatus = WorkloadStatus()


class PodDisruptionBudgetSpec(_Wire, frozen=True):
    selector: LabelSelector | None = None
    min_available: str | int | None = None
    max_unavailable: str | int | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(_Wire, frozen=True):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(_Wire, frozen=True):
    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class LimitRangeItem(_Wire, frozen=True):
    type: str = ""
    default: RawResources = {}
    default_request: RawResources = {}


class LimitRangeSpec(_Wire, frozen=True):
    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(_Wire, frozen=True):
    metadata: ObjectMeta
    spec: LimitRangeSpec = LimitRangeSpec()


class PriorityClass(_Wire, frozen=True):
    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False


class PersistentVolumeClaimStatus(_Wire, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(_Wire, frozen=True):
    metadata: ObjectMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class CSIVolumeSource(_Wire, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(_Wire, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(_Wire, frozen=True):
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolumeSource | None = None
    aws_elastic_block_store: dict[str, object] | None = None
    local: dict[str, object] | None = None
    host_path: dict[str, object] | None = None
    storage_class_name: str = ""


class PersistentVolume(_Wire, frozen=True):
    metadata: ObjectMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()


class TopologySelectorExpression(_Wire, frozen=True):
    key: str
    values: tuple[str, ...] = ()


class TopologySelectorTerm(_Wire, frozen=True):
    match_label_expressions: tuple[TopologySelectorExpression, ...] = ()


class StorageClass(_Wire, frozen=True):
    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class ServiceSpec(_Wire, frozen=True):
    selector: dict[str, str] = {}


class Service(_Wire, frozen=True):
    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()


class VolumeCount(_Wire, frozen=True):
    count: int | None = None


class CSINodeDriver(_Wire, frozen=True):
    name: str
    node_id: str = msgspec.field(name="nodeID", default="")
    allocatable: VolumeCount | None = None


class CSINodeSpec(_Wire, frozen=True):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(_Wire, frozen=True):
    metadata: ObjectMeta
    spec: CSINodeSpec = CSINodeSpec()


class VolumeAttachmentSource(_Wire, frozen=True):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(_Wire, frozen=True):
    node_name: str = ""
    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(_Wire, frozen=True):
    metadata: ObjectMeta
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
