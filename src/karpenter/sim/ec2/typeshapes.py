"""How EC2 describes an instance type: the catalogue's records in the words of DescribeInstanceTypes."""

from __future__ import annotations

from typing import Any, Final

from karpenter.model.aws.catalog import Device, InstanceTypeRecord

_ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "arm64"}
_INFERENCE: Final = frozenset({"Inferentia"})
"""Neuron devices that are listed under the older heading too."""


def instance_type_info(record: InstanceTypeRecord) -> dict[str, Any]:
    """Return everything the catalogue knows of a type."""
    return {
        "InstanceType": record.name,
        "CurrentGeneration": record.is_current,
        "BareMetal": record.is_metal,
        "BurstablePerformanceSupported": record.is_burstable,
        "Hypervisor": record.hypervisor or None,
        "SupportedUsageClasses": list(record.usage_classes),
        "SupportedRootDeviceTypes": ["ebs"],
        "SupportedVirtualizationTypes": ["hvm"],
        "SupportedBootModes": ["uefi"] if record.arch == "arm64" else ["legacy-bios", "uefi"],
        "PlacementGroupInfo": {"SupportedStrategies": ["cluster", "partition", "spread"]},
        "ProcessorInfo": _processor(record),
        "VCpuInfo": {"DefaultVCpus": record.cpu},
        "MemoryInfo": {"SizeInMiB": record.memory_mib},
        "NetworkInfo": _network(record),
        "EbsInfo": _ebs(record),
        "InstanceStorageSupported": record.nvme_gb is not None,
        "InstanceStorageInfo": _disks(record),
        **_devices(record),
    }


def _processor(record: InstanceTypeRecord) -> dict[str, Any]:
    return {
        "SupportedArchitectures": [_ARCHITECTURES[record.arch]],
        "Manufacturer": record.cpu_maker or None,
        "SustainedClockSpeedInGhz": record.cpu_mhz / 1000 if record.cpu_mhz else None,
    }


def _network(record: InstanceTypeRecord) -> dict[str, Any]:
    cards = _cards(record)
    return {
        "NetworkPerformance": _performance(record),
        "MaximumNetworkInterfaces": record.enis,
        "MaximumNetworkCards": len(cards),
        "DefaultNetworkCardIndex": 0,
        "NetworkCards": cards,
        "Ipv4AddressesPerInterface": record.ips_per_eni,
        "Ipv6AddressesPerInterface": record.ips_per_eni,
        "Ipv6Supported": True,
        "EnaSupport": "supported" if record.hypervisor == "xen" else "required",
        "EfaSupported": bool(record.efas),
        "EfaInfo": {"MaximumEfaInterfaces": record.efas} if record.efas else None,
        "EncryptionInTransitSupported": record.encryption_in_transit,
    }


def _performance(record: InstanceTypeRecord) -> str:
    return "Moderate" if record.network_mbps is None else f"{record.network_mbps / 1000:g} Gigabit"


def _cards(record: InstanceTypeRecord) -> list[dict[str, Any]]:
    """Return the network cards: the default one, and as many alike as hold the other interfaces."""
    others, left = divmod(record.all_enis - record.enis, record.enis)
    sizes = [record.enis] * (1 + others) + ([left] if left else [])
    each_gbps = None if record.network_mbps is None else record.network_mbps / 1000 / len(sizes)
    return [
        {
            "NetworkCardIndex": index,
            "NetworkPerformance": _performance(record),
            "MaximumNetworkInterfaces": size,
            "BaselineBandwidthInGbps": each_gbps,
        }
        for index, size in enumerate(sizes)
    ]


def _ebs(record: InstanceTypeRecord) -> dict[str, Any]:
    bandwidth = {"MaximumBandwidthInMbps": record.ebs_mbps} if record.ebs_mbps else None
    return {
        "EbsOptimizedSupport": "default" if bandwidth else "unsupported",
        "EbsOptimizedInfo": bandwidth,
        "EncryptionSupport": "supported",
        "NvmeSupport": "required" if record.hypervisor == "nitro" else "unsupported",
        "MaximumEbsAttachments": record.ebs_attachments,
    }


def _disks(record: InstanceTypeRecord) -> dict[str, Any] | None:
    if record.nvme_gb is None:
        return None
    return {
        "TotalSizeInGB": record.nvme_gb,
        "NvmeSupport": "required",
        "Disks": [{"SizeInGB": record.nvme_gb, "Count": 1, "Type": "ssd"}],
    }


def _devices(record: InstanceTypeRecord) -> dict[str, Any]:
    neurons = [one for one in record.accelerators if one.cores]
    inference = [one for one in record.accelerators if not one.cores or one.name in _INFERENCE]
    return {
        "GpuInfo": {"Gpus": [_device(one) for one in record.gpus]} if record.gpus else None,
        "InferenceAcceleratorInfo": {"Accelerators": [_device(one) for one in inference]} if inference else None,
        "NeuronInfo": {"NeuronDevices": [_neuron(one) for one in neurons]} if neurons else None,
    }


def _device(device: Device) -> dict[str, Any]:
    return {"Name": device.name, "Manufacturer": device.maker, "Count": device.count, "MemoryInfo": _memory(device)}


def _neuron(device: Device) -> dict[str, Any]:
    return {
        "Name": device.name,
        "Count": device.count,
        "CoreInfo": {"Count": device.cores},
        "MemoryInfo": _memory(device),
    }


def _memory(device: Device) -> dict[str, Any]:
    return {"SizeInMiB": device.memory_mib}
