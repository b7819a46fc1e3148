"""The part of core/v1, apps/v1, policy/v1 and scheduling.k8s.io/v1 that we read.

Wire-shaped, frozen, lossy on purpose: unknown fields are dropped. What they mean is computed in `pods` and `nodes`.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from karpenter.model.meta import Condition, LabelSelector, ObjectMeta, SelectorExpression
from karpenter.model.taints import Taint, Toleration

RawQuantity: TypeAlias = str | int | float
RawResources: TypeAlias = dict[str, RawQuantity]


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Base of wire structs: frozen, camelCase on the wire, unknown fields dropped.

    They hold values only, never each other in a circle, so the garbage collector need not look at them: it stopped
    everything for seconds with 50,000 pods.
    """


class ResourceRequirements(Wire, frozen=True):
    requests: RawResources = {}
    limits: RawResources = {}


class ContainerPort(Wire, frozen=True):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"
    name: str = ""


class Container(Wire, frozen=True):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    """`Always` on an init container makes it a sidecar."""


class NodeSelectorTerm(Wire, frozen=True):
    match_expressions: tuple[SelectorExpression, ...] = ()
    match_fields: tuple[SelectorExpression, ...] = ()


class NodeSelector(Wire, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()
    """Alternatives: one of them must hold."""


class PreferredSchedulingTerm(Wire, frozen=True):
    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(Wire, frozen=True):
    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class PodAffinityTerm(Wire, frozen=True):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Wire, frozen=True):
    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Wire, frozen=True):
    """Required and preferred terms; the same shape serves affinity and anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=()
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(Wire, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Wire, frozen=True):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class ClaimVolume(Wire, frozen=True):
    claim_name: str
    read_only: bool = False


class PersistentVolumeClaimSpec(Wire, frozen=True):
    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None
    volume_name: str = ""
    resources: ResourceRequirements = ResourceRequirements()


class ClaimTemplate(Wire, frozen=True):
    spec: PersistentVolumeClaimSpec
    metadata: ObjectMeta = ObjectMeta()


class EphemeralVolume(Wire, frozen=True):
    volume_claim_template: ClaimTemplate | None = None


class Volume(Wire, frozen=True):
    name: str
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None


class SchedulingGate(Wire, frozen=True):
    name: str


class PodResourceClaim(Wire, frozen=True):
    name: str


class PodSpec(Wire, frozen=True):
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


class ContainerStatus(Wire, frozen=True):
    name: str = ""
    restart_count: int = 0
    allocated_resources: RawResources = {}
    resources: ResourceRequirements | None = None


class PodStatus(Wire, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: str | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Wire, frozen=True):
    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeSpec(Wire, frozen=True):
    provider_id: str = msgspec.field(name="providerID", default="")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeSystemInfo(Wire, frozen=True):
    kubelet_version: str = ""
    os_image: str = ""
    architecture: str = ""


class NodeStatus(Wire, frozen=True):
    capacity: RawResources = {}
    allocatable: RawResources = {}
    conditions: tuple[Condition, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()
    volumes_in_use: tuple[str, ...] = ()
    """Volumes that the kubelet mounts or may still have mounted, as `kubernetes.io/csi/DRIVER^HANDLE`."""


class Node(Wire, frozen=True):
    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(Wire, frozen=True):
    metadata: ObjectMeta


class PodTemplate(Wire, frozen=True):
    spec: PodSpec
    metadata: ObjectMeta = ObjectMeta()


class DaemonSetSpec(Wire, frozen=True):
    template: PodTemplate
    selector: LabelSelector | None = None


class DaemonSet(Wire, frozen=True):
    metadata: ObjectMeta
    spec: DaemonSetSpec


class WorkloadOrdinals(Wire, frozen=True):
    start: int = 0


class WorkloadSpec(Wire, frozen=True):
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


class WorkloadStatus(Wire, frozen=True):
    conditions: tuple[Condition, ...] = ()
    succeeded: int = 0
    """Only on a Job."""


class Workload(Wire, frozen=True):
    """A Deployment, ReplicaSet, StatefulSet or Job, as far as expansion into pods needs it."""

    metadata: ObjectMeta
    spec: WorkloadSpec
    status: WorkloadStatus = WorkloadStatus()


class PodDisruptionBudgetSpec(Wire, frozen=True):
    selector: LabelSelector | None = None
    min_available: str | int | None = None
    max_unavailable: str | int | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(Wire, frozen=True):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(Wire, frozen=True):
    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class LimitRangeItem(Wire, frozen=True):
    type: str = ""
    default: RawResources = {}
    default_request: RawResources = {}


class LimitRangeSpec(Wire, frozen=True):
    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Wire, frozen=True):
    metadata: ObjectMeta
    spec: LimitRangeSpec = LimitRangeSpec()


class PriorityClass(Wire, frozen=True):
    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False


class ServiceSpec(Wire, frozen=True):
    selector: dict[str, str] = {}


class Service(Wire, frozen=True):
    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()


class ConfigMap(Wire, frozen=True):
    """Only its texts are read."""

    metadata: ObjectMeta
    data: dict[str, str] = {}
