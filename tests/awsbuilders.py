"""Builders of AWS values for tests, as in `builders`."""

from collections.abc import Iterable, Mapping
from typing import Any

from karpenter.model.aws.catalog import InstanceTypeRecord, load_aws_catalog
from karpenter.model.aws.nodeclass import AwsNodeClass, BlockDevice, SelectorTerm
from karpenter.model.meta import ObjectMeta
from karpenter.model.nodepool import KubeletConfiguration, NodeClassRef, Origin
from karpenter.model.resources import parse_resources

GIB = 2**30
MIB = 2**20
REGION = "us-west-2"
NODE_CLASS_REF = NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "default")


def a_record(name: str = "m5.large") -> InstanceTypeRecord:
    """Return EC2's facts about a type, from the shipped catalogue."""
    return load_aws_catalog().records[name]


def an_aws_node_class(
    name: str = "default",
    *,
    family: str = "AL2",
    disks: Mapping[str, int] | None = None,
    tags: Mapping[str, str] | None = None,
    **fields: Any,
) -> AwsNodeClass:
    """Return a node class whose selectors match anything discoverable; `disks` maps devices to sizes in GiB."""
    discovery = (SelectorTerm(tags={"karpenter.sh/discovery": "my-cluster"}),)
    devices = tuple(BlockDevice(device, size * GIB) for device, size in (disks or {}).items())
    usual: dict[str, Any] = {
        "origin": Origin("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", name, f"uid-{name}"),
        "subnet_terms": discovery,
        "security_group_terms": discovery,
        "block_devices": devices,
    }
    return AwsNodeClass(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}"),
        ami_family=family,  # type: ignore[arg-type]
        tags=dict(tags or {}),
        **(usual | fields),
    )


V1 = Origin("karpenter.k8s.aws/v1", "EC2NodeClass", "default", "uid-default")
"""As the `origin` of a node class: it is an EC2NodeClass."""


def terms(*given: Mapping[str, Any]) -> tuple[SelectorTerm, ...]:
    """Return selector terms, each given by its fields."""
    return tuple(SelectorTerm(**term) for term in given)


def a_kubelet(
    *,
    system: Mapping[str, str] | None = None,
    kube: Mapping[str, str] | None = None,
    hard: Mapping[str, str] | None = None,
    soft: Mapping[str, str] | None = None,
    **fields: Any,
) -> KubeletConfiguration:
    """Return kubelet settings; `system` and `kube` are reserved amounts, `hard` and `soft` eviction signals."""
    return KubeletConfiguration(
        system_reserved=parse_resources(system or {}),
        kube_reserved=parse_resources(kube or {}),
        eviction_hard=dict(hard or {}),
        eviction_soft=dict(soft or {}),
        **fields,
    )


SEED_KUBELET = a_kubelet(
    system={"cpu": "100m", "memory": "100Mi", "ephemeral-storage": "1Gi"},
    kube={"cpu": "200m", "memory": "100Mi", "ephemeral-storage": "3Gi"},
    hard={"memory.available": "5%", "nodefs.available": "10%", "nodefs.inodesFree": "10%"},
    soft={"memory.available": "500Mi", "nodefs.available": "15%", "nodefs.inodesFree": "15%"},
    pods_per_core=2,
    max_pods=20,
)
"""The kubelet settings of the Provisioner that the project must accept verbatim."""


def names(values: Iterable[Any]) -> list[str]:
    return [value.name for value in values]
