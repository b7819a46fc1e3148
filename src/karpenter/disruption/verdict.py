"""What a disruption method answers: nodes to give back, and why the others stay. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from karpenter.model.nodepool import DisruptionReason
from karpenter.model.units import ObjectKey, PoolKey, UnixSeconds
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
    "Unbalanced",
    "NextTurn",
    "NotDue",
    "NotManaged",
    "Leaving",
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
    placements: Mapping[ObjectKey, str] = field(default_factory=dict)
    """Where every pod of the nodes is to go: a node, a claim in flight, or (by plan name) a replacement."""
    deadline: UnixSeconds | None = None
    """When the nodes are gone whatever stands in the way; None when the command waits, and is given up at last."""
    is_forceful: bool = False
    """Whether nothing is waited for or looked at again: the nodes are drained at once."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Nodes and claims that are there already and that pods move to, sorted; it waits until they are ready."""
        new = {plan.name for plan in self.replacements}
        return tuple(sorted(set(self.placements.values()) - new))


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
class Score:
    """How one move looks from one pool that says `Balanced` (spec v1 D-21 … D-23)."""

    pool: PoolKey
    nodes: tuple[str, ...]
    """All nodes of the move, sorted."""
    value: float
    """Share of the pool's price that is saved, over the share of its disruption cost that is moved."""
    is_approved: bool
    """Whether the pool agrees."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the fleet costs in USD per hour, node fees included: now, at least, and once the commands are done."""

    now: float
    bound: float
    """No other machines for the same pods cost less, as long as those that must stay do."""
    after: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Commands to run now, and a reason for every node considered that stays."""

    commands: tuple[Command, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    outlook: Outlook | None = None
    """None when nobody compared prices."""
    scores: tuple[Score, ...] = ()
    """What Balanced pools thought of the moves they were asked about."""
    watched: tuple[str, ...] = ()
    """Spot nodes that could be swapped for cheaper ones, and wait for the price to last."""
    cut_short: Literal["", "multi", "single"] = ""
    """What consolidation was trying, several nodes or one, when its time was up; empty when it was not."""
