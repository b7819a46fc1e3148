"""The kinds that only the stand-ins read, or read more of than the rest of the product does.

Templates stay raw: what a user wrote into one goes into the pods as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import msgspec

from karpenter.model.meta import Condition, LabelSelector, ObjectMeta, find_condition
from karpenter.model.taints import Taint
from karpenter.runtime import kube
from karpenter.runtime.kube import RawObject, Resource


class Wire(msgspec.Struct, frozen=True, rename="camel"):
    """Base of wire structs: frozen, camelCase on the wire, unknown fields dropped."""


class ServiceSpec(Wire, frozen=True):
    selector: dict[str, str] = {}


class Service(Wire, frozen=True):
    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()


class RollingUpdate(Wire, frozen=True):
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


class Strategy(Wire, frozen=True):
    """How pods are replaced: `RollingUpdate`, else `Recreate` (Deployments) or `OnDelete` (DaemonSets)."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class DeploymentSpec(Wire, frozen=True):
    selector: LabelSelector
    template: RawObject
    replicas: int = 1
    strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    paused: bool = False
    progress_deadline_seconds: int = 600


class DeploymentCondition(Wire, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_update_time: str | None = None


class DeploymentStatus(Wire, frozen=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    conditions: tuple[DeploymentCondition, ...] = ()
    collision_count: int | None = None


class Deployment(Wire, frozen=True):
    metadata: ObjectMeta
    spec: DeploymentSpec
    status: DeploymentStatus = DeploymentStatus()


class ReplicaSetSpec(Wire, frozen=True):
    selector: LabelSelector
    template: RawObject = {}
    replicas: int = 1
    min_ready_seconds: int = 0


class ReplicaSetStatus(Wire, frozen=True):
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class ReplicaSet(Wire, frozen=True):
    metadata: ObjectMeta
    spec: ReplicaSetSpec
    status: ReplicaSetStatus = ReplicaSetStatus()


class DaemonSetSpec(Wire, frozen=True):
    selector: LabelSelector
    template: RawObject
    update_strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10


class DaemonSetStatus(Wire, frozen=True):
    observed_generation: int = 0
    current_number_scheduled: int = 0
    desired_number_scheduled: int = 0
    number_misscheduled: int = 0
    number_ready: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    collision_count: int | None = None


class DaemonSet(Wire, frozen=True):
    metadata: ObjectMeta
    spec: DaemonSetSpec
    status: DaemonSetStatus = DaemonSetStatus()


class Partition(Wire, frozen=True):
    partition: int = 0
    """Pods with a smaller ordinal, counted from the first one, stay at the current revision."""


class PartitionedUpdate(Wire, frozen=True):
    """How the pods of a StatefulSet are replaced: `RollingUpdate`, from the last one on, or `OnDelete`."""

    type: str = "RollingUpdate"
    rolling_update: Partition | None = None


class Ordinals(Wire, frozen=True):
    start: int = 0


class ClaimRetention(Wire, frozen=True):
    """`Retain` or `Delete` the claims of pods that are scaled away, and of the whole set."""

    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class StatefulSetSpec(Wire, frozen=True):
    selector: LabelSelector
    template: RawObject = {}
    replicas: int = 1
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: PartitionedUpdate = PartitionedUpdate()
    volume_claim_templates: tuple[RawObject, ...] = ()
    persistent_volume_claim_retention_policy: ClaimRetention = ClaimRetention()
    revision_history_limit: int = 10
    min_ready_seconds: int = 0
    ordinals: Ordinals = Ordinals()


class StatefulSetStatus(Wire, frozen=True):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int | None = None


class StatefulSet(Wire, frozen=True):
    metadata: ObjectMeta
    spec: StatefulSetSpec
    status: StatefulSetStatus = StatefulSetStatus()


class ControllerRevision(Wire, frozen=True):
    """What a workload's template was; `data` is the patch that brings it back."""

    metadata: ObjectMeta
    data: RawObject = {}
    revision: int = 0


class BudgetSpec(Wire, frozen=True):
    selector: LabelSelector | None = None
    min_available: str | int | None = None
    max_unavailable: str | int | None = None


class BudgetStatus(Wire, frozen=True):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    disrupted_pods: dict[str, str] = {}
    """Pods that an eviction was granted for, with its moment; the deletion has not been seen yet."""
    conditions: tuple[Condition, ...] = ()


class Budget(Wire, frozen=True):
    """A PodDisruptionBudget with all of its status."""

    metadata: ObjectMeta
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class NamespaceSpec(Wire, frozen=True):
    finalizers: tuple[str, ...] = ()


class NamespaceStatus(Wire, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Namespace(Wire, frozen=True):
    metadata: ObjectMeta
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class LeaseSpec(Wire, frozen=True):
    holder_identity: str = ""
    lease_duration_seconds: int = 40
    renew_time: str | None = None


class Lease(Wire, frozen=True):
    metadata: ObjectMeta
    spec: LeaseSpec = LeaseSpec()


class StartingClaimSpec(Wire, frozen=True):
    startup_taints: tuple[Taint, ...] = ()


class StartingClaimStatus(Wire, frozen=True):
    node_name: str = ""
    provider_id: str = msgspec.field(name="providerID", default="")


class StartingClaim(Wire, frozen=True):
    """A NodeClaim, as far as it says which taints its node starts with."""

    metadata: ObjectMeta
    spec: StartingClaimSpec = StartingClaimSpec()
    status: StartingClaimStatus = StartingClaimStatus()


class DefinitionNames(Wire, frozen=True):
    plural: str
    kind: str


class DefinitionVersion(Wire, frozen=True):
    name: str
    served: bool = False
    storage: bool = False


class DefinitionSpec(Wire, frozen=True):
    group: str
    names: DefinitionNames
    versions: tuple[DefinitionVersion, ...]
    scope: str = "Namespaced"


class DefinitionStatus(Wire, frozen=True):
    conditions: tuple[Condition, ...] = ()


class Definition(Wire, frozen=True):
    """A CustomResourceDefinition."""

    metadata: ObjectMeta
    spec: DefinitionSpec
    status: DefinitionStatus = DefinitionStatus()


class MetadataOnly(Wire, frozen=True):
    """Any object, when only names, owners and finalizers matter."""

    metadata: ObjectMeta


SERVICES: Final = Resource("", "v1", "services", "Service", Service, namespaced=True)
DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment", Deployment, namespaced=True)
REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet", ReplicaSet, namespaced=True)
STATEFUL_SETS: Final = Resource("apps", "v1", "statefulsets", "StatefulSet", StatefulSet, namespaced=True)
DAEMON_SETS: Final = Resource("apps", "v1", "daemonsets", "DaemonSet", DaemonSet, namespaced=True)
BUDGETS: Final = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", Budget, namespaced=True)
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", Namespace)
LEASES: Final[Resource[Lease]] = Resource("coordination.k8s.io", "v1", "leases", "Lease", Lease, namespaced=True)
DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", Definition
)
NODE_CLAIMS: Final = Resource("karpenter.sh", "v1", "nodeclaims", "NodeClaim", StartingClaim)
CONTROLLER_REVISIONS: Final = Resource(
    "apps", "v1", "controllerrevisions", "ControllerRevision", ControllerRevision, namespaced=True
)
_JOBS: Final = Resource("batch", "v1", "jobs", "Job", MetadataOnly, namespaced=True)
_CRON_JOBS: Final = Resource("batch", "v1", "cronjobs", "CronJob", MetadataOnly, namespaced=True)
SECRETS: Final = Resource("", "v1", "secrets", "Secret", MetadataOnly, namespaced=True)
SERVICE_ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount", MetadataOnly, namespaced=True)
ENDPOINTS: Final = Resource("", "v1", "endpoints", "Endpoints", MetadataOnly, namespaced=True)
REPLICATION_CONTROLLERS: Final = Resource(
    "", "v1", "replicationcontrollers", "ReplicationController", MetadataOnly, namespaced=True
)


def metadata_only(resource: Resource[Any]) -> Resource[MetadataOnly]:
    """Return the same resource, decoded as far as metadata only."""
    return replace(resource, type=MetadataOnly)


OTHERS_WITH_OWNERS: Final = tuple(
    metadata_only(resource)
    for resource in (
        REPLICATION_CONTROLLERS,
        SECRETS,
        ENDPOINTS,
        kube.CONFIG_MAPS,
    )
)
"""Kinds that garbage collection follows beside those that other stand-ins watch anyway, and custom ones."""

CLEARED_WITH_NAMESPACE: Final = tuple(
    metadata_only(resource)
    for resource in (
        DEPLOYMENTS,
        STATEFUL_SETS,
        DAEMON_SETS,
        _CRON_JOBS,
        _JOBS,
        REPLICATION_CONTROLLERS,
        REPLICA_SETS,
        kube.PODS,
        CONTROLLER_REVISIONS,
        BUDGETS,
        SERVICES,
        ENDPOINTS,
        kube.PVCS,
        kube.CONFIG_MAPS,
        SECRETS,
        SERVICE_ACCOUNTS,
        LEASES,
        kube.LIMIT_RANGES,
        kube.EVENTS,
    )
)
"""Kinds whose objects go with their namespace, owners before what they own."""


def custom_resource(definition: Definition) -> Resource[MetadataOnly] | None:
    """Return the resource that a definition defines, in one version; None while the server does not serve it."""
    established = find_condition(definition.status.conditions, "Established")
    served = sorted((one for one in definition.spec.versions if one.served), key=lambda one: not one.storage)
    if not served or established is None or not established.is_true:
        return None
    spec = definition.spec
    return Resource(
        spec.group,
        served[0].name,
        spec.names.plural,
        spec.names.kind,
        MetadataOnly,
        namespaced=spec.scope == "Namespaced",
    )
