"""What the market can and cannot supply: shortages and limited stock."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model.units import UnixSeconds
from karpenter.sim.market.dice import draw

WINDOW_S: Final = 600.0
"""For how long a shortage that chance brings stays."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Some offerings, each part a name or a glob such as `m5.*`."""

    instance_type: str = "*"
    zone: str = "*"
    capacity_type: str = "*"

    def matches(self, key: OfferingKey) -> bool:
        """Return whether the offering is one of them."""
        return (
            fnmatchcase(key.instance_type, self.instance_type)
            and fnmatchcase(key.zone, self.zone)
            and fnmatchcase(key.capacity_type, self.capacity_type)
        )


@dataclass(frozen=True, slots=True)
class Shortage:
    """Offerings that are sold out."""

    pattern: Pattern
    until: UnixSeconds | None = None
    """When there is capacity again; None means not until somebody ends it."""
    is_declared: bool = False
    """Whether it stands in a declaration, which the next one replaces (see `Market.declare`)."""


@dataclass(frozen=True, slots=True)
class Stock:
    """Offerings of which there are only so many."""

    pattern: Pattern
    instances: int
    """How many instances the matching offerings can have together."""
    is_declared: bool = False
    """As `Shortage.is_declared`."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Everything that limits supply; ample where nothing is said."""

    shortages: tuple[Shortage, ...] = ()
    stocks: tuple[Stock, ...] = field(default=())

    def is_short(self, key: OfferingKey, now: UnixSeconds) -> bool:
        """Return whether a shortage covers the offering at this moment."""
        return any(
            shortage.pattern.matches(key) and (shortage.until is None or now < shortage.until)
            for shortage in self.shortages
        )

    def left(self, key: OfferingKey, taken: tuple[OfferingKey, ...]) -> int | None:
        """Return how many instances of the offering can still be had beside those `taken`; None when ample."""
        rooms = [
            stock.instances - sum(stock.pattern.matches(one) for one in taken)
            for stock in self.stocks
            if stock.pattern.matches(key)
        ]
        return max(0, min(rooms)) if rooms else None


def is_short_by_chance(key: OfferingKey, elapsed_s: float, *, seed: int, share: float) -> bool:
    """Return whether chance has sold the offering out: that `share` of all offerings at any time, anew every 10 min."""
    return share > 0 and draw(seed, "shortage", *key, int(elapsed_s // WINDOW_S)) < share
