"""Facts about EC2 as the program reads them (spec v1alpha5 §3.2, §3.4)."""

import pytest

from karpenter.model.aws.catalog import Device, InstanceTypeRecord, load_aws_catalog
from tests.awsbuilders import a_record

CATALOG = load_aws_catalog()


def test_the_catalogue_is_read_once() -> None:
    assert load_aws_catalog() is CATALOG


def test_a_record_knows_its_name_and_where_it_is_offered() -> None:
    record = a_record("a1.large")
    assert (record.name, record.zones("us-west-2"), record.zones("mars-1")) == (
        "a1.large",
        ("us-west-2a", "us-west-2c"),
        (),
    )


def test_a_region_has_zones_and_an_unknown_one_is_named() -> None:
    assert CATALOG.zones("us-west-2") == ("us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d")
    with pytest.raises(ValueError, match="region 'mars-1' is not in the catalogue; it has us-east-1, us-east-2, us-w"):
        CATALOG.zones("mars-1")


def test_types_of_a_region_are_those_it_offers_by_name() -> None:
    names = [record.name for record in CATALOG.in_region("us-east-2")]
    assert names == sorted(names)
    assert "c1.medium" not in names


@pytest.mark.parametrize(
    "name, price",
    [
        ("c6g.xlarge", 0.136),
        ("c7g.xlarge", 0.145),
        ("c6a.xlarge", 0.153),
        ("c6gd.xlarge", 0.1536),
        ("c5a.xlarge", 0.154),
        ("m6g.xlarge", 0.154),
        ("m7g.xlarge", 0.1632),
        ("c5.xlarge", 0.17),
        ("m5a.xlarge", 0.172),
        ("m5.xlarge", 0.192),
        ("r5.xlarge", 0.252),
        ("m5.large", 0.096),
        ("g4dn.xlarge", 0.526),
    ],
)
def test_on_demand_prices_are_the_list_prices(name: str, price: float) -> None:
    """§3.4, static sample; g4dn.xlarge has a price of its own, off its family's line."""
    assert CATALOG.on_demand[name] == price


@pytest.mark.parametrize(
    "name, drivers",
    [("m5.large", "none"), ("g4dn.xlarge", "nvidia"), ("inf1.xlarge", "neuron"), ("g4ad.xlarge", "none")],
)
def test_a_type_needs_the_drivers_of_its_devices(name: str, drivers: str) -> None:
    assert a_record(name).accelerator == drivers


def test_devices_have_their_figures() -> None:
    assert a_record("g4dn.xlarge").gpus == (Device("T4", "NVIDIA", 1, 16384),)
    assert a_record("trn1.2xlarge").accelerators == (Device("Trainium", "AWS", 1, 32768, 2, "Inferentia"),)


def test_every_priced_type_costs_something() -> None:
    assert min(CATALOG.on_demand.values()) > 0
    assert isinstance(next(iter(CATALOG.records.values())), InstanceTypeRecord)
