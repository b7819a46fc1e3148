"""What `solve` answers: machines to launch, places on existing nodes, and why the rest stays pending."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from karpenter.model.core import Pod
from karpenter.model.requirements import Requirements
from karpenter.model.resources import Resources
from karpenter.model.units import ObjectKey, PoolKey

Layer = Literal["cloud", "pool", "pod"]
"""Who has to change something: the cloud (types, zones, capacity), the pool (its constraints and limits), the pod."""


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """One machine to launch."""

    name: str
    """Stable within the solution: pool name and a running number."""
    pool: PoolKey
    pods: tuple[Pod, ...]
    requirements: Requirements
    """Pool, pods and topology together; instance types and zones are narrowed to what still fits."""
    instance_types: tuple[str, ...]
    """Types that hold the load and meet the requirements, cheapest first, at most 600."""
    instance_type: str
    """The one planned: the cheapest admissible."""
    zone: str
    capacity_type: str
    price: float
    """USD per hour of the planned offering."""
    requests: Resources
    """Pods and daemons together."""
    expected_price: float = 0.0
    """USD per hour to be expected: over the offerings the cloud may choose among."""
    worst_price: float = 0.0
    """USD per hour of the dearest admissible offering."""
    min_values_relaxed: bool = False
    """Whether the requirements ask for fewer different values than the pool's minValues do (S-45)."""


@dataclass(frozen=True, slots=True)
class Miss:
    """One thing that stands between a pod and a pool."""

    code: str
    """Stable, CamelCase, like that of the reason it belongs to."""
    subject: str
    """The label key, resource, taint or port it is about; empty when the code says all."""
    message: str


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one pool (or, with no pool, every node there is) cannot take a pod."""

    pool: PoolKey | None
    layer: Layer
    code: str
    """Stable, CamelCase: `TaintNotTolerated`, `InsufficientResources`, `LimitExceeded` … That of the first miss."""
    message: str
    misses: tuple[Miss, ...] = field(default=(), compare=False)
    """The message taken apart: everything that stands in the way, not only what the code names."""

    @classmethod
    def alone(cls, layer: Layer, code: str, message: str, *, subject: str = "") -> Reason:
        """Return a reason that holds whatever the pool."""
        return cls(None, layer, code, message, (Miss(code, subject, message),))


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """A pod that stays pending, and why, pool by pool, the nearest miss first."""

    pod: Pod
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Solution:
    """An answer to a demand."""

    new_claims: tuple[ClaimPlan, ...] = ()
    placements: Mapping[ObjectKey, str] = field(default_factory=dict)
    """Pod to node name, for every placed pod: existing nodes, claims in flight and (by plan name) new claims."""
    unschedulable: tuple[Unschedulable, ...] = ()
    lower_bound: float | None = None
    """USD per hour of new machines that no plan for the placed pods can undercut; None when the solve was stopped."""
    rails_cost: float | None = None
    """USD per hour that the rails cost: the bound under them less the bound without, and what zones and spot shares
    added to the prices; None when the solve was stopped."""
    second_wave: float = 0.0
    """USD per hour expected for further machines, because kube-scheduler binds otherwise than planned; 0 when the plan
    was not tried."""
    complete: bool = True
    """False when it was stopped: everything found so far, but perhaps not all."""

    @property
    def price(self) -> float:
        """USD per hour of the new machines at their planned offerings."""
        return sum(claim.price for claim in self.new_claims)

    @property
    def expected_price(self) -> float:
        """USD per hour to be expected of the new machines, those of a second wave included."""
        return sum(claim.expected_price for claim in self.new_claims) + self.second_wave

    @property
    def worst_price(self) -> float:
        """USD per hour of the new machines if the cloud gives the dearest everywhere."""
        return sum(claim.worst_price for claim in self.new_claims)
