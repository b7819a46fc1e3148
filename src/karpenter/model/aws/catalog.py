"""Facts about EC2: instance types, on-demand list prices, images; read from the data files in `karpenter.catalog`.

Formats: `catalog/README.md`. Source of the rules: spec v1alpha5 §3.2, §3.4, §3.8.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Final, Literal

import msgspec
from msgspec import field

Accelerator = Literal["none", "nvidia", "neuron"]
"""Which drivers an image needs to serve a type."""

_FORMAT: Final = 1
# Letters, an optional size in terabytes, digits: u-6tb1 is category u, generation 1 (AWS-15).
_FAMILY: Final = re.compile(r"([a-z]+)(?:-\d+tb)?(\d+)")


class Device(msgspec.Struct, frozen=True):
    """One kind of GPU or machine-learning accelerator of a type."""

    name: str
    """EC2's spelling: `T4`, `Gaudi HL-205`."""
    maker: str
    count: int
    """0 for a fraction of a device."""
    memory_mib: int = field(name="mem")
    cores: int = 0
    """Cores of one Neuron device."""
    v1alpha5_name: str = field(name="v1alpha5Name", default="")
    """What the v1alpha5 provider calls the device instead; empty when it says the same."""


class InstanceTypeRecord(msgspec.Struct, frozen=True):
    """What EC2 says about one instance type, before any node class or kubelet setting."""

    cpu: int
    memory_mib: int = field(name="mem")
    arch: str
    hypervisor: str = field(name="hyp")
    """`nitro` or `xen`; empty for bare metal (AWS-13)."""
    usage_classes: tuple[str, ...] = field(name="use")
    enis: int = field(name="eni")
    """Network interfaces of the default network card."""
    ips_per_eni: int = field(name="ip")
    zone_letters: Mapping[str, str] = field(name="zones")
    """Region to the letters of the zones that offer the type."""
    name: str = ""
    is_metal: bool = field(name="metal", default=False)
    encryption_in_transit: bool = field(name="enc", default=False)
    network_mbps: int | None = field(name="net", default=None)
    """Baseline bandwidth; None where EC2 gives only words."""
    branch_interfaces: int = field(name="podEni", default=0)
    """Interfaces for pods with security groups of their own; 0 when the type cannot trunk."""
    ebs_attachments: int | None = field(name="ebs", default=None)
    """EBS volumes that may be attached, the root volume included; None when unknown."""
    nvme_gb: int | None = field(name="nvme", default=None)
    """Local NVMe disks in total, decimal gigabytes; None when there are none."""
    gpus: tuple[Device, ...] = field(name="gpu", default=())
    accelerators: tuple[Device, ...] = field(name="acc", default=())
    all_enis: int = field(name="eniAll", default=0)
    """Network interfaces of all cards together."""
    efas: int = field(name="efa", default=0)
    """Elastic fabric adapters at most."""
    ebs_mbps: int | None = field(name="ebsMbps", default=None)
    """EBS bandwidth at most; None unless the type is optimised for EBS by default."""
    cpu_maker: str = field(name="maker", default="")
    """EC2's spelling: `Intel`, `AMD`, `AWS`; empty when unknown."""
    cpu_mhz: int | None = field(name="mhz", default=None)
    """Sustained clock speed; None when unknown."""
    is_burstable: bool = field(name="burst", default=False)
    is_current: bool = field(name="cur", default=False)
    """Whether EC2 calls it current generation."""

    @property
    def family(self) -> str:
        """The name before the dot: `c6gd` of `c6gd.xlarge`."""
        return self.name.partition(".")[0]

    @property
    def size(self) -> str:
        """The name after the dot: `xlarge`, `metal-24xl`."""
        return self.name.partition(".")[2]

    @property
    def category_and_generation(self) -> tuple[str, str] | None:
        """`("c", "6")` of `c6gd.xlarge`; None for a name that does not follow the pattern (AWS-15)."""
        match = _FAMILY.match(self.name)
        return (match[1], match[2]) if match else None

    @property
    def accelerator(self) -> Accelerator:
        """The drivers the type needs."""
        if any(device.maker == "NVIDIA" for device in self.gpus):
            return "nvidia"
        return "neuron" if any(device.maker == "AWS" for device in self.accelerators) else "none"

    def zones(self, region: str) -> tuple[str, ...]:
        """Return the names of a region's zones that offer the type, sorted; empty when the region does not."""
        return tuple(f"{region}{letter}" for letter in self.zone_letters.get(region, ""))


