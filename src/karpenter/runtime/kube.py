"""The seam to Kubernetes: which resources we speak of, what a client can do, how it fails.

Two implementations pass one suite: `kubehttp` (a real API server) and `kubememory` (in this process).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from karpenter.model import core, selecting, storage
from karpenter.model.errors import KarpenterError

T = TypeVar("T")
RawObject: TypeAlias = dict[str, Any]
"""An object as decoded JSON, for kinds whose codec validates by itself."""


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """An API resource and the type its objects decode to: a wire struct, or `dict` for raw JSON."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    kind: str
    type: type[T]
    namespaced: bool = False

    @property
    def api_version(self) -> str:
        """`v1`, `apps/v1` …"""
        return f"{self.group}/{self.version}" if self.group else self.version


PODS: Final = Resource("", "v1", "pods", "Pod", core.Pod, namespaced=True)
NODES: Final = Resource("", "v1", "nodes", "Node", core.Node)
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", core.Namespace)
LIMIT_RANGES: Final = Resource("", "v1", "limitranges", "LimitRange", core.LimitRange, namespaced=True)
PVCS: Final = Resource(
    "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", storage.PersistentVolumeClaim, namespaced=True
)
PVS: Final = Resource("", "v1", "persistentvolumes", "PersistentVolume", storage.PersistentVolume)
SERVICES: Final = Resource("", "v1", "services", "Service", core.Service, namespaced=True)
REPLICATION_CONTROLLERS: Final = Resource(
    "", "v1", "replicationcontrollers", "ReplicationController", selecting.ReplicationController, namespaced=True
)
EVENTS: Final[Resource[RawObject]] = Resource("", "v1", "events", "Event", dict, namespaced=True)
CONFIG_MAPS: Final[Resource[RawObject]] = Resource("", "v1", "configmaps", "ConfigMap", dict, namespaced=True)
DAEMON_SETS: Final = Resource("apps", "v1", "daemonsets", "DaemonSet", core.DaemonSet, namespaced=True)
REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet", selecting.SelectingSet, namespaced=True)
STATEFUL_SETS: Final = Resource("apps", "v1", "statefulsets", "StatefulSet", selecting.SelectingSet, namespaced=True)
PDBS: Final = Resource(
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", core.PodDisruptionBudget, namespaced=True
)
STORAGE_CLASSES: Final = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", storage.StorageClass)
CSI_NODES: Final = Resource("storage.k8s.io", "v1", "csinodes", "CSINode", storage.CSINode)
VOLUME_ATTACHMENTS: Final = Resource(
    "storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", storage.VolumeAttachment
)
LEASES: Final[Resource[RawObject]] = Resource("coordination.k8s.io", "v1", "leases", "Lease", dict, namespaced=True)
PRIORITY_CLASSES: Final = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", core.PriorityClass)
PROVISIONERS: Final[Resource[RawObject]] = Resource("karpenter.sh", "v1alpha5", "provisioners", "Provisioner", dict)
NODE_POOLS: Final[Resource[RawObject]] = Resource("karpenter.sh", "v1", "nodepools", "NodePool", dict)
NODE_CLAIMS: Final[Resource[RawObject]] = Resource("karpenter.sh", "v1", "nodeclaims", "NodeClaim", dict)
AWS_NODE_TEMPLATES: Final[Resource[RawObject]] = Resource(
    "karpenter.k8s.aws", "v1alpha1", "awsnodetemplates", "AWSNodeTemplate", dict
)
EC2_NODE_CLASSES: Final[Resource[RawObject]] = Resource(
    "karpenter.k8s.aws", "v1", "ec2nodeclasses", "EC2NodeClass", dict
)


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """The objects of a list call and the version to watch from."""

    items: tuple[T, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[T]):
    """One change. `object` is None only for a bookmark, which just moves `resource_version` forward."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    object: T | None
    resource_version: str


PatchType = Literal["merge", "json", "strategic", "apply"]
Propagation = Literal["Background", "Foreground", "Orphan"]


class KubeClient(Protocol):
    """What we ask of an API server. Every call may raise a `KubeError`."""

    async def get(self, resource: Resource[T], name: str, *, namespace: str = "") -> T:
        """Return one object. Raises NotFound."""
        ...

    async def list(
        self, resource: Resource[T], *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> Listing[T]:
        """Return all matching objects; paging is hidden. An empty namespace means all namespaces."""
        ...

    def watch(
        self,
        resource: Resource[T],
        *,
        resource_version: str,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[WatchEvent[T]]:
        """Yield changes after `resource_version` until the server cuts the stream. Raises Gone when that is too old."""
        ...

    async def create(self, resource: Resource[T], body: Mapping[str, Any], *, namespace: str = "") -> T:
        """Store a new object and return it as stored. Raises AlreadyExists, Invalid."""
        ...

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        namespace: str = "",
        patch_type: PatchType = "merge",
        subresource: str = "",
    ) -> T:
        """Change an object and return it. A merge patch with `metadata.resourceVersion` raises Conflict when stale."""
        ...

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        grace_period_s: int | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        """Request deletion; finalizers and grace delay it. `uid` is a precondition (Conflict). Raises NotFound."""
        ...

    async def evict(self, name: str, *, namespace: str, uid: str = "", grace_period_s: int | None = None) -> None:
        """Evict a pod. Raises TooManyRequests when a disruption budget forbids it now, NotFound, Conflict."""
        ...

    async def bind(self, name: str, *, namespace: str, node: str, uid: str = "") -> None:
        """Give a pod its node (subresource `binding`). Raises Conflict when it has one or is leaving, NotFound."""
        ...

    async def close(self) -> None:
        """Release connections; the client is not used again."""
        ...


class KubeError(KarpenterError):
    """The API server refused or could not be reached."""

    status = 500
    reason = "InternalError"

    def __init__(
        self, message: str, *, details: Mapping[str, Any] | None = None, retry_after_s: float | None = None
    ) -> None:
        self.message = message
        self.details: Mapping[str, Any] = details or {}
        self.retry_after_s = retry_after_s
        """How long the server asked to wait before trying again; None when it did not."""
        super().__init__(message)


class NotFound(KubeError):
    status, reason = 404, "NotFound"


class Conflict(KubeError):
    """The object changed meanwhile: read again and recompute, never retry the same patch."""

    status, reason = 409, "Conflict"


class AlreadyExists(KubeError):
    status, reason = 409, "AlreadyExists"


class Gone(KubeError):
    """The resource version is too old: list again."""

    status, reason = 410, "Expired"


class Invalid(KubeError):
    status, reason = 422, "Invalid"


class BadRequest(KubeError):
    status, reason = 400, "BadRequest"


class Forbidden(KubeError):
    status, reason = 403, "Forbidden"


class Unauthorized(KubeError):
    status, reason = 401, "Unauthorized"


class MethodNotAllowed(KubeError):
    status, reason = 405, "MethodNotAllowed"


class UnsupportedMediaType(KubeError):
    status, reason = 415, "UnsupportedMediaType"


class TooManyRequests(KubeError):
    """Slow down, or a disruption budget says not now."""

    status, reason = 429, "TooManyRequests"


class Unavailable(KubeError):
    """No answer, or the server says that it cannot serve now."""

    status, reason = 503, "ServiceUnavailable"


class TerminalError(KarpenterError):
    """Never succeeds as it stands: the reconciler waits for the object to change."""
