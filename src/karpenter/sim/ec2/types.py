"""Instance types, where they are offered, and what spot costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.aws.catalog import InstanceTypeRecord
from karpenter.sim.ec2.backend import Backend, Handler, Params, Result
from karpenter.sim.ec2.codec.messages import AwsError
from karpenter.sim.ec2.filters import Facts, no_tags, page, select
from karpenter.sim.ec2.typeshapes import instance_type_info

_PRODUCTS: Final = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
_TYPES_A_PAGE: Final = 100


class InstanceTypes:
    """What the region sells."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._records = {record.name: record for record in backend.catalog.in_region(backend.region)}
        self._spot: tuple[int, tuple[tuple[OfferingKey, float], ...]] = (-1, ())
        """What every spot offering costs, and in which of the market's hours."""

    def operations(self) -> Mapping[str, Handler]:
        """Return what it answers."""
        return {
            "ec2:DescribeInstanceTypes": self._describe_types,
            "ec2:DescribeInstanceTypeOfferings": self._describe_offerings,
            "ec2:DescribeSpotPriceHistory": self._describe_spot_prices,
        }

    def record(self, name: str) -> InstanceTypeRecord:
        """Return a type. Raises AwsError."""
        if name not in self._records:
            raise AwsError("InvalidInstanceType", f"The following supplied instance types do not exist: [{name}]")
        return self._records[name]

    def _describe_types(self, params: Params) -> Result:
        names = params.get("InstanceTypes") or self._records
        chosen = select([self.record(name) for name in names], params, _type_facts, tags=no_tags)
        shown, more = page(chosen, params, key="types", most=_TYPES_A_PAGE)
        return {"InstanceTypes": [instance_type_info(record) for record in shown], **more}

    def _describe_offerings(self, params: Params) -> Result:
        kind = params.get("LocationType", "region")
        offerings = [
            {"InstanceType": record.name, "LocationType": kind, "Location": place}
            for record in self._records.values()
            for place in self._places(record, kind)
        ]
        chosen = select(offerings, params, _offering_facts, tags=no_tags)
        shown, more = page(chosen, params, key="offerings")
        return {"InstanceTypeOfferings": shown, **more}

    def _places(self, record: InstanceTypeRecord, kind: str) -> tuple[str, ...]:
        match kind:
            case "region":
                return (self._backend.region,)
            case "availability-zone":
                return record.zones(self._backend.region)
            case "availability-zone-id":
                ids = self._backend.catalog.regions[self._backend.region]
                return tuple(ids[letter] for letter in record.zone_letters[self._backend.region])
        raise AwsError("InvalidParameterValue", f"Value ({kind}) for parameter LocationType is invalid")

    def _describe_spot_prices(self, params: Params) -> Result:
        """Return the prices that hold now: older ones are not told."""
        names, zone = params.get("InstanceTypes"), params.get("AvailabilityZone")
        products = [name for name in params.get("ProductDescriptions") or _PRODUCTS[:1] if name in _PRODUCTS]
        entries = [
            (key, price, product)
            for key, price in self._spot_prices()
            for product in products
            if (not names or key.instance_type in names) and zone in {None, key.zone}
        ]
        chosen = select(entries, params, _price_facts, tags=no_tags)
        shown, more = page(chosen, params, key="spot prices")
        since = self._backend.market.price_since
        history = [
            {
                "InstanceType": key.instance_type,
                "AvailabilityZone": key.zone,
                "ProductDescription": product,
                "SpotPrice": _price(price),
                "Timestamp": since,
            }
            for key, price, product in shown
        ]
        return {"SpotPriceHistory": history, "NextToken": "", **more}

    def _spot_prices(self) -> tuple[tuple[OfferingKey, float], ...]:
        market = self._backend.market
        if self._spot[0] != market.price_step:
            keys = (
                OfferingKey(record.name, zone, labels.SPOT)
                for record in self._records.values()
                for zone in record.zones(self._backend.region)
            )
            priced = ((key, market.price(key)) for key in keys)
            self._spot = market.price_step, tuple((key, price) for key, price in priced if price is not None)
        return self._spot[1]


def _type_facts(record: InstanceTypeRecord) -> Facts:
    return {
        "instance-type": (record.name,),
        "processor-info.supported-architecture": ({"amd64": "x86_64"}.get(record.arch, record.arch),),
        "supported-virtualization-type": ("hvm",),
        "supported-usage-class": record.usage_classes,
        "bare-metal": (str(record.is_metal).lower(),),
        "current-generation": (str(record.is_current).lower(),),
        "hypervisor": (record.hypervisor,),
        "burstable-performance-supported": (str(record.is_burstable).lower(),),
    }


def _offering_facts(offering: Mapping[str, str]) -> Facts:
    return {"instance-type": (offering["InstanceType"],), "location": (offering["Location"],)}


def _price_facts(entry: tuple[OfferingKey, float, str]) -> Facts:
    key, price, product = entry
    return {
        "instance-type": (key.instance_type,),
        "availability-zone": (key.zone,),
        "product-description": (product,),
        "spot-price": (_price(price),),
    }


def _price(usd: float) -> str:
    return f"{usd:.6f}"
