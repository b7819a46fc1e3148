"""Instance types for `build_catalog.py`: from moto's descriptions, what Karpenter derives labels and capacity from."""

import ast
import gzip
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

Description = Mapping[str, Any]
"""One entry of EC2's DescribeInstanceTypes."""

ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
"""EC2's names for what we simulate; i386 is dropped, and so are the mac architectures."""

USAGE_CLASSES = ("on-demand", "spot")


class MotoData:
    """The data files inside a moto wheel or an unpacked `moto` package directory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        found = re.search(r"^__version__ = (.+)$", self._read("__init__.py").decode(), re.MULTILINE)
        if found is None:
            raise SystemExit(f"{path}: not a moto package; give a wheel or the package directory")
        self.version: str = ast.literal_eval(found[1])

    def instance_types(self) -> dict[str, Description]:
        """Return EC2's description of each type, by name."""
        return cast(dict[str, Description], self._json("instance_types.json"))

    def zones(self, region: str) -> dict[str, str]:
        """Return the zone letters that offer each type, sorted: `{"m5.large": "abcd"}`."""
        file = f"instance_type_offerings/availability-zone/{region}.json"
        offerings = cast(list[dict[str, str]], self._json(file))
        letters: dict[str, set[str]] = {}
        for offering in offerings:
            letters.setdefault(offering["InstanceType"], set()).add(offering["Location"].removeprefix(region))
        return {name: "".join(sorted(found)) for name, found in letters.items()}

    def _json(self, name: str) -> object:
        for suffix, decode in ((".gz", gzip.decompress), ("", bytes)):
            try:
                return json.loads(decode(self._read(f"ec2/resources/{name}{suffix}")))
            except (KeyError, FileNotFoundError):
                continue
        raise SystemExit(f"{self._path}: has no ec2/resources/{name}")

    def _read(self, name: str) -> bytes:
        if self._path.is_dir():
            return (self._path / name).read_bytes()
        with zipfile.ZipFile(self._path) as wheel:
            return wheel.read(f"moto/{name}")


