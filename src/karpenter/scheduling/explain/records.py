"""What an explanation consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from karpenter.model.resources import Resources
from karpenter.model.units import PoolKey
from karpenter.scheduling.solution import Reason

Dimension: TypeAlias = Literal["type", "zone", "capacity type", "pool"]


@dataclass(frozen=True, slots=True)
class Offering:
    """One way to get a machine."""

    pool: PoolKey
    instance_type: str
    zone: str
    capacity_type: str
    price: float
    """USD per hour."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where pods are or go."""

    name: str
    is_new: bool
    """Whether it is a machine to launch."""
    pool: PoolKey | None
    """None for a node of nobody's pool."""
    instance_type: str | None
    zone: str | None
    capacity_type: str | None
    price: float | None
    """USD per hour; None when unknown."""
    types: int
    """How many instance types would do, for a machine to launch; 0 for others."""
    pods: Mapping[str, int]
    """How many pods of which workload the plan brings there."""
    requests: Resources
    """What these ask for together."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """What could have been launched instead for the same pods."""

    dimension: Dimension
    """What it differs in."""
    name: str
    """The type, zone, capacity type or pool."""
    offering: Offering | None
    """The cheapest of this kind; None when there is none."""
    why_not: str
    """What keeps the pods from it; empty when nothing but its price does."""


@dataclass(frozen=True, slots=True)
class OtherNodes:
    """Nodes that are there and that a pod does not go to, for one reason."""

    nodes: tuple[str, ...]
    code: str
    """Stable, CamelCase: `TaintNotTolerated`, `Cordoned`, `LabelMismatch`, `InsufficientResources`, `RoomTaken` (by
    other pods of the plan), `OtherDomain`, `OtherPods`, `AlsoRoom`."""
    message: str
    """Of the nearest miss among them."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A demand of a pod that narrows where it can be."""

    code: str
    """`NodeRequirement`, `TopologySpread`, `PodAffinity`, `PodAntiAffinity`, `Volume`, `HostPort`."""
    subject: str
    """The label key, or the port."""
    message: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one pod or node is where it is."""

    kind: Literal["pod", "node"]
    name: str
    place: Place | None
    """None for a pod that found none."""
    why: tuple[str, ...]
    """The reasons, the strongest first, in sentences without a full stop."""
    reasons: tuple[Reason, ...] = ()
    """Of a pod that found no place: pool by pool."""
    other_nodes: tuple[OtherNodes, ...] = ()
    """For a pod: the nodes that are there and that it does not go to."""
    alternatives: tuple[Alternative, ...] = ()
    bindings: tuple[Binding, ...] = ()
    left: Resources = field(default_factory=dict)
    """For a node: what is left there once the plan is carried out."""
