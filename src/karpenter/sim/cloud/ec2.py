"""Real EC2 instance types, built as AWS node classes say. Source: spec v1alpha5 §3.1, §3.2, §3.7, DEP-32."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from karpenter.cloud.errors import NodeClassNotReadyError
from karpenter.cloud.unavailable import OfferingKey, UnavailableOfferings
from karpenter.model.aws.allocatable import Build
from karpenter.model.aws.catalog import AwsCatalog, InstanceTypeRecord
from karpenter.model.aws.families import FAMILIES
from karpenter.model.aws.instancetypes import InstanceTypeCache
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.nodeclaim import NodeClaim
from karpenter.sim.cloud.boot import boot_of, instance_labels
from karpenter.sim.cloud.supply import Order
from karpenter.sim.market.account import SecurityGroup, Subnet
from karpenter.sim.market.images import ImageChoice, choose_images
from karpenter.sim.market.instances import Blueprint, MarketInstance
from karpenter.sim.market.market import Market
from karpenter.sim.market.prices import Ec2Prices

_REMEMBERED: Final = 32
"""For how many node classes and kubelet settings the computed types are kept."""


@dataclass(frozen=True, slots=True)
class _Resolved:
    """What a node class's selectors find now."""

    subnets: tuple[Subnet, ...]
    security_groups: tuple[SecurityGroup, ...]
    images: ImageChoice

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
        key = (build.key, resolved.zones, resolved.images)
        state = (self._unavailable.version, self._market.price_step)
        known = self._types.get(key)
        if known is not None and known[0] == state:
            return known[1]
        if known is None and len(self._types) >= _REMEMBERED:
            del self._types[next(iter(self._types))]
        bootable = self._bootable(resolved.images)
        offered = self._offerings(resolved.zones)
        types = self._built.resolve(bootable, lambda record: offered[record.name], build)
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
        return _Resolved(self._subnets(node_class), self._groups(node_class), self._images(node_class))

    def _subnets(self, node_class: AwsNodeClass) -> tuple[Subnet, ...]:
        account = self._market.account
        subnets = account.select_subnets(node_class.subnet_terms)
        if not subnets:
            raise _nothing(node_class, "subnets", [subnet.id for subnet in account.subnets])
        return subnets

    def _groups(self, node_class: AwsNodeClass) -> tuple[SecurityGroup, ...]:
        account = self._market.account
        groups = account.select_security_groups(node_class.security_group_terms)
        if not groups and not node_class.launch_template:
            raise _nothing(node_class, "security groups", [group.id for group in account.security_groups])
        return groups

    def _images(self, node_class: AwsNodeClass) -> ImageChoice:
        images = choose_images(self._catalog.images, node_class, generation=self._market.image_generation)
        if not images.images:
            families = sorted({image.family for image in self._catalog.images})
            raise _nothing(node_class, f"images of family {node_class.ami_family}", families)
        return images

    def missing(self, node_class: AwsNodeClass) -> Mapping[str, str]:
        """Return what the class's selectors find nothing for; see `Supply`."""
        looks = {"SubnetsReady": self._subnets, "SecurityGroupsReady": self._groups, "AMIsReady": self._images}
        found = {}
        for condition, look in looks.items():
            try:
                look(node_class)
            except NodeClassNotReadyError as error:
                found[condition] = str(error)
        return found

    def blueprint(self, order: Order, claim: NodeClaim, key: OfferingKey) -> Blueprint:
        """Return how the instance of a claim is built; see `Supply`."""
        assert order.node_class is not None
        resolved = self._resolve(order.node_class)
        record = self._catalog.records[key.instance_type]
        found = next(one for one in self.types(order) if one.name == key.instance_type)
        image = resolved.images.for_type(record)
        assert image is not None, "types without an image are not offered"
        own = instance_labels(found, claim.requirements, key)
        return Blueprint(
            image_id=image.id,
            subnet_id=self._roomiest(resolved.subnets, key.zone).id,
            security_group_ids=tuple(group.id for group in resolved.security_groups),
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
        image = resolved.images.for_type(record) if record else None
        has = instance.blueprint
        if image is not None and image.id != has.image_id and not order.node_class.launch_template:
            return "AMIDrift"
        if {group.id for group in resolved.security_groups} != set(has.security_group_ids):
            return "SecurityGroupDrift"
        if has.subnet_id not in {subnet.id for subnet in resolved.subnets}:
            return "SubnetDrift"
        return None


def _nothing(node_class: AwsNodeClass, what: str, known: list[str]) -> NodeClassNotReadyError:
    return NodeClassNotReadyError(
        f"node class {node_class.name!r} selects no {what}; the simulated account has {', '.join(known)}, "
        "and any karpenter.sh/discovery tag"
    )