def build_instance_types(newest: MotoData, older: MotoData, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole document: types of `newest`, then those only `older` has, marked retired; sorted by name.

    A type that none of the catalogue's regions offers is left out.
    """
    branch_interfaces = branch_interface_table(facts["branchInterfaces"])
    current = newest.instance_types()
    retired = {name: entry for name, entry in older.instance_types().items() if name not in current}
    records: dict[str, dict[str, Any]] = {}
    for moto, descriptions in ((newest, current), (older, retired)):
        zones = {region: moto.zones(region) for region in facts["regions"]}
        for name, description in descriptions.items():
            offered = {region: by_type[name] for region, by_type in zones.items() if name in by_type}
            if not offered or not is_simulated(description):
                continue
            record = instance_type(description)
            record |= {"podEni": limit} if (limit := branch_interfaces.get(name)) else {}
            record |= {"retired": True} if moto is older else {}
            records[name] = record | {"zones": offered}
    return {
        "format": 1,
        "source": f"moto {newest.version}, retired types from moto {older.version}",
        "regions": facts["regions"],
        "types": dict(sorted(records.items())),
    }


def branch_interface_table(profiles: list[Mapping[str, Any]]) -> dict[str, int]:
    """Return branch interfaces by type name; a size of a family that was not observed takes its profile's value."""
    return {
        f"{family}.{size}": limit
        for profile in profiles
        for family in profile["families"]
        for size, limit in profile["sizes"].items()
    }


def is_simulated(description: Description) -> bool:
    """Tell whether Karpenter would see the type: hardware virtualisation on amd64 or arm64 (spec AWS-10)."""
    supported = description["ProcessorInfo"]["SupportedArchitectures"]
    return "hvm" in description["SupportedVirtualizationTypes"] and bool(ARCHITECTURES.keys() & set(supported))


def instance_type(description: Description) -> dict[str, Any]:
    """Return one record of the data file; its keys are documented in `src/karpenter/catalog/README.md`."""
    processor = description["ProcessorInfo"]
    (architecture,) = (new for old, new in ARCHITECTURES.items() if old in processor["SupportedArchitectures"])
    record: dict[str, Any] = {
        "cpu": description["VCpuInfo"]["DefaultVCpus"],
        "mem": description["MemoryInfo"]["SizeInMiB"],
        "arch": architecture,
        "hyp": description.get("Hypervisor", ""),
        "use": [usage for usage in USAGE_CLASSES if usage in description["SupportedUsageClasses"]],
    }
    record |= network(description["NetworkInfo"]) | storage(description) | devices(description)
    optional = {
        "metal": description["BareMetal"],
        "burst": description["BurstablePerformanceSupported"],
        "cur": description["CurrentGeneration"],
        "maker": processor.get("Manufacturer", ""),
        "mhz": round(processor.get("SustainedClockSpeedInGhz", 0) * 1000),
    }
    return record | {key: value for key, value in optional.items() if value}


def network(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return interfaces, addresses and bandwidth."""
    cards = info["NetworkCards"]
    default_card = cards[info.get("DefaultNetworkCardIndex", 0)]
    optional = {
        "enc": info["EncryptionInTransitSupported"],
        "net": baseline_bandwidth_mbps(info),
        "efa": info.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
    }
    return {
        "eni": default_card["MaximumNetworkInterfaces"],
        "eniAll": sum(card["MaximumNetworkInterfaces"] for card in cards),
        "ip": info["Ipv4AddressesPerInterface"],
    } | {key: value for key, value in optional.items() if value}


def baseline_bandwidth_mbps(info: Mapping[str, Any]) -> int:
    """Return the baseline of all cards together, 0 when unknown.

    EC2 repeats the total on each card of some types, so the advertised total caps the sum. Types that advertise words
    ("Moderate") carry no such label in Karpenter.
    """
    advertised = re.search(r"(?:(\d+)x )?([\d.]+) Gigabit", info["NetworkPerformance"])
    if advertised is None or any("BaselineBandwidthInGbps" not in card for card in info["NetworkCards"]):
        return 0
    total_gbps = int(advertised[1] or 1) * float(advertised[2])
    sum_gbps: float = sum(card["BaselineBandwidthInGbps"] for card in info["NetworkCards"])
    return round(min(total_gbps, sum_gbps) * 1000)


def storage(description: Description) -> dict[str, Any]:
    """Return EBS limits and local NVMe disks; a key is absent when EC2 does not say or there is none."""
    ebs = description["EbsInfo"]
    disks = description.get("InstanceStorageInfo", {})
    optional = {
        "ebs": ebs.get("MaximumEbsAttachments", 0),
        "ebsShared": ebs.get("AttachmentLimitType") == "shared",
        "ebsMbps": ebs.get("EbsOptimizedInfo", {}).get("MaximumBandwidthInMbps", 0)
        if ebs["EbsOptimizedSupport"] == "default"
        else 0,
        "nvme": disks.get("TotalSizeInGB", 0) if disks.get("NvmeSupport", "unsupported") != "unsupported" else 0,
    }
    return {key: value for key, value in optional.items() if value}


def devices(description: Description) -> dict[str, Any]:
    """Return GPUs and machine-learning accelerators under EC2's names; other devices have no Karpenter label."""
    gpus = [device(gpu) for gpu in description.get("GpuInfo", {}).get("Gpus", [])]
    neurons = description.get("NeuronInfo", {}).get("NeuronDevices", [])
    inference = description.get("InferenceAcceleratorInfo", {}).get("Accelerators", [])
    accelerators = [device(accelerator) for accelerator in inference or neurons]
    for accelerator, neuron in zip(accelerators, neurons, strict=False):
        accelerator["cores"] = neuron["CoreInfo"]["Count"]
    family = description["InstanceType"].partition(".")[0]
    if family.startswith("trn1"):
        # Spec AWS-14: the v1alpha5 provider hard-codes trn1 and calls its devices by the older name.
        accelerators = [accelerator | {"v1alpha5Name": "Inferentia"} for accelerator in accelerators]
    return {key: value for key, value in (("gpu", gpus), ("acc", accelerators)) if value}


def device(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return one kind of device: name, maker, how many, memory of each in MiB. Neuron devices name no maker: AWS."""
    found = {"name": info["Name"], "maker": info.get("Manufacturer", "AWS"), "count": info["Count"]}
    return found | ({"mem": info["MemoryInfo"]["SizeInMiB"]} if "MemoryInfo" in info else {})
