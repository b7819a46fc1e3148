"""The Price List API: on-demand list prices (spec v1alpha5 AWS-30)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from karpenter.model.aws.catalog import InstanceTypeRecord
from karpenter.sim.ec2.backend import Backend, Handler, Params, Result
from karpenter.sim.ec2.codec.messages import AwsError
from karpenter.sim.ec2.filters import page
from karpenter.sim.market.dice import hex_digits

_SERVICE: Final = "AmazonEC2"
_TERM: Final = "JRTCKXETXF"
_DIMENSION: Final = "6YS6EN2CT7"
_MOST: Final = 100


class PriceList:
    """List prices of all regions that the catalogue knows."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def operations(self) -> Mapping[str, Handler]:
        """Return what it answers."""
        return {"pricing:GetProducts": self._get_products}

    def _get_products(self, params: Params) -> Result:
        if params.get("ServiceCode") != _SERVICE:
            raise AwsError("InvalidParameterException", "only AmazonEC2 has prices here")
        wanted = {one["Field"].lower(): one["Value"] for one in params.get("Filters") or ()}
        prices = self._backend.catalog.on_demand
        products = [
            (record, attributes, prices[record.name])
            for region in self._backend.catalog.regions
            for record in self._backend.catalog.in_region(region)
            if record.name in prices and _matches(attributes := _attributes(record, region), wanted)
        ]
        shown, more = page(products, params, key="products", most=_MOST)
        texts = [msgspec.json.encode(_product(*one)).decode() for one in shown]
        return {"FormatVersion": "aws_v1", "PriceList": texts, **more}


def _matches(attributes: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Return whether all wanted attributes are so; their names are looked up without regard to case."""
    has = {name.lower(): value for name, value in attributes.items()}
    return all(has.get(name) == value for name, value in wanted.items())


def _attributes(record: InstanceTypeRecord, region: str) -> dict[str, str]:
    return {
        "servicecode": _SERVICE,
        "regionCode": region,
        "instanceType": record.name,
        "productFamily": "Compute Instance (bare metal)" if record.is_metal else "Compute Instance",
        "tenancy": "Dedicated" if record.is_metal else "Shared",
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
    }


def _product(record: InstanceTypeRecord, attributes: Mapping[str, str], price: float) -> Result:
    sku = hex_digits(0, "sku", attributes["regionCode"], record.name, digits=16).upper()
    offer = f"{sku}.{_TERM}"
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": f"{price:.10f}"}}
    return {
        "product": {"productFamily": attributes["productFamily"], "attributes": attributes, "sku": sku},
        "serviceCode": _SERVICE,
        "terms": {"OnDemand": {offer: {"sku": sku, "priceDimensions": {f"{offer}.{_DIMENSION}": dimension}}}},
    }
