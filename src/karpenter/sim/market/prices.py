"""What the market asks for each offering.

On-demand prices stand still. The spot price of each (type, zone) wanders, hour by hour, around a base that lies between
30 and 45 % of on-demand; the base is its price in the market's first hour. Prices are functions of the seed and the
hour, so nothing needs to be remembered and the future does not depend on who asked when.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Final, Protocol

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.aws.catalog import AwsCatalog
from karpenter.model.catalog import Catalog
from karpenter.model.instancetype import Offering
from karpenter.sim.market.dice import draw_from, source

STEP_S: Final = 3600.0
"""For how long prices stand still."""

_DIGITS: Final = 4
_SPREAD: Final = 0.1
"""By which share of the family's base a single pool may differ."""
_SWINGS: Final = ((168, 0.15), (24, 0.07), (4, 0.03))
"""Period in hours and amplitude in logarithms of the price: weeks, days, hours. Together at most +65 % and -40 %."""


class Prices(Protocol):
    """A price list that may change from step to step."""

    def price(self, key: OfferingKey, step: int) -> float | None:
        """Return USD per hour in the given step, 0 being the market's first; None for what is not sold."""
        ...


class Ec2Prices:
    """List prices of real instance types, and spot prices made up around them."""

    def __init__(self, catalog: AwsCatalog, region: str, *, seed: int) -> None:
        self._catalog = catalog
        self._sold = {
            record.name: (frozenset(record.zones(region)), record.usage_classes) for record in catalog.in_region(region)
        }
        self._region = region
        self._spot = lru_cache(maxsize=65536)(self._spot_price)
        self.offerings = lru_cache(maxsize=16)(self._offerings)
        """Every type's offerings in the given zones (a sorted tuple) in a step, by type name; all available but those
        without a price (AWS-11)."""
        self._source = lru_cache(maxsize=65536)(partial(source, seed))

    def price(self, key: OfferingKey, step: int) -> float | None:
        """Return the price of an offering; see `Prices`."""
        zones, usage_classes = self._sold.get(key.instance_type, (frozenset(), ()))
        if key.zone not in zones or key.capacity_type not in usage_classes:
            return None
        if key.capacity_type == labels.SPOT:
            return self._spot(key.instance_type, key.zone, step)
        return self._catalog.on_demand.get(key.instance_type)

    def _offerings(self, zones: tuple[str, ...], step: int) -> Mapping[str, tuple[Offering, ...]]:
        offerings = {}
        for record in self._catalog.in_region(self._region):
            sold = [zone for zone in record.zones(self._region) if zone in zones]
            keys = [OfferingKey(record.name, zone, kind) for zone in sold for kind in record.usage_classes]
            priced = [(key, self.price(key, step)) for key in keys]
            offerings[record.name] = tuple(
                Offering(key.zone, key.capacity_type, price or 0.0, available=price is not None)
                for key, price in priced
            )
        return offerings

    def _spot_price(self, instance_type: str, zone: str, step: int) -> float | None:
        on_demand = self._catalog.on_demand.get(instance_type)
        if on_demand is None:
            return None
        bits = self._source("pool", instance_type, zone)
        share = self._base_share(instance_type.partition(".")[0], draw_from(bits, 0)) * math.exp(_swing(bits, step))
        return max(10**-_DIGITS, round(on_demand * share, _DIGITS))

    def _base_share(self, family: str, chance: float) -> float:
        usual = self._catalog.prices.spot_base_ratio
        of_family = usual.min + (usual.max - usual.min) * draw_from(self._source("family", family), 0)
        of_pool = of_family * (1 + _SPREAD * (2 * chance - 1))
        return min(usual.max, max(usual.min, of_pool))


def _swing(bits: int, step: int) -> float:
    """Return how far a price is from its base, 0 in the first step: smooth noise of several periods, added up."""
    if step <= 0:
        return 0.0
    total = 0.0
    for number, (period, amplitude) in enumerate(_SWINGS, start=1):
        knot, part = divmod(step, period)
        weight = part / period
        smooth = weight * weight * (3 - 2 * weight)
        first, here, there = (2 * draw_from(bits, number << 32 | index) - 1 for index in (0, knot, knot + 1))
        total += amplitude * (here + (there - here) * smooth - first)
    return total


class CatalogPrices:
    """The prices of a catalogue of one's own, which stand still."""

    def __init__(self, catalog: Catalog) -> None:
        self._prices = {
            OfferingKey(found.name, offering.zone, offering.capacity_type): offering.price
            for found in catalog.instance_types
            for offering in found.offerings
        }

    def price(self, key: OfferingKey, step: int) -> float | None:
        """Return the price of an offering; see `Prices`."""
        return self._prices.get(key)
