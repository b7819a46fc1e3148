"""Real EC2 instance types, built as AWS node classes say. Source: spec v1alpha5 §3.1, §3.2, §3.7, DEP-32."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from karpenter.cloud.errors import NodeClassNotReadyError
from karpenter.cloud.unavailable import OfferingKey, UnavailableOfferings
from karpenter.model import labels
from karpenter.model.aws.allocatable import Build
from karpenter.model.aws.catalog import AwsCatalog, Image, InstanceTypeRecord
from karpenter.model.aws.classfaults import class_fault
from karpenter.model.aws.classstatus import ClassReport, Selected, is_there, problems, selects_nothing
from karpenter.model.aws.drift import MachineParts, SelectedParts, drifted_part
from karpenter.model.aws.families import FAMILIES
from karpenter.model.aws.instancetypes import InstanceTypeCache
from karpenter.model.aws.machinelabels import instance_labels
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.meta import Condition
from karpenter.model.nodeclaim import NodeClaim
from karpenter.sim.cloud.boot import boot_of
from karpenter.sim.cloud.reserved import listed_reservation, selected_reservations
from karpenter.sim.cloud.supply import Order
from karpenter.sim.market.account import SecurityGroup, Subnet
from karpenter.sim.market.images import ImageChoice, choose_images
from karpenter.sim.market.instances import Blueprint, MarketInstance
from karpenter.sim.market.market import Market
from karpenter.sim.market.prices import Ec2Prices
from karpenter.sim.market.reservations import CapacityReservation

_REMEMBERED: Final = 32
"""For how many node classes and kubelet settings the computed types are kept."""


@dataclass(frozen=True, slots=True)
class _Resolved:
    """What a node class's selectors find now."""

    subnets: tuple[Subnet, ...]
    security_groups: tuple[SecurityGroup, ...]
    images: ImageChoice
    reservations: tuple[CapacityReservation, ...]

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(sorted({subnet.zone for subnet in self.subnets}))


