"""What can be bought, and for whom: where EC2 and a catalogue of one's own differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model.aws.classstatus import ClassReport
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import KubeletConfiguration
from karpenter.sim.market.instances import Blueprint, MarketInstance


@dataclass(frozen=True, slots=True)
class Order:
    """Who buys: the node class, and the pool's own kubelet settings."""

    node_class: AwsNodeClass | None = None
    """None where none is needed."""
    kubelet: KubeletConfiguration | None = None
    is_inline: bool = False
    """Whether the node class is a Provisioner's inline `provider`, whose nodes never drift (API-30)."""


class Supply(Protocol):
    """An assortment of instance types."""

    @property
    def needs_node_class(self) -> bool:
        """Whether a pool must have a node class."""
        ...

    def inspect(self, node_class: AwsNodeClass, /) -> ClassReport:
        """Return what a node class's selectors find now, and what is missing."""
        ...

    def types(self, order: Order) -> tuple[InstanceType, ...]:
        """Return every type the order can get, available or not. Raises NodeClassNotReadyError."""
        ...

    def blueprint(self, order: Order, claim: NodeClaim, key: OfferingKey, *, held: Offering | None = None) -> Blueprint:
        """Return how the instance of a claim is built, once its offering is known; `held` is what a reservation holds.

        Raises NodeClassNotReadyError.
        """
        ...

    def drift_reason(self, order: Order, instance: MarketInstance) -> str | None:
        """Return why an instance is not built as the order would have it now; None when it is."""
        ...