class FamilyRate(msgspec.Struct, frozen=True):
    """The price of a family whose sizes cost in proportion: exactly one of the two rates is given."""

    per_vcpu: float | None = field(name="perVcpu", default=None)
    per_gib: float | None = field(name="perGib", default=None)
    digits: int = 5
    """Decimals that the price is rounded to."""


class Range(msgspec.Struct, frozen=True):
    """A closed interval."""

    min: float
    max: float


class PriceList(msgspec.Struct, frozen=True):
    """On-demand list prices in USD per hour, one for all regions and zones it names."""

    format: int
    regions: tuple[str, ...]
    families: Mapping[str, FamilyRate]
    types: Mapping[str, float]
    spot_base_ratio: Range = field(name="spotBaseRatio")
    """Between which shares of the on-demand price a family's usual spot price lies."""

    def on_demand(self, record: InstanceTypeRecord) -> float | None:
        """Return the price of a type; None when it has none, so that its offerings are unavailable (AWS-31)."""
        if record.name in self.types:
            return self.types[record.name]
        rate = self.families.get(record.family)
        if rate is None:
            return None
        if rate.per_vcpu is not None:
            return round(rate.per_vcpu * record.cpu, rate.digits)
        return round((rate.per_gib or 0.0) * record.memory_mib / 1024, rate.digits)


class Image(msgspec.Struct, frozen=True):
    """One machine image (AMI)."""

    id: str
    name: str
    family: str
    variant: str
    """`standard`, or whose drivers it brings: `gpu`, `nvidia`, `neuron`."""
    arch: str
    generation: int
    """1 is the older of its kind, 2 the newest."""
    release: str
    """Version as in an alias: `v20261111`."""
    created: str
    """RFC 3339; sorts as text."""
    owner: str
    root_device: str = field(name="rootDevice")
    owner_alias: str = field(name="ownerAlias", default="")
    ssm: str = ""
    """Parameter that holds the id of whichever generation is out."""
    ssm_pinned: str = field(name="ssmPinned", default="")
    """Parameter of this release."""


class _TypesFile(msgspec.Struct, frozen=True):
    format: int
    regions: Mapping[str, Mapping[str, str]]
    types: Mapping[str, InstanceTypeRecord]


class _ImagesFile(msgspec.Struct, frozen=True):
    format: int
    kubernetes: str
    images: tuple[Image, ...]


@dataclass(frozen=True, eq=False)
class AwsCatalog:
    """All that the data files know. Compared by identity: there is one per process."""

    records: Mapping[str, InstanceTypeRecord]
    """By name, sorted."""
    regions: Mapping[str, Mapping[str, str]]
    """Region to its zones: letter to zone id."""
    prices: PriceList
    images: tuple[Image, ...]
    kubernetes: str
    """Kubernetes version the images are for, `1.32`."""

    @cached_property
    def on_demand(self) -> Mapping[str, float]:
        """On-demand price of each type that has one, USD per hour."""
        priced = ((name, self.prices.on_demand(record)) for name, record in self.records.items())
        return {name: price for name, price in priced if price is not None}

    def zones(self, region: str) -> tuple[str, ...]:
        """Return the names of a region's zones, sorted.

        Raises:
            ValueError: the catalogue does not know the region.
        """
        if region not in self.regions:
            raise ValueError(f"region {region!r} is not in the catalogue; it has {', '.join(sorted(self.regions))}")
        return tuple(f"{region}{letter}" for letter in sorted(self.regions[region]))

    def in_region(self, region: str) -> tuple[InstanceTypeRecord, ...]:
        """Return the types that a region offers, by name."""
        return tuple(record for record in self.records.values() if region in record.zone_letters)


@lru_cache(maxsize=1)
def load_aws_catalog() -> AwsCatalog:
    """Return the facts shipped with the package; read once a process (about 15 ms)."""
    folder = files("karpenter.catalog")
    packed = folder.joinpath("aws-instance-types.json.gz").read_bytes()
    types = msgspec.json.decode(gzip.decompress(packed), type=_TypesFile)
    prices = msgspec.json.decode(folder.joinpath("aws-prices.json").read_bytes(), type=PriceList)
    images = msgspec.json.decode(folder.joinpath("aws-images.json").read_bytes(), type=_ImagesFile)
    assert (types.format, prices.format, images.format) == (_FORMAT, _FORMAT, _FORMAT)
    named = {name: msgspec.structs.replace(record, name=name) for name, record in types.types.items()}
    return AwsCatalog(named, types.regions, prices, images.images, images.kubernetes)
