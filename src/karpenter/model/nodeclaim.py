"""The hub's NodeClaim: one machine that is wanted, from the wish to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from karpenter.model import labels
from karpenter.model.meta import Condition, ObjectMeta, find_condition
from karpenter.model.nodepool import NodeClassRef
from karpenter.model.requirements import Requirements
from karpenter.model.resources import Resources
from karpenter.model.taints import Taint
from karpenter.model.units import PoolKey, ProviderID

LAUNCHED: Final = "Launched"
REGISTERED: Final = "Registered"
INITIALIZED: Final = "Initialized"
READY: Final = "Ready"
DRAINED: Final = "Drained"
VOLUMES_DETACHED: Final = "VolumesDetached"
INSTANCE_TERMINATING: Final = "InstanceTerminating"
CONSOLIDATABLE: Final = "Consolidatable"
DRIFTED: Final = "Drifted"
EMPTY: Final = "Empty"
DISRUPTION_REASON: Final = "DisruptionReason"
CONSISTENT_STATE_FOUND: Final = "ConsistentStateFound"


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """One machine wanted: constraints in the spec, what the cloud gave in the status."""

    metadata: ObjectMeta
    requirements: Requirements = field(default_factory=Requirements)
    requests: Resources = field(default_factory=dict)
    """What the pods and daemons planned for it need."""
    node_class_ref: NodeClassRef | None = None
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    expire_after_s: float | None = None
    """Seconds of life; None means never."""
    termination_grace_period_s: float | None = None
    pool: PoolKey | None = None
    """The owning pool, from the identity label; None for a claim that a user made."""
    provider_id: ProviderID | None = None
    """None until launched."""
    node_name: str = ""
    image_id: str = ""
    capacity: Resources = field(default_factory=dict)
    allocatable: Resources = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    last_pod_event_time: str | None = None

    @property
    def name(self) -> str:
        """The object's name."""
        return self.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        """The object's labels; after launch they carry type, zone and capacity type."""
        return self.metadata.labels

    def condition(self, kind: str) -> Condition | None:
        """Return a condition by type; None when it was never set."""
        return find_condition(self.conditions, kind)

    def is_true(self, kind: str) -> bool:
        """Return whether the condition of this type holds."""
        condition = self.condition(kind)
        return condition is not None and condition.is_true


def was_our_choice(claim: NodeClaim) -> bool:
    """Return whether we chose to disrupt the claim: nobody asked for its end, and the cloud does not take it away."""
    return claim.is_true(DISRUPTION_REASON) and labels.INTERRUPTION not in claim.metadata.annotations
