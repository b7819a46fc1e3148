"""Machines as the cloud reports them, and the notices it gives about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from karpenter.model.resources import Resources
from karpenter.model.units import ProviderID, UnixSeconds


@dataclass(frozen=True, slots=True)
class Instance:
    """One machine that the cloud runs for us."""

    provider_id: ProviderID
    instance_type: str
    zone: str
    capacity_type: str
    created_at: UnixSeconds
    image_id: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Node labels that follow from what was launched: type, zone, capacity type and the type's single values."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Claim annotations that name what it was launched from, such as the digest of its node class."""
    capacity: Resources = field(default_factory=dict)
    allocatable: Resources = field(default_factory=dict)
    claim_name: str | None = None
    """The NodeClaim it was launched for, from its tags; None when untagged."""
    claim_uid: str | None = None
    price: float | None = None
    """USD per hour now; None when the cloud does not know."""
    is_terminating: bool = False


class InterruptionKind(Enum):
    """What a cloud may announce about a machine."""

    SPOT_INTERRUPTION = "SpotInterrupted"
    REBALANCE_RECOMMENDATION = "SpotRebalanceRecommendation"
    SCHEDULED_CHANGE = "InstanceUnhealthy"
    STOPPING = "InstanceStopping"
    TERMINATING = "InstanceTerminating"


@dataclass(frozen=True, slots=True)
class Interruption:
    """A notice that a machine will go, or is likely to."""

    kind: InterruptionKind
    provider_id: ProviderID
    noticed_at: UnixSeconds
    deadline: UnixSeconds | None = None
    """When the machine goes; None when the notice does not say."""


@dataclass(frozen=True, slots=True)
class RepairPolicy:
    """A node condition that means the machine is broken once it has lasted."""

    condition_type: str
    condition_status: str
    toleration_s: float
