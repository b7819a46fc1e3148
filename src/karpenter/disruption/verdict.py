"""What a disruption method answers: nodes to give back, and why the others stay. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from karpenter.model.nodepool import DisruptionReason
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.solution import ClaimPlan

BlockCode = Literal["Timer", "Budget", "Nominated", "Uninitialized", "PolicyOff"]
"""Why a node stays; later steps add their own."""


@dataclass(frozen=True, slots=True)
class Command:
    """Nodes to give back together, after their replacements are ready."""

    reason: DisruptionReason
    nodes: tuple[str, ...]
    replacements: tuple[ClaimPlan, ...] = ()
    savings: float = 0.0
    """USD per hour that the fleet costs less afterwards."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A node that a method looked at and left alone."""

    node: str
    code: BlockCode
    message: str
    since: UnixSeconds | None = None
    until: UnixSeconds | None = None
    """When it may change without any event; None when only an event can change it."""
    price: float | None = None
    """USD per hour that staying costs; None when the price is unknown."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Commands to run now, and a reason for every node considered that stays."""

    commands: tuple[Command, ...] = ()
    blocked: tuple[Blocked, ...] = ()
