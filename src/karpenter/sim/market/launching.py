"""What a buyer asks the market for, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from karpenter.cloud.unavailable import OfferingKey
from karpenter.sim.market.instances import Blueprint, MarketInstance


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """A wish for one instance."""

    token: str
    """A second launch with the token of a living instance returns that instance."""
    options: tuple[OfferingKey, ...]
    """What would do."""
    blueprint: Callable[[OfferingKey], Blueprint]
    """What to launch, once the offering is known."""
    tags: Mapping[str, str] = field(default_factory=dict)
    in_order: bool = False
    """Whether the options are tried as they are given, instead of by price."""
    reservation: str = ""
    """The only capacity reservation whose places will do; empty for machines outside of any."""


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """What came of a wish."""

    instance: MarketInstance | None
    """None when every option was refused."""
    refused: tuple[OfferingKey, ...] = ()
    """Options that were tried and sold out (EC2's InsufficientInstanceCapacity)."""
