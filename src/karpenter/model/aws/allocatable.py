"""From a machine's facts to what pods can use on it: capacity, reserves, eviction thresholds.

All amounts are exact integers: thousandths of a core, bytes, counts. Source: spec v1alpha5 §3.3 (AWS-20 … AWS-28).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Final

from karpenter.model.aws.catalog import Device, InstanceTypeRecord
from karpenter.model.aws.families import FAMILIES, FamilyFacts
from karpenter.model.aws.nodeclass import AmiFamily, AwsNodeClass, BlockDevice
from karpenter.model.aws.settings import AwsSettings
from karpenter.model.nodepool import KubeletConfiguration
from karpenter.model.quantity import whole
from karpenter.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources, add, subtract

NVIDIA_GPU: Final = "nvidia.com/gpu"
AMD_GPU: Final = "amd.com/gpu"
NEURON: Final = "aws.amazon.com/neuron"
GAUDI: Final = "habana.ai/gaudi"
POD_ENI: Final = "vpc.amazonaws.com/pod-eni"
WINDOWS_IPV4: Final = "vpc.amazonaws.com/PrivateIPv4Address"
EBS_DRIVER: Final = "ebs.csi.aws.com"

_MIB: Final = 2**20
_GIB: Final = 2**30
_ARM_RESERVED_MIB: Final = 64
"""Memory that the kernel sets aside for contiguous allocations on arm64 (AWS-21)."""
_PODS_WITHOUT_DENSITY: Final = 110
_CPU_TIERS: Final = ((1, 60), (1, 10), (2, 5))
"""Cores of a tier, and thousandths of a core reserved for each of them (AWS-24)."""
_EVICTION_SIGNALS: Final = {"memory.available": MEMORY, "nodefs.available": EPHEMERAL_STORAGE}
_DEVICE_RESOURCES: Final = {"NVIDIA": NVIDIA_GPU, "AMD": AMD_GPU, "Habana": GAUDI}


@dataclass(frozen=True, slots=True)
class Build:
    """How nodes of one pool are built, as far as it changes what they hold. Compare by `key`."""

    family: AmiFamily
    devices: tuple[BlockDevice, ...]
    local_disks_are_storage: bool
    kubelet: KubeletConfiguration
    soft_eviction_counts: bool
    """Whether `evictionSoft` lowers allocatable: that of a Provisioner (AWS-26), not that of a node class (v1 A-25)."""

    @classmethod
    def of(cls, node_class: AwsNodeClass | None, kubelet: KubeletConfiguration | None) -> Build:
        """Return the build of a pool: its own kubelet settings, if any, go before the node class's.

        Without a node class it is AL2 with default volumes.
        """
        from_class = node_class.kubelet if node_class else None
        return cls(
            family=node_class.ami_family if node_class else "AL2",
            devices=node_class.block_devices if node_class else (),
            local_disks_are_storage=bool(node_class and node_class.instance_store_policy == "RAID0"),
            kubelet=kubelet or from_class or KubeletConfiguration(),
            soft_eviction_counts=kubelet is not None,
        )

    @property
    def facts(self) -> FamilyFacts:
        """What the image family can do."""
        return FAMILIES[self.family]

    @property
    def key(self) -> tuple[object, ...]:
        """A hashable stand-in: builds with equal keys give equal amounts."""
        kubelet = self.kubelet
        return (
            self.family,
            self.devices,
            self.local_disks_are_storage,
            self.soft_eviction_counts,
            kubelet.max_pods,
            kubelet.pods_per_core,
            *(
                tuple(sorted(values.items()))
                for values in (
                    kubelet.system_reserved,
                    kubelet.kube_reserved,
                    kubelet.eviction_hard,
                    kubelet.eviction_soft,
                )
            ),
        )


def eni_limited_pods(record: InstanceTypeRecord, *, reserved_enis: int = 0) -> int:
    """Return how many pods the network interfaces of a type can address (AWS-23); 0 when none is left."""
    usable = max(0, record.enis - reserved_enis)
    return usable * (record.ips_per_eni - 1) + 2 if usable else 0


def pod_capacity(record: InstanceTypeRecord, build: Build, settings: AwsSettings) -> int:
    """Return how many pods a node may run (AWS-22)."""
    kubelet, facts = build.kubelet, build.facts
    if kubelet.max_pods is not None:
        pods = kubelet.max_pods
    elif settings.eni_limited_pod_density and facts.eni_limited_pods:
        pods = eni_limited_pods(record, reserved_enis=settings.reserved_enis)
    else:
        pods = _PODS_WITHOUT_DENSITY
    if kubelet.pods_per_core and facts.honours_pods_per_core:
        pods = min(pods, kubelet.pods_per_core * record.cpu)
    return pods


def memory_capacity(record: InstanceTypeRecord, settings: AwsSettings) -> int:
    """Return the memory a node is expected to report, in bytes (AWS-21)."""
    mib = record.memory_mib - (_ARM_RESERVED_MIB if record.arch == "arm64" else 0)
    overhead = _ceil(mib * Decimal(str(settings.vm_memory_overhead_percent)))
    return (mib - overhead) * _MIB


def storage_capacity(record: InstanceTypeRecord, build: Build) -> int:
    """Return the node's ephemeral storage in bytes (AWS-27; spec v1 A-22 for RAID0 and a root volume named so)."""
    if build.local_disks_are_storage and record.nvme_gb:
        return record.nvme_gb * 10**9
    size = next((device.volume_size_bytes for device in build.devices if device.is_root), None)
    if size is not None:
        return size
    wanted = build.facts.ephemeral_device
    candidates = build.devices[-1:] if wanted is None else build.devices
    named = (device.volume_size_bytes for device in candidates if wanted in {None, device.device_name})
    return next(named, None) or build.facts.default_storage_bytes


