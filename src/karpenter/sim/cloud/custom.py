"""The instance types of a catalogue of one's own; any node class will do, also one that does not exist."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from karpenter.cloud.unavailable import OfferingKey, UnavailableOfferings
from karpenter.model.aws.classstatus import IMAGES, SECURITY_GROUPS, SUBNETS, ClassReport, is_there
from karpenter.model.aws.machinelabels import instance_labels
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.catalog import Catalog
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.nodeclaim import NodeClaim
from karpenter.sim.cloud.boot import boot_of
from karpenter.sim.cloud.supply import Order
from karpenter.sim.market.instances import Blueprint, MarketInstance
from karpenter.sim.market.market import Market


class CatalogSupply:
    """A fixed list of types, whose allocatable is taken as given."""

    needs_node_class: Final = False

    def __init__(
        self, catalog: Catalog, market: Market, unavailable: UnavailableOfferings, *, kubelet_version: str
    ) -> None:
        self._types = {found.name: found for found in catalog.instance_types}
        self._all = catalog.instance_types
        self._market = market
        self._unavailable = unavailable
        self._kubelet_version = kubelet_version

    def inspect(self, _: AwsNodeClass) -> ClassReport:
        """Return that nothing is missing: any node class will do."""
        return ClassReport(tuple(is_there(kind) for kind in (SUBNETS, SECURITY_GROUPS, IMAGES)))

    def types(self, order: Order) -> tuple[InstanceType, ...]:
        """Return the catalogue's types, offerings refused lately marked unavailable."""
        concerned = {key.instance_type for key in self._unavailable.offerings()}
        if not concerned:
            return self._all
        return tuple(self._marked(found) if found.name in concerned else found for found in self._all)

    def _marked(self, found: InstanceType) -> InstanceType:
        return replace(found, offerings=self._unavailable.marked(found.name, found.offerings))

    def blueprint(self, order: Order, claim: NodeClaim, key: OfferingKey, *, held: Offering | None = None) -> Blueprint:
        """Return how the instance of a claim is built; see `Supply`."""
        found = self._types[key.instance_type]
        own = instance_labels(found, claim.requirements, key) | (held.reservation_labels if held else {})
        inside = [subnet for subnet in self._market.account.subnets if subnet.zone == key.zone]
        roomiest = max(inside, key=lambda subnet: (self._market.free_addresses(subnet.id), subnet.id))
        boot = boot_of(claim, found, own, os_image="Simulated Linux", kubelet_version=self._kubelet_version)
        reservation = (held.reservation_id if held else None) or ""
        return Blueprint(subnet_id=roomiest.id, reservation_id=reservation, labels=own, boot=boot)

    def drift_reason(self, order: Order, instance: MarketInstance) -> str | None:
        """Return None: nothing in a catalogue changes."""
        return None
