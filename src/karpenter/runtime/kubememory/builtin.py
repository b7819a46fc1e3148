"""The kinds every cluster has. What they print like is the API server's part, what they mean the strategies'."""

from __future__ import annotations

from typing import Final

from karpenter.runtime.kubememory.resources import ApiResource

_STATUS: Final = frozenset({"status"})
_SCALED: Final = frozenset({"status", "scale"})
_NONE: Final = frozenset[str]()
_POD_FIELDS: Final = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
_EVENT_FIELDS: Final = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)


def _global(
    group: str,
    plural: str,
    kind: str,
    *short: str,
    subresources: frozenset[str] = _NONE,
    fields: tuple[str, ...] = (),
    counts: bool = False,
) -> ApiResource:
    return ApiResource(
        group,
        "v1",
        plural,
        kind,
        singular=kind.lower(),
        short_names=short,
        subresources=subresources,
        field_labels=fields,
        counts_generation=counts,
    )


def _spaced(
    group: str,
    plural: str,
    kind: str,
    *short: str,
    subresources: frozenset[str] = _NONE,
    fields: tuple[str, ...] = (),
    counts: bool = False,
    in_all: bool = False,
) -> ApiResource:
    return ApiResource(
        group,
        "v1",
        plural,
        kind,
        namespaced=True,
        singular=kind.lower(),
        short_names=short,
        categories=("all",) if in_all else (),
        subresources=subresources,
        field_labels=fields,
        counts_generation=counts,
    )


def _workload(
    group: str,
    plural: str,
    kind: str,
    *short: str,
    subresources: frozenset[str] = _SCALED,
    fields: tuple[str, ...] = (),
) -> ApiResource:
    return _spaced(group, plural, kind, *short, subresources=subresources, fields=fields, counts=True, in_all=True)


_POD_SUBRESOURCES: Final = frozenset({"status", "eviction", "binding", "log"})
_CORE: Final = (
    _spaced("", "configmaps", "ConfigMap", "cm"),
    _spaced("", "endpoints", "Endpoints", "ep"),
    _spaced("", "events", "Event", "ev", fields=_EVENT_FIELDS),
    _spaced("", "limitranges", "LimitRange", "limits"),
    _global("", "namespaces", "Namespace", "ns", subresources=_STATUS | {"finalize"}, fields=("status.phase",)),
    _global("", "nodes", "Node", "no", subresources=_STATUS, fields=("spec.unschedulable",)),
    _spaced("", "persistentvolumeclaims", "PersistentVolumeClaim", "pvc", subresources=_STATUS),
    _global("", "persistentvolumes", "PersistentVolume", "pv", subresources=_STATUS),
    _spaced("", "pods", "Pod", "po", subresources=_POD_SUBRESOURCES, fields=_POD_FIELDS, counts=True, in_all=True),
    _spaced("", "podtemplates", "PodTemplate", counts=True),
    _workload("", "replicationcontrollers", "ReplicationController", "rc", fields=("status.replicas",)),
    _spaced("", "resourcequotas", "ResourceQuota", "quota", subresources=_STATUS),
    _spaced("", "secrets", "Secret", fields=("type",)),
    _spaced("", "serviceaccounts", "ServiceAccount", "sa", subresources=frozenset({"token"})),
    _spaced(
        "", "services", "Service", "svc", subresources=_STATUS, fields=("spec.clusterIP", "spec.type"), in_all=True
    ),
)

_WORKLOADS: Final = (
    _spaced("apps", "controllerrevisions", "ControllerRevision"),
    _workload("apps", "daemonsets", "DaemonSet", "ds", subresources=_STATUS),
    _workload("apps", "deployments", "Deployment", "deploy"),
    _workload("apps", "replicasets", "ReplicaSet", "rs", fields=("status.replicas",)),
    _workload("apps", "statefulsets", "StatefulSet", "sts"),
    _workload("batch", "cronjobs", "CronJob", "cj", subresources=_STATUS),
    _workload("batch", "jobs", "Job", subresources=_STATUS, fields=("status.successful",)),
    _spaced("policy", "poddisruptionbudgets", "PodDisruptionBudget", "pdb", subresources=_STATUS, counts=True),
)

_NETWORK: Final = "networking.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "storage.k8s.io"
_CLUSTER: Final = (
    _global(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        "crd",
        "crds",
        subresources=_STATUS,
        counts=True,
    ),
    _spaced("coordination.k8s.io", "leases", "Lease"),
    _spaced("discovery.k8s.io", "endpointslices", "EndpointSlice", counts=True),
    _spaced(_NETWORK, "ingresses", "Ingress", "ing", subresources=_STATUS, counts=True),
    _spaced(_NETWORK, "networkpolicies", "NetworkPolicy", "netpol", counts=True),
    _global("node.k8s.io", "runtimeclasses", "RuntimeClass"),
    _global(_RBAC, "clusterrolebindings", "ClusterRoleBinding"),
    _global(_RBAC, "clusterroles", "ClusterRole"),
    _spaced(_RBAC, "rolebindings", "RoleBinding"),
    _spaced(_RBAC, "roles", "Role"),
    _global("scheduling.k8s.io", "priorityclasses", "PriorityClass", "pc", counts=True),
    _global(_STORAGE, "csidrivers", "CSIDriver"),
    _global(_STORAGE, "csinodes", "CSINode"),
    _global(_STORAGE, "storageclasses", "StorageClass", "sc"),
    _global(_STORAGE, "volumeattachments", "VolumeAttachment", subresources=_STATUS),
)

BUILTIN: Final = _CORE + _WORKLOADS + _CLUSTER
