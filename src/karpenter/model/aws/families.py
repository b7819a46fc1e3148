"""What each image family can do: the kubelet settings it honours, the volume that holds pods' storage, its system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from karpenter.model.aws.nodeclass import AmiFamily

_GIB: Final = 2**30


@dataclass(frozen=True, slots=True)
class FamilyFacts:
    """The traits of one image family (spec v1alpha5 §3.3, §3.8; spec v1 §4.4)."""

    ephemeral_device: str | None
    """Device whose size is the node's ephemeral storage; None means the last one listed."""
    os: str = "linux"
    windows_build: str | None = None
    """Build label of nodes; None for Linux."""
    default_devices: tuple[str, ...] = ()
    """Volumes of a node whose class lists none."""
    default_storage_bytes: int = 20 * _GIB
    eni_limited_pods: bool = True
    """Whether network interfaces limit pods; otherwise 110 fit."""
    honours_pods_per_core: bool = True
    honours_soft_eviction: bool = True
    reserves_by_eni: bool = True
    """Whether the memory reserve follows the interfaces even when `maxPods` says otherwise (AWS-24)."""
    os_image: str = ""
    """What nodes report as their operating system."""


_WINDOWS: Final = FamilyFacts(
    "/dev/sda1",
    os="windows",
    default_devices=("/dev/sda1",),
    default_storage_bytes=50 * _GIB,
    eni_limited_pods=False,
    reserves_by_eni=False,
)

FAMILIES: Final[Mapping[AmiFamily, FamilyFacts]] = {
    "AL2": FamilyFacts("/dev/xvda", default_devices=("/dev/xvda",), os_image="Amazon Linux 2"),
    "AL2023": FamilyFacts("/dev/xvda", default_devices=("/dev/xvda",), os_image="Amazon Linux 2023"),
    "Bottlerocket": FamilyFacts(
        "/dev/xvdb",
        default_devices=("/dev/xvda", "/dev/xvdb"),
        honours_pods_per_core=False,
        honours_soft_eviction=False,
        reserves_by_eni=False,
        os_image="Bottlerocket OS",
    ),
    "Ubuntu": FamilyFacts("/dev/sda1", default_devices=("/dev/sda1",), os_image="Ubuntu 20.04 LTS"),
    "Custom": FamilyFacts(None, os_image="Linux"),
    "Windows2019": replace(_WINDOWS, windows_build="10.0.17763", os_image="Windows Server 2019 Datacenter"),
    "Windows2022": replace(_WINDOWS, windows_build="10.0.20348", os_image="Windows Server 2022 Datacenter"),
    "Windows2025": replace(_WINDOWS, windows_build="10.0.26100", os_image="Windows Server 2025 Datacenter"),
}
