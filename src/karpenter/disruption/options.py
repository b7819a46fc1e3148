"""What the disruption methods are set to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from karpenter.disruption.past import Past
from karpenter.scheduling import Options

ExpirationMode = Literal["budgets", "forceful"]
InterruptionMode = Literal["replace-first", "drain-at-once"]
Rebalance = Literal["ignore", "replace"]


@dataclass(frozen=True, slots=True)
class Expiration:
    """How expired nodes go."""

    mode: ExpirationMode = "budgets"
    """`budgets` replaces them first, within the pool's budgets; `forceful` drains all of them at once (L-9)."""
    deadline_s: float | None = None
    """Seconds after its expiry by which a node is gone, budgets and pods or not; None waits for them."""


@dataclass(frozen=True, slots=True)
class InterruptionSettings:
    """What is done about notices."""

    mode: InterruptionMode = "replace-first"
    rebalance: Rebalance = "ignore"
    """What a rebalance recommendation leads to beside an event (INT-5: nothing)."""
    drain_s: float = 30.0
    """So long before the machine goes its drain begins, whether or not there is a place for its pods."""
    patience_s: float = 600.0
    """How long a replacement is waited for where a notice names no end."""


@dataclass(frozen=True, slots=True)
class RepairSettings:
    """Whether broken nodes are replaced."""

    enabled: bool = True


@dataclass(frozen=True, slots=True)
class DisruptionOptions:
    """What every method is told."""

    solve: Options = field(default_factory=Options)
    """How places for moved pods are looked for."""
    expiration: Expiration = field(default_factory=Expiration)
    past: Past = field(default_factory=Past)
    """What consolidation moved lately."""


DEFAULT_OPTIONS: Final = DisruptionOptions()
