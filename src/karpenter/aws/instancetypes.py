"""The instance types of a region as pools get them: EC2's types, where they are sold, at which price.

Source: spec v1alpha5 AWS-10, AWS-11; spec v1 A-19, A-28.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from karpenter.aws.pricing import Pricing
from karpenter.aws.resolved import Reservation, ResolvedNodeClass
from karpenter.aws.session import AwsSession, collect
from karpenter.aws.typerecords import ARCHITECTURES, record_of
from karpenter.cloud.unavailable import UnavailableOfferings
from karpenter.model import labels
from karpenter.model.aws.allocatable import Build
from karpenter.model.aws.catalog import AwsCatalog, InstanceTypeRecord
from karpenter.model.aws.instancetypes import InstanceTypeCache
from karpenter.model.aws.settings import AwsSettings
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.nodepool import KubeletConfiguration
from karpenter.model.requirements import Requirements
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock

log = logs.get("aws.instancetypes")

REFRESH_S: Final = 12 * 3600.0
_PAGE: Final = 100
_REMEMBERED: Final = 64
_RESERVED_DISCOUNT: Final = 10_000_000
"""Reserved machines are paid for anyway: their price only ranks them among each other (A-28)."""
_FILTERS: Final = [
    {"Name": "supported-virtualization-type", "Values": ["hvm"]},
    {"Name": "processor-info.supported-architecture", "Values": list(ARCHITECTURES)},
]


class InstanceTypes:
    """Knows the types of one region, and makes a pool's of them."""

    def __init__(
        self,
        aws: AwsSession,
        clock: Clock,
        *,
        pricing: Pricing,
        unavailable: UnavailableOfferings,
        catalog: AwsCatalog,
        settings: AwsSettings,
    ) -> None:
        self._aws = aws
        self._clock = clock
        self._pricing = pricing
        self._unavailable = unavailable
        self._catalog = catalog
        self._built = InstanceTypeCache(aws.region, settings)
        self._records: tuple[InstanceTypeRecord, ...] = ()
        self._zones: Mapping[str, tuple[str, ...]] = {}
        self._read_at: float | None = None
        self._reading = asyncio.Lock()
        self._made: dict[tuple[object, ...], tuple[tuple[object, ...], tuple[InstanceType, ...]]] = {}
        self._bootable: dict[object, tuple[InstanceTypeRecord, ...]] = {}

    async def refresh(self) -> None:
        """Read types and zones anew, unless somebody did while we waited. Raises CloudError; what was known stays."""
        asked_at = self._clock.now()
        async with self._reading:
            if self._read_at is None or self._read_at < asked_at:
                await self._read()

    async def _read(self) -> None:
        types, zones = await asyncio.gather(self._read_types(), self._read_zones())
        known = self._catalog.records
        records = tuple(record_of(raw, known.get(raw["InstanceType"])) for raw in types)
        self._records = tuple(sorted(records, key=lambda record: record.name))
        self._zones = zones
        self._read_at = self._clock.now()
        self._made.clear()
        self._bootable.clear()
        log.info("read instance types", region=self._aws.region, instance_types=len(self._records))

    async def _read_types(self) -> list[Mapping[str, Any]]:
        operation = ("ec2", "DescribeInstanceTypes")
        return await collect(self._aws, operation, "InstanceTypes", Filters=_FILTERS, MaxResults=_PAGE)

    async def _read_zones(self) -> dict[str, tuple[str, ...]]:
        operation = ("ec2", "DescribeInstanceTypeOfferings")
        found = await collect(
            self._aws, operation, "InstanceTypeOfferings", LocationType="availability-zone", MaxResults=1000
        )
        zones: dict[str, set[str]] = defaultdict(set)
        for raw in found:
            zones[raw["InstanceType"]].add(raw["Location"])
        return {name: tuple(sorted(places)) for name, places in zones.items()}

    async def _ensure(self) -> None:
        async with self._reading:  # many pools ask at once after a start
            if self._read_at is None:
                await self._read()

    async def types(
        self, resolved: ResolvedNodeClass, kubelet: KubeletConfiguration | None
    ) -> tuple[InstanceType, ...]:
        """Return the types that have an image, in the zones of the class's subnets.

        Unchanged ones are the same objects as before. Raises CloudError while EC2 has never answered.
        """
        await self._ensure()
        build = Build.of(resolved.node_class, kubelet)
        key = (
            build.key,
            resolved.zones,
            tuple(ami.id for ami in resolved.amis),
            bool(resolved.node_class.launch_template),
        )
        state = (self._unavailable.version, self._pricing.version, resolved.reservations)
        known = self._made.get(key)
        if known is not None and known[0] == state:
            return known[1]
        if known is None and len(self._made) >= _REMEMBERED:
            del self._made[next(iter(self._made))]
        records = await self._with_image(key, resolved, build)
        types = self._built.resolve(records, lambda record: self._offerings(record, resolved), build)
        self._made[key] = (state, types)
        return types

    async def _with_image(
        self, key: tuple[object, ...], resolved: ResolvedNodeClass, build: Build
    ) -> tuple[InstanceTypeRecord, ...]:
        if resolved.node_class.launch_template:
            return self._records
        if key not in self._bootable:
            bare = self._built.resolve(self._records, lambda _: (), build)
            self._bootable[key] = tuple(
                record
                for record, found in zip(self._records, bare, strict=True)
                if resolved.ami_for(_anywhere(found)) is not None
            )
        return self._bootable[key]

    def _offerings(self, record: InstanceTypeRecord, resolved: ResolvedNodeClass) -> tuple[Offering, ...]:
        places = [zone for zone in self._zones.get(record.name, ()) if zone in resolved.zones]
        sold = tuple(
            self._offering(record.name, zone, capacity_type)
            for zone in places
            for capacity_type in record.usage_classes
            if capacity_type in {labels.SPOT, labels.ON_DEMAND}
        )
        reserved = tuple(
            self._reserved(one)
            for one in resolved.reservations
            if one.instance_type == record.name and one.zone in places
        )
        return (*self._unavailable.marked(record.name, sold), *reserved)

    def _offering(self, instance_type: str, zone: str, capacity_type: str) -> Offering:
        price = self._pricing.price(instance_type, zone, capacity_type)
        return Offering(zone, capacity_type, price or 0.0, available=price is not None)

    def _reserved(self, one: Reservation) -> Offering:
        price = self._pricing.price(one.instance_type, one.zone, labels.ON_DEMAND)
        return Offering(
            one.zone,
            labels.RESERVED,
            (price or 0.0) / _RESERVED_DISCOUNT,
            available=one.available > 0 and one.state == "active",
            reservation_id=one.id,
            reservation_capacity=one.available,
            reservation_type=one.kind,
            is_interruptible=one.is_interruptible,
        )

    def zones_of(self, instance_type: str) -> Sequence[str]:
        """Return the zones that offer a type."""
        return self._zones.get(instance_type, ())


def _anywhere(found: InstanceType) -> InstanceType:
    """Return a type without the places where it is sold: images do not mind."""
    places = {labels.ZONE, labels.CAPACITY_TYPE}
    kept = [requirement for requirement in found.requirements.values() if requirement.key not in places]
    return replace(found, requirements=Requirements(kept))
