"""Instance types as a pool would get them: labels, offerings, capacity and allocatable of one machine type.

Source: spec v1alpha5 §1.4, §3.2 (AWS-10 … AWS-16), §3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from karpenter.model import labels
from karpenter.model.aws.allocatable import Build, capacity_and_allocatable, volume_limits
from karpenter.model.aws.catalog import Device, InstanceTypeRecord
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.settings import DEFAULT_SETTINGS, AwsSettings
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.nodepool import KubeletConfiguration
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import PODS

_REMEMBERED_BUILDS: Final = 64


def instance_type(
    record: InstanceTypeRecord,
    *,
    region: str,
    offerings: Sequence[Offering],
    node_class: AwsNodeClass | None = None,
    kubelet: KubeletConfiguration | None = None,
    settings: AwsSettings = DEFAULT_SETTINGS,
) -> InstanceType:
    """Return one type as a pool gets it. `kubelet` is the pool's own; None leaves it to the node class.

    Its requirements have every AWS label, `DoesNotExist` where the type has no value; zones and capacity types are
    those of the available offerings (AWS-12).
    """
    return _shape(record, Build.of(node_class, kubelet), region=region, settings=settings).offered(tuple(offerings))


class InstanceTypeCache:
    """Builds instance types of one region and remembers them: equal inputs give the very same objects again.

    Thousands of types for several pools are asked for in every round, and hardly any of them has changed.
    """

    def __init__(self, region: str, settings: AwsSettings) -> None:
        self._region = region
        self._settings = settings
        self._by_build: dict[tuple[object, ...], dict[str, tuple[_Shape, InstanceType]]] = {}

    def resolve(
        self,
        records: Iterable[InstanceTypeRecord],
        offerings: Callable[[InstanceTypeRecord], tuple[Offering, ...]],
        build: Build,
    ) -> tuple[InstanceType, ...]:
        """Return the records as instance types of nodes built that way, in the order given."""
        remembered = self._remembered(build.key)
        resolved = []
        for record in records:
            offered = offerings(record)
            shape, made = remembered.get(record.name, (None, None))
            if made is None or made.offerings != offered:
                shape = shape or _shape(record, build, region=self._region, settings=self._settings)
                made = shape.offered(offered, before=made)
                remembered[record.name] = (shape, made)
            resolved.append(made)
        return tuple(resolved)

    def _remembered(self, key: tuple[object, ...]) -> dict[str, tuple[_Shape, InstanceType]]:
        if key not in self._by_build and len(self._by_build) >= _REMEMBERED_BUILDS:
            del self._by_build[next(iter(self._by_build))]
        return self._by_build.setdefault(key, {})


@dataclass(frozen=True, slots=True)
class _Shape:
    """All of an instance type that does not depend on its offerings."""

    name: str
    requirements: tuple[Requirement, ...]
    capacity: Mapping[str, int]
    allocatable: Mapping[str, int]
    volume_limits: Mapping[str, int]

    def offered(self, offerings: tuple[Offering, ...], *, before: InstanceType | None = None) -> InstanceType:
        """Return the type with these offerings; `before` is what it was, as most often only prices change."""
        available = [offering for offering in offerings if offering.available]
        zones = _one_of(labels.ZONE, frozenset(offering.zone for offering in available))
        kinds = _one_of(labels.CAPACITY_TYPE, frozenset(offering.capacity_type for offering in available))
        places = (zones, kinds, *_reservations(available))
        if before is not None and all(before.requirements[place.key] == place for place in places):
            return replace(before, offerings=offerings)
        requirements = Requirements((*self.requirements, *places))
        return InstanceType(self.name, requirements, offerings, self.capacity, self.allocatable, self.volume_limits)


def _reservations(offerings: Iterable[Offering]) -> tuple[Requirement, ...]:
    """Return the labels that reserved offerings bring, each absent where there is none (A-28)."""
    held = [offering.reservation_labels for offering in offerings if offering.reservation_id is not None]
    return tuple(_one_of(key, frozenset(one[key] for one in held)) for key in sorted(labels.RESERVATION_KEYS))


def _shape(record: InstanceTypeRecord, build: Build, *, region: str, settings: AwsSettings) -> _Shape:
    has, usable = capacity_and_allocatable(record, build, settings)
    facts = build.facts
    own = (
        _one_of(labels.OS, frozenset({facts.os})),
        _one_of(labels.REGION, frozenset({region})),
        _only(labels.WINDOWS_BUILD, facts.windows_build),
        _only(labels.INSTANCE_PODS, has[PODS]),
    )
    return _Shape(record.name, (*_record_labels(record), *own), has, usable, volume_limits(record, build))


def _record_labels(record: InstanceTypeRecord) -> tuple[Requirement, ...]:
    """Return the labels that follow from the type alone (§1.4)."""
    category, generation = record.category_and_generation or (None, None)
    values: dict[str, object] = {
        labels.INSTANCE_TYPE: record.name,
        labels.ARCH: record.arch,
        labels.INSTANCE_HYPERVISOR: record.hypervisor,
        labels.INSTANCE_ENCRYPTION: "true" if record.encryption_in_transit else "false",
        labels.INSTANCE_CATEGORY: category,
        labels.INSTANCE_GENERATION: generation,
        labels.INSTANCE_FAMILY: record.family,
        labels.INSTANCE_SIZE: record.size,
        labels.INSTANCE_CPU: record.cpu,
        labels.INSTANCE_MEMORY: record.memory_mib,
        labels.INSTANCE_NETWORK_BANDWIDTH: record.network_mbps,
        labels.INSTANCE_LOCAL_NVME: record.nvme_gb,
        **_gpu_labels(record.gpus),
        **_accelerator_labels(record.accelerators),
    }
    return tuple(_only(key, value) for key, value in values.items())


def _gpu_labels(gpus: tuple[Device, ...]) -> dict[str, object]:
    # A type with two kinds of devices would need two values a label, so it gets none (AWS-12).
    gpu = gpus[0] if len(gpus) == 1 else None
    return {
        labels.INSTANCE_GPU_NAME: gpu and _kebab(gpu.name),
        labels.INSTANCE_GPU_MANUFACTURER: gpu and _kebab(gpu.maker),
        labels.INSTANCE_GPU_COUNT: gpu and gpu.count,
        labels.INSTANCE_GPU_MEMORY: gpu and gpu.memory_mib,
    }


def _accelerator_labels(accelerators: tuple[Device, ...]) -> dict[str, object]:
    device = accelerators[0] if len(accelerators) == 1 else None
    return {
        labels.INSTANCE_ACCELERATOR_NAME: device and _kebab(device.v1alpha5_name or device.name),
        labels.INSTANCE_ACCELERATOR_MANUFACTURER: device and _kebab(device.maker),
        labels.INSTANCE_ACCELERATOR_COUNT: device and device.count,
    }


def _kebab(name: str) -> str:
    """Return EC2's name of a device as a label value: `Gaudi HL-205` is `gaudi-hl-205` (AWS-16)."""
    return name.lower().replace(" ", "-")


def _only(key: str, value: object) -> Requirement:
    return _one_of(key, frozenset() if value is None else frozenset({str(value)}))


@lru_cache(maxsize=65536)
def _one_of(key: str, values: frozenset[str]) -> Requirement:
    # Shared between types: 1,300 of them say the same about most labels.
    return Requirement(key, complement=False, values=values)
