"""What DescribeInstanceTypes says of a type, as a record of the catalogue. Source: spec v1alpha5 §3.2, spec v1 A-19."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from karpenter.model.aws.catalog import Device, InstanceTypeRecord

ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
_AMAZON: Final = "AWS"


def record_of(raw: Mapping[str, Any], shipped: InstanceTypeRecord | None) -> InstanceTypeRecord:
    """Return a type of EC2's as a record, without zones, which another call tells.

    `shipped` is what the package's catalogue knows of the type: it fills in what EC2 tells nobody, the interfaces for
    pods and the names that v1alpha5 gives devices.
    """
    network, ebs = raw["NetworkInfo"], raw.get("EbsInfo", {})
    cards = network.get("NetworkCards", [])
    default = network.get("DefaultNetworkCardIndex", 0)
    own: Mapping[str, Any] = next((card for card in cards if card["NetworkCardIndex"] == default), {})
    arch = next(arch for arch in raw["ProcessorInfo"]["SupportedArchitectures"] if arch in ARCHITECTURES)
    ghz = raw["ProcessorInfo"].get("SustainedClockSpeedInGhz")
    return InstanceTypeRecord(
        name=raw["InstanceType"],
        cpu=raw["VCpuInfo"]["DefaultVCpus"],
        cpu_maker=raw["ProcessorInfo"].get("Manufacturer", ""),
        cpu_mhz=round(ghz * 1000) if ghz else None,
        memory_mib=raw["MemoryInfo"]["SizeInMiB"],
        arch=ARCHITECTURES[arch],
        hypervisor=raw.get("Hypervisor", ""),
        is_metal=raw.get("BareMetal", False),
        is_burstable=raw.get("BurstablePerformanceSupported", False),
        is_current=raw.get("CurrentGeneration", False),
        usage_classes=tuple(raw["SupportedUsageClasses"]),
        enis=own.get("MaximumNetworkInterfaces", network["MaximumNetworkInterfaces"]),
        all_enis=sum(card["MaximumNetworkInterfaces"] for card in cards) or network["MaximumNetworkInterfaces"],
        ips_per_eni=network["Ipv4AddressesPerInterface"],
        efas=network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        encryption_in_transit=network.get("EncryptionInTransitSupported", False),
        network_mbps=_bandwidth(cards),
        ebs_attachments=ebs.get("MaximumEbsAttachments"),
        ebs_mbps=_ebs_bandwidth(ebs),
        nvme_gb=_local_disks(raw),
        gpus=tuple(_device(one, shipped) for one in raw.get("GpuInfo", {}).get("Gpus", ())),
        accelerators=_accelerators(raw, shipped),
        branch_interfaces=shipped.branch_interfaces if shipped else 0,
        zone_letters={},
    )


def _bandwidth(cards: Sequence[Mapping[str, Any]]) -> int | None:
    baselines = [card.get("BaselineBandwidthInGbps") for card in cards]
    known = [each for each in baselines if each is not None]
    return round(sum(known) * 1000) if known else None


def _ebs_bandwidth(ebs: Mapping[str, Any]) -> int | None:
    if ebs.get("EbsOptimizedSupport") != "default":
        return None
    bandwidth: int | None = ebs.get("EbsOptimizedInfo", {}).get("MaximumBandwidthInMbps")
    return bandwidth


def _local_disks(raw: Mapping[str, Any]) -> int | None:
    """Return the size of the NVMe disks; those of older types are no NVMe and do not count."""
    storage = raw.get("InstanceStorageInfo", {})
    has_nvme = storage.get("NvmeSupport", "unsupported") != "unsupported"
    return storage.get("TotalSizeInGB") if has_nvme else None


def _accelerators(raw: Mapping[str, Any], shipped: InstanceTypeRecord | None) -> tuple[Device, ...]:
    neurons = [_neuron(one, shipped) for one in raw.get("NeuronInfo", {}).get("NeuronDevices", ())]
    listed = {one.name for one in neurons}
    others = raw.get("InferenceAcceleratorInfo", {}).get("Accelerators", ())
    return (*neurons, *(_device(one, shipped) for one in others if one["Name"] not in listed))


def _device(raw: Mapping[str, Any], shipped: InstanceTypeRecord | None) -> Device:
    return Device(
        name=raw["Name"],
        maker=raw["Manufacturer"],
        count=raw.get("Count", 0),
        memory_mib=raw.get("MemoryInfo", {}).get("SizeInMiB", 0),
        v1alpha5_name=_old_name(raw["Name"], shipped),
    )


def _neuron(raw: Mapping[str, Any], shipped: InstanceTypeRecord | None) -> Device:
    return Device(
        name=raw["Name"],
        maker=_AMAZON,
        count=raw.get("Count", 0),
        memory_mib=raw.get("MemoryInfo", {}).get("SizeInMiB", 0),
        cores=raw.get("CoreInfo", {}).get("Count", 0),
        v1alpha5_name=_old_name(raw["Name"], shipped),
    )


def _old_name(name: str, shipped: InstanceTypeRecord | None) -> str:
    known = (*shipped.gpus, *shipped.accelerators) if shipped else ()
    return next((device.v1alpha5_name for device in known if device.name == name), "")
