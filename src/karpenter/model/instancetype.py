"""Kinds of machines a cloud offers, and where, how and at which price it offers them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from karpenter.model import labels
from karpenter.model.requirements import Requirements
from karpenter.model.resources import Resources, subtract
from karpenter.model.units import UnixSeconds


@dataclass(frozen=True, slots=True)
class Offering:
    """One way to get an instance type: zone, capacity type, price."""

    zone: str
    capacity_type: str
    price: float
    """USD per hour."""
    available: bool = True
    """False while the cloud said that it has no capacity there."""
    retry_at: UnixSeconds | None = None
    """When a cloud that said so is asked again; None when nobody knows, or there is no need."""
    reservation_id: str | None = None
    reservation_capacity: int | None = None
    """Machines left in the reservation; None when the offering is not reserved."""
    reservation_type: Literal["default", "capacity-block"] = "default"
    is_interruptible: bool = False
    """Whether the owner of the reservation may take a machine back."""

    @property
    def reservation_labels(self) -> dict[str, str]:
        """Labels of a node that holds a place of the reservation; none where there is no reservation."""
        if self.reservation_id is None:
            return {}
        return {
            labels.RESERVATION_ID: self.reservation_id,
            labels.RESERVATION_TYPE: self.reservation_type,
            labels.RESERVATION_INTERRUPTIBLE: "true" if self.is_interruptible else "false",
        }


@dataclass(frozen=True, slots=True)
class InstanceType:
    """A kind of machine, as one pool would get it (kubelet settings and node class are worked into the amounts)."""

    name: str
    requirements: Requirements
    """Every label value a node of this type can have; labels it will not have are `DoesNotExist`."""
    offerings: tuple[Offering, ...]
    capacity: Resources
    allocatable: Resources
    """What pods and daemons can use: capacity less reserved amounts and eviction thresholds."""
    volume_limits: Resources = field(default_factory=dict)
    """CSI driver name to the number of volumes a node can attach; a driver not named is unlimited."""

    @property
    def overhead(self) -> dict[str, int]:
        """What the system keeps for itself."""
        return subtract(self.capacity, self.allocatable)

    @property
    def is_metal(self) -> bool:
        """Whether it is bare metal: its size says so."""
        return any(size.startswith("metal") for size in self.requirements.allowed(labels.INSTANCE_SIZE).values)
