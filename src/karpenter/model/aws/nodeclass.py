"""The hub's AWS node class: how machines of a pool are to be built on EC2.

One shape for `karpenter.k8s.aws/v1alpha1` AWSNodeTemplate, for the inline `provider` of a Provisioner and for
`karpenter.k8s.aws/v1` EC2NodeClass; codecs build it. Source: spec v1alpha5 §1.8, spec v1 §1.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from karpenter.model.meta import Condition, ObjectMeta
from karpenter.model.nodepool import KubeletConfiguration, Origin

AmiFamily = Literal["AL2", "AL2023", "Bottlerocket", "Ubuntu", "Windows2019", "Windows2022", "Windows2025", "Custom"]
VolumeType = Literal["standard", "io1", "io2", "gp2", "gp3", "sc1", "st1"]

ANY: Final = "*"
"""As the value of a selector's tag: the tag must be there, whatever it says."""


@dataclass(frozen=True, slots=True)
class SelectorTerm:
    """One way to be selected: everything it names must hold. Terms of a list are alternatives."""

    tags: Mapping[str, str] = field(default_factory=dict)
    """Tag key to its exact value, or to `*` for any value."""
    id: str = ""
    name: str = ""
    """Name of a security group or an image; an image's may hold `*` and `?`."""
    owner: str = ""
    """Account or alias that owns an image; empty means `self` and `amazon` unless an id is given (AWS-61)."""
    alias: str = ""
    """Image family and version, `al2023@latest`."""
    ssm_parameter: str = ""
    """Parameter that holds an image id."""


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """One volume that a machine gets. None means that the cloud's default applies."""

    device_name: str
    volume_size_bytes: int | None = None
    """None only together with a snapshot, whose size it then has."""
    volume_type: VolumeType | None = None
    iops: int | None = None
    throughput: int | None = None
    """MiB per second."""
    encrypted: bool | None = None
    kms_key_id: str = ""
    snapshot_id: str = ""
    delete_on_termination: bool | None = None
    volume_initialization_rate: int | None = None
    """MiB per second at which a snapshot is loaded."""
    is_root: bool = False
    """Whether it is named the root volume: its size is the node's ephemeral storage."""


@dataclass(frozen=True, slots=True)
class MetadataOptions:
    """How the instance metadata service answers. The defaults are those of AWSNodeTemplate."""

    http_endpoint: Literal["enabled", "disabled"] = "enabled"
    http_protocol_ipv6: Literal["enabled", "disabled"] | None = None
    """None follows the cluster: enabled where it speaks IPv6."""
    http_put_response_hop_limit: int = 2
    http_tokens: Literal["required", "optional"] = "required"


@dataclass(frozen=True, slots=True)
class AwsNodeClass:
    """Which images, subnets, security groups, volumes and boot settings machines get."""

    metadata: ObjectMeta
    origin: Origin
    ami_family: AmiFamily = "AL2"
    subnet_terms: tuple[SelectorTerm, ...] = ()
    security_group_terms: tuple[SelectorTerm, ...] = ()
    """Empty only with a launch template of the user's own, which names them."""
    ami_terms: tuple[SelectorTerm, ...] = ()
    """Empty means the family's recommended images."""
    instance_profile: str = ""
    """Empty means the role's, or else the one in the settings."""
    role: str = ""
    user_data: str = ""
    block_devices: tuple[BlockDevice, ...] = ()
    """Empty means the family's default volumes."""
    metadata_options: MetadataOptions = MetadataOptions()
    tags: Mapping[str, str] = field(default_factory=dict)
    launch_template: str = ""
    """Name of a launch template that is used untouched (AWS-57); empty means that we write our own."""
    detailed_monitoring: bool = False
    context: str = ""
    kubelet: KubeletConfiguration | None = None
    """Kubelet settings of an EC2NodeClass; those of a Provisioner go before it (see `NodePool.kubelet`)."""
    instance_store_policy: Literal["RAID0"] | None = None
    """RAID0 makes the local disks the node's ephemeral storage."""
    associate_public_ip: bool | None = None
    """None leaves it to the subnet."""
    other: Mapping[str, object] = field(default_factory=dict)
    """Checked but not yet used parts of an EC2NodeClass, by their field name: `networkInterfaces`, `cpuOptions` …"""
    conditions: tuple[Condition, ...] = ()
    hash_annotations: Mapping[str, str] = field(default_factory=dict)
    """What claims are told of the class they were launched with (static drift); empty for an inline `provider`."""

    @property
    def is_ec2_node_class(self) -> bool:
        """Whether it is an EC2NodeClass: those of v1alpha5 have a shorter status and fewer permissions."""
        return self.origin.kind == "EC2NodeClass"

    @property
    def name(self) -> str:
        """The object's name."""
        return self.metadata.name
