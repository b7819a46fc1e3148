"""Which kinds are read, and how: one table from group and kind to a decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from karpenter.app.manifests.checks import limit_range_faults, node_faults, pod_faults, selector_faults
from karpenter.app.manifests.wire import decode_wire
from karpenter.model import core, storage
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.nodeclasses import decode_node_class
from karpenter.model.errors import FieldError, ManifestError, ManifestWarning
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.pools import Mode, decode_nodeclaim, decode_pool

T = TypeVar("T")
Decoder: TypeAlias = Callable[[dict[str, Any], Mode], tuple[object, Sequence[ManifestWarning]]]
"""Returns the object and what its user should know. Raises ManifestError with everything that is wrong."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind that is read."""

    group: str
    version: str
    name: str
    decode: Decoder
    is_namespaced: bool = False

    @property
    def api_version(self) -> str:
        """`v1`, `apps/v1` …"""
        return f"{self.group}/{self.version}" if self.group else self.version


def _no_faults(_: object) -> Iterator[FieldError]:
    return iter(())


def _pod_faults(pod: core.Pod) -> Iterator[FieldError]:
    return pod_faults(pod.spec)


def _workload_faults(workload: core.Workload) -> Iterator[FieldError]:
    yield from pod_faults(workload.spec.template.spec, "spec.template.spec")
    yield from selector_faults(workload.spec.selector, "spec.selector")


def _daemon_set_faults(daemon_set: core.DaemonSet) -> Iterator[FieldError]:
    yield from pod_faults(daemon_set.spec.template.spec, "spec.template.spec")


def _pdb_faults(pdb: core.PodDisruptionBudget) -> Iterator[FieldError]:
    yield from selector_faults(pdb.spec.selector, "spec.selector")


def _wire(
    group: str,
    version: str,
    kind: type[T],
    *,
    name: str = "",
    faults: Callable[[T], Iterator[FieldError]] = _no_faults,
    namespaced: bool = False,
) -> Kind:
    def decode(raw: dict[str, Any], _mode: Mode) -> tuple[T, Sequence[ManifestWarning]]:
        decoded, errors = decode_wire(raw, kind)
        if decoded is not None:
            errors = tuple(faults(decoded))
        if errors or decoded is None:
            raise ManifestError(name or kind.__name__, errors)
        return decoded, ()

    return Kind(group, version, name or kind.__name__, decode, namespaced)


def _pool(raw: dict[str, Any], mode: Mode) -> tuple[NodePool, Sequence[ManifestWarning]]:
    return decode_pool(raw, mode=mode)


def _node_claim(raw: dict[str, Any], _mode: Mode) -> tuple[NodeClaim, Sequence[ManifestWarning]]:
    return decode_nodeclaim(raw), ()


def _node_class(raw: dict[str, Any], _mode: Mode) -> tuple[AwsNodeClass, Sequence[ManifestWarning]]:
    return decode_node_class(raw), ()


def _workload(group: str, name: str) -> Kind:
    return _wire(group, "v1", core.Workload, name=name, faults=_workload_faults, namespaced=True)


_KINDS: Final = (
    Kind("karpenter.sh", "v1alpha5", "Provisioner", _pool),
    Kind("karpenter.sh", "v1", "NodePool", _pool),
    Kind("karpenter.sh", "v1", "NodeClaim", _node_claim),
    Kind("karpenter.k8s.aws", "v1alpha1", "AWSNodeTemplate", _node_class),
    Kind("karpenter.k8s.aws", "v1", "EC2NodeClass", _node_class),
    _wire("", "v1", core.Pod, faults=_pod_faults, namespaced=True),
    _wire("", "v1", core.Node, faults=node_faults),
    _wire("", "v1", core.Namespace),
    _wire("", "v1", core.ConfigMap, namespaced=True),
    _wire("", "v1", core.LimitRange, faults=limit_range_faults, namespaced=True),
    _wire("", "v1", core.Service, namespaced=True),
    _wire("", "v1", storage.PersistentVolumeClaim, namespaced=True),
    _wire("", "v1", storage.PersistentVolume),
    _wire("apps", "v1", core.DaemonSet, faults=_daemon_set_faults, namespaced=True),
    _workload("apps", "Deployment"),
    _workload("apps", "ReplicaSet"),
    _workload("apps", "StatefulSet"),
    _workload("batch", "Job"),
    _wire("policy", "v1", core.PodDisruptionBudget, faults=_pdb_faults, namespaced=True),
    _wire("storage.k8s.io", "v1", storage.StorageClass),
    _wire("storage.k8s.io", "v1", storage.CSINode),
    _wire("scheduling.k8s.io", "v1", core.PriorityClass),
)

KINDS: Final[Mapping[tuple[str, str], Kind]] = {(kind.group, kind.name): kind for kind in _KINDS}