class Ec2Supply:
    """EC2's instance types of one region."""

    needs_node_class: Final = True

    def __init__(
        self,
        catalog: AwsCatalog,
        market: Market,
        *,
        prices: Ec2Prices,
        unavailable: UnavailableOfferings,
        built: InstanceTypeCache,
    ) -> None:
        self._catalog = catalog
        self._market = market
        self._unavailable = unavailable
        self._region = market.account.region
        self._records = catalog.in_region(self._region)
        self._prices = prices
        self._built = built
        self._types: dict[tuple[object, ...], tuple[tuple[int, ...], tuple[InstanceType, ...]]] = {}

    def types(self, order: Order) -> tuple[InstanceType, ...]:
        """Return the types that have an image, in the zones of the class's subnets (AWS-2, AWS-11, AWS-61)."""
        assert order.node_class is not None
        resolved = self._resolve(order.node_class)
        build = Build.of(order.node_class, order.kubelet)
        held = self._held(resolved.reservations)
        key = (build.key, resolved.zones, resolved.images, tuple(held.items()))
        state = (self._unavailable.version, self._market.price_step)
        known = self._types.get(key)
        if known is not None and known[0] == state:
            return known[1]
        if known is None and len(self._types) >= _REMEMBERED:
            del self._types[next(iter(self._types))]
        bootable = self._bootable(resolved.images)
        offered = self._offerings(resolved.zones)
        types = self._built.resolve(bootable, lambda record: (*offered[record.name], *held.get(record.name, ())), build)
        self._types[key] = (state, types)
        return types

    def _bootable(self, images: ImageChoice) -> list[InstanceTypeRecord]:
        platforms = {(record.arch, record.accelerator): record for record in self._records}
        have_image = {platform for platform, record in platforms.items() if images.for_type(record) is not None}
        return [record for record in self._records if (record.arch, record.accelerator) in have_image]

    def _offerings(self, zones: tuple[str, ...]) -> Mapping[str, tuple[Offering, ...]]:
        """Return every type's offerings in these zones, those refused lately marked unavailable (AWS-11)."""
        offered = self._prices.offerings(zones, self._market.price_step)
        concerned = {key.instance_type for key in self._unavailable.offerings()} & offered.keys()
        return {**offered, **{name: self._unavailable.marked(name, offered[name]) for name in concerned}}

    def _resolve(self, node_class: AwsNodeClass) -> _Resolved:
        found = self._find(node_class)
        missing = problems(self._conditions(node_class, found))
        if missing:
            raise NodeClassNotReadyError(missing)
        return found

    def _find(self, node_class: AwsNodeClass) -> _Resolved:
        account = self._market.account
        return _Resolved(
            account.select_subnets(node_class.subnet_terms),
            account.select_security_groups(node_class.security_group_terms),
            choose_images(self._catalog.images, node_class, generation=self._market.image_generation),
            selected_reservations(node_class, self._market.reservations),
        )

    def _held(self, reservations: tuple[CapacityReservation, ...]) -> Mapping[str, tuple[Offering, ...]]:
        """Return what reservations hold, by instance type (A-28)."""
        held: dict[str, tuple[Offering, ...]] = {}
        for one in reservations:
            price = self._market.price(OfferingKey(one.instance_type, one.zone, labels.RESERVED))
            left = self._market.reserved_left(one.id)
            offering = Offering(
                one.zone,
                labels.RESERVED,
                price or 0.0,
                available=price is not None and left > 0,
                reservation_id=one.id,
                reservation_capacity=left,
                reservation_type=one.kind,
            )
            held[one.instance_type] = (*held.get(one.instance_type, ()), offering)
        return held

    def _conditions(self, node_class: AwsNodeClass, found: _Resolved) -> tuple[Condition, ...]:
        """Return what is there and what is not (C-15); a launch template of the user's own has its own groups."""
        account = self._market.account
        families = sorted({image.family for image in self._catalog.images})
        looked_at: tuple[tuple[Selected, object, list[str]], ...] = (
            ("SubnetsReady", found.subnets, [subnet.id for subnet in account.subnets]),
            (
                "SecurityGroupsReady",
                found.security_groups or node_class.launch_template,
                [group.id for group in account.security_groups],
            ),
            ("AMIsReady", found.images.images, families),
        )
        return tuple(
            is_there(kind)
            if present
            else selects_nothing(kind, node_class.name, _there_is(known), family=node_class.ami_family)
            for kind, present, known in looked_at
        )

    def inspect(self, node_class: AwsNodeClass) -> ClassReport:
        """Return what the class's selectors find; see `Supply`."""
        found = self._find(node_class)
        listed: dict[str, object] = {
            "subnets": [{"id": subnet.id, "zone": subnet.zone} for subnet in found.subnets],
            "securityGroups": [{"id": group.id, "name": group.name} for group in found.security_groups],
            "amis": [_listed(image) for image in found.images.images],
            "capacityReservations": [listed_reservation(one) for one in found.reservations],
        }
        fault = class_fault(node_class)
        conditions = (*self._conditions(node_class, found), *((fault,) if fault else ()))
        return ClassReport(conditions, {key: value or None for key, value in listed.items()})

    def blueprint(self, order: Order, claim: NodeClaim, key: OfferingKey, *, held: Offering | None = None) -> Blueprint:
        """Return how the instance of a claim is built; see `Supply`."""
        assert order.node_class is not None
        resolved = self._resolve(order.node_class)
        record = self._catalog.records[key.instance_type]
        found = next(one for one in self.types(order) if one.name == key.instance_type)
        image = resolved.images.for_type(record)
        assert image is not None, "types without an image are not offered"
        own = instance_labels(found, claim.requirements, key) | (held.reservation_labels if held else {})
        return Blueprint(
            image_id=image.id,
            subnet_id=self._roomiest(resolved.subnets, key.zone).id,
            security_group_ids=tuple(group.id for group in resolved.security_groups),
            reservation_id=(held.reservation_id if held else None) or "",
            labels=own,
            boot=boot_of(
                claim,
                found,
                own,
                os_image=FAMILIES[order.node_class.ami_family].os_image,
                kubelet_version=f"v{self._catalog.kubernetes}.0",
            ),
        )

    def _roomiest(self, subnets: tuple[Subnet, ...], zone: str) -> Subnet:
        """Return the subnet of a zone with the most free addresses (AWS-45)."""
        inside = [subnet for subnet in subnets if subnet.zone == zone]
        return max(inside, key=lambda subnet: (self._market.free_addresses(subnet.id), subnet.id))

    def drift_reason(self, order: Order, instance: MarketInstance) -> str | None:
        """Return the first way in which image, security groups or subnet differ from what is selected now (DEP-32)."""
        if order.node_class is None or order.is_inline:
            return None
        try:
            resolved = self._resolve(order.node_class)
        except NodeClassNotReadyError:
            return None  # a class that cannot be resolved says nothing about the nodes it once gave (spec v1 A-50)
        record = self._catalog.records.get(instance.offering.instance_type)
        image = resolved.images.for_type(record) if record and not order.node_class.launch_template else None
        has = instance.blueprint
        return drifted_part(
            MachineParts(has.image_id, has.subnet_id, frozenset(has.security_group_ids)),
            SelectedParts(
                image_id=image.id if image else None,
                subnet_ids=frozenset(subnet.id for subnet in resolved.subnets),
                security_group_ids=frozenset(group.id for group in resolved.security_groups),
            ),
        )


def _listed(image: Image) -> dict[str, object]:
    arch = {"key": labels.ARCH, "operator": "In", "values": [image.arch]}
    return {"id": image.id, "name": image.name, "requirements": [arch]}


def _there_is(known: list[str]) -> str:
    return f"the simulated account has {', '.join(known)}, and any karpenter.sh/discovery tag"