def capacity(record: InstanceTypeRecord, build: Build, settings: AwsSettings) -> dict[str, int]:
    """Return everything a node of the type has, extended resources included; absent means none (AWS-20 … AWS-28)."""
    has = {
        CPU: record.cpu * 1000,
        MEMORY: memory_capacity(record, settings),
        EPHEMERAL_STORAGE: storage_capacity(record, build),
        PODS: pod_capacity(record, build, settings),
        NEURON: _count(record.accelerators, "AWS"),
    }
    for maker, resource in _DEVICE_RESOURCES.items():
        has[resource] = _count(record.gpus, maker)
    if settings.enable_pod_eni:
        has[POD_ENI] = record.branch_interfaces
    if build.facts.os == "windows":
        has[WINDOWS_IPV4] = record.ips_per_eni - 1
    return {name: amount for name, amount in has.items() if amount or name == PODS}


def _count(devices: tuple[Device, ...], maker: str) -> int:
    return sum(device.count for device in devices if device.maker == maker)


def kube_reserved(record: InstanceTypeRecord, build: Build, *, pods: int) -> dict[str, int]:
    """Return what the kubelet and the container runtime keep (AWS-24); user keys replace the defaults one by one.

    For families that `reserves_by_eni` the memory follows the interfaces of the type, whatever `maxPods` and the
    reserved interfaces say: their boot script reads it from a table by type (spec v1 A-24, V57).
    """
    counted = eni_limited_pods(record) if build.facts.reserves_by_eni else pods
    defaults = {CPU: _reserved_cpu(record.cpu), MEMORY: (11 * counted + 255) * _MIB, EPHEMERAL_STORAGE: _GIB}
    return defaults | dict(build.kubelet.kube_reserved)


def _reserved_cpu(cores: int) -> int:
    reserved, left = 0, cores
    for size, millis_each in _CPU_TIERS:
        reserved += min(left, size) * millis_each
        left = max(0, left - size)
    return reserved + left * 5 // 2


def eviction_threshold(build: Build, has: Resources) -> dict[str, int]:
    """Return what must stay free lest the kubelet evicts pods, for memory and ephemeral storage (AWS-26)."""
    threshold = {MEMORY: 100 * _MIB, EPHEMERAL_STORAGE: _ceil(Decimal(has[EPHEMERAL_STORAGE]) / 10)}
    given = [build.kubelet.eviction_hard]
    if build.soft_eviction_counts and build.facts.honours_soft_eviction:
        given.append(build.kubelet.eviction_soft)
    for signal, resource in _EVICTION_SIGNALS.items():
        values = [_signal(settings[signal], has[resource]) for settings in given if signal in settings]
        if values:
            threshold[resource] = max(values)
    return threshold


@lru_cache(maxsize=16384)
def _signal(text: str, has: int) -> int:
    """Return an eviction value in bytes; `100%` switches the signal off."""
    if not text.endswith("%"):
        return whole(text)
    percent = Decimal(text.removesuffix("%"))
    return 0 if percent == 100 else _ceil(has * percent / 100)


def capacity_and_allocatable(
    record: InstanceTypeRecord, build: Build, settings: AwsSettings
) -> tuple[dict[str, int], dict[str, int]]:
    """Return capacity, and what pods can use of it: less the reserves and the eviction threshold (§3.3).

    An amount may be negative where the reserves are larger than the machine: nothing fits it (SCH-11).
    """
    has = capacity(record, build, settings)
    taken = add(
        kube_reserved(record, build, pods=has[PODS]), build.kubelet.system_reserved, eviction_threshold(build, has)
    )
    usable = subtract(has, {name: amount for name, amount in taken.items() if name in has})
    return has, usable


def volume_limits(record: InstanceTypeRecord, build: Build) -> Mapping[str, int]:
    """Return how many EBS volumes of pods a node can attach; empty when EC2 does not say.

    The node's own volumes take their slots; so would network interfaces beyond the first, which come later.
    """
    if record.ebs_attachments is None:
        return {}
    own = len(build.devices) or max(1, len(build.facts.default_devices))
    return {EBS_DRIVER: max(0, record.ebs_attachments - own)}


def _ceil(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_CEILING))
