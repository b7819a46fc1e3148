"""What a disruption method answers: nodes to give back, and why the others stay. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from karpenter.model.nodepool import DisruptionReason
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.solution import ClaimPlan

BlockCode = Literal[
    "Timer",
    "Budget",
    "Nominated",
    "Uninitialized",
    "PolicyOff",
    "PodDisruptionBudget",
    "DoNotDisrupt",
    "NodeDoNotDisrupt",
    "DoNotConsolidate",
    "Unschedulable",
    "BackOff",
    "Paused",
    "Price",
    "UnknownPrice",
    "Preference",
    "ChurnRail",
]
"""Why a node stays. `DoNotDisrupt` is a pod's wish, `NodeDoNotDisrupt` and `DoNotConsolidate` are the node's."""


@dataclass(frozen=True, slots=True)
class Command:
    """Nodes to give back together, after their replacements are ready."""

    reason: DisruptionReason
    nodes: tuple[str, ...]
    replacements: tuple[ClaimPlan, ...] = ()
    savings: float = 0.0
    """USD per hour that the fleet costs less afterwards."""
    targets: tuple[str, ...] = ()
    """Nodes and claims in flight, there already, that pods move to; the command waits until they are initialized."""
    deadline: UnixSeconds | None = None
    """When the nodes are gone whatever stands in the way; None when the command waits, and is given up at last."""
    is_forceful: bool = False
    """Whether nothing is waited for or looked at again: the nodes are drained at once."""


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
    reason: DisruptionReason | None = None
    """What the node would have been disrupted for."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Commands to run now, and a reason for every node considered that stays."""

    commands: tuple[Command, ...] = ()
    blocked: tuple[Blocked, ...] = ()
