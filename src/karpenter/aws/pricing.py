"""What machines cost: on-demand prices of the price list, spot prices of the last hours, discounts of the user's own.

Source: spec v1alpha5 §3.4 (AWS-30 … AWS-32), spec v1 §4.11.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import msgspec

from karpenter.aws.session import AwsSession, collect
from karpenter.cloud.errors import CloudError
from karpenter.model import labels
from karpenter.model.aws.catalog import AwsCatalog
from karpenter.model.errors import FieldError, ManifestError
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock

log = logs.get("aws.pricing")

REFRESH_S: Final = 12 * 3600.0
RETRY_S: Final = 300.0
"""When to try again after a failure: prices of yesterday are better than none, those of today better still."""
_SPOT_PRODUCTS: Final = ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"]
_PRODUCTS: Final = (("Shared", "Compute Instance"), ("Dedicated", "Compute Instance (bare metal)"))
"""Tenancy and product family: metal is only sold as dedicated."""
_CURRENCY: Final = {"cn-north-1": "CNY", "cn-northwest-1": "CNY"}
_OFF: Final = ("us-gov-", "us-iso")
"""Regions without a price list that can be asked (spec v1 §4.11)."""


class _Rate(msgspec.Struct, frozen=True, rename={"price_per_unit": "pricePerUnit"}):
    price_per_unit: Mapping[str, str]


class _Term(msgspec.Struct, frozen=True, rename={"price_dimensions": "priceDimensions"}):
    price_dimensions: Mapping[str, _Rate]


class _Attributes(msgspec.Struct, frozen=True, rename={"instance_type": "instanceType"}):
    instance_type: str = ""


class _Product(msgspec.Struct, frozen=True):
    attributes: _Attributes


class _Terms(msgspec.Struct, frozen=True, rename={"on_demand": "OnDemand"}):
    on_demand: Mapping[str, _Term] = {}


class _Listed(msgspec.Struct, frozen=True):
    """One product of the price list, as far as it is read."""

    product: _Product
    terms: _Terms


class Pricing:
    """The prices of one region. A refresh that fails leaves what was known before."""

    def __init__(
        self,
        aws: AwsSession,
        clock: Clock,
        catalog: AwsCatalog,
        *,
        is_isolated: bool = False,
        discounts: Mapping[str, float] | None = None,
    ) -> None:
        """`discounts` maps patterns of instance types to the share that is taken off their on-demand price."""
        self._aws = aws
        self._clock = clock
        self._is_isolated = is_isolated
        self._discounts = discounts or {}
        self._on_demand: dict[str, float] = dict(catalog.on_demand)
        self._spot: Mapping[tuple[str, str], float] | None = None
        self.on_demand_at: UnixSeconds | None = None
        """When on-demand prices were read; None while they are those of the package."""
        self.spot_at: UnixSeconds | None = None
        """When spot prices were read; None while on-demand prices stand in for them."""
        self.version = 0
        """Rises with every change."""

    def price(self, instance_type: str, zone: str, capacity_type: str) -> float | None:
        """Return USD (in China CNY) per hour; None when it is not known, so that the offering is unavailable."""
        if capacity_type == labels.SPOT and self._spot is not None:
            return self._spot.get((instance_type, zone))
        price = self._on_demand.get(instance_type)
        if price is None:
            return None
        off = next((off for glob, off in self._discounts.items() if fnmatchcase(instance_type, glob)), 0.0)
        return price * (1 - off)

    def described(self) -> str:
        """Return whose prices these are and how old, in a line."""
        day = "the package's table" if self.on_demand_at is None else to_rfc3339(self.on_demand_at)
        spot = "on-demand prices" if self.spot_at is None else to_rfc3339(self.spot_at)
        return f"prices of {self._aws.region}: on-demand of {day}, spot of {spot}"

    async def refresh(self) -> float:
        """Read all prices anew; return after how many seconds to do so again. Nothing is raised."""
        results = await asyncio.gather(self._refresh_spot(), self._refresh_on_demand())
        log.info("read prices", region=self._aws.region, prices=self.described())
        return REFRESH_S if all(results) else RETRY_S

    async def _refresh_spot(self) -> bool:
        try:
            found = await collect(
                self._aws,
                ("ec2", "DescribeSpotPriceHistory"),
                "SpotPriceHistory",
                ProductDescriptions=_SPOT_PRODUCTS,
                StartTime=to_rfc3339(self._clock.now()),
            )
        except CloudError as error:
            log.warning("cannot read spot prices, going on with the last", error=error, prices=self.described())
            return False
        if found:
            self._spot = _latest(found)
            self.spot_at = self._clock.now()
            self.version += 1
        return bool(found)

    async def _refresh_on_demand(self) -> bool:
        if self._is_isolated or self._aws.region.startswith(_OFF):
            return True
        try:
            halves = await asyncio.gather(*(self._list(*product) for product in _PRODUCTS))
        except CloudError as error:
            log.warning("cannot read on-demand prices, going on with the last", error=error, prices=self.described())
            return False
        if not all(halves):
            return False
        for half in halves:
            self._on_demand.update(half)
        self.on_demand_at = self._clock.now()
        self.version += 1
        return True

    async def _list(self, tenancy: str, family: str) -> dict[str, float]:
        wanted = {
            "regionCode": self._aws.region,
            "serviceCode": "AmazonEC2",
            "preInstalledSw": "NA",
            "operatingSystem": "Linux",
            "capacitystatus": "Used",
            "marketoption": "OnDemand",
            "tenancy": tenancy,
            "productFamily": family,
        }
        filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
        found = await collect(
            self._aws, ("pricing", "GetProducts"), "PriceList", ServiceCode="AmazonEC2", Filters=filters
        )
        currency = _CURRENCY.get(self._aws.region, "USD")
        priced = (_price_of(text, currency) for text in found)
        return {name: price for name, price in priced if price}


def _latest(found: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for raw in found:
        key = (raw["InstanceType"], raw["AvailabilityZone"])
        if key not in newest or raw["Timestamp"] > newest[key]["Timestamp"]:
            newest[key] = raw
    return {key: float(raw["SpotPrice"]) for key, raw in newest.items()}


def _price_of(text: str, currency: str) -> tuple[str, float]:
    """Return type and price of a product; 0 for one that is no machine or has no price."""
    listed = msgspec.json.decode(text, type=_Listed)
    rates = (
        rate.price_per_unit[currency]
        for term in listed.terms.on_demand.values()
        for rate in term.price_dimensions.values()
        if currency in rate.price_per_unit
    )
    return listed.product.attributes.instance_type, float(next(rates, "0"))


def read_discounts(path: Path) -> dict[str, float]:
    """Return the discounts in a file: a JSON object of type patterns to percent, `{"m5.*": 30, "*": 12.5}`.

    Raises:
        ManifestError: the file cannot be read, or has something else in it.
    """
    subject = f"discounts {path}"
    try:
        given = msgspec.json.decode(path.read_bytes(), type=dict[str, float])
    except OSError as error:
        raise ManifestError(subject, (FieldError("file", f"cannot be read: {error.strerror}"),)) from error
    except msgspec.DecodeError as error:
        fault = FieldError("file", str(error), 'write percent by type, {"m5.*": 30}')
        raise ManifestError(subject, (fault,)) from error
    wrong = [
        FieldError(glob, f"{percent:g} is no discount", "0 … 100")
        for glob, percent in given.items()
        if not 0 <= percent <= 100
    ]
    if wrong:
        raise ManifestError(subject, wrong)
    return {glob: percent / 100 for glob, percent in given.items()}
