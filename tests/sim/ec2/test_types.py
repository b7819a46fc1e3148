"""Instance types, offerings and spot prices, as the real SDK reads them (spec v1alpha5 AWS-10, AWS-31)."""

from typing import Any

import pytest

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model.aws.catalog import InstanceTypeRecord, load_aws_catalog
from tests.sim.ec2.endpoints import REGION, an_account
from tools.catalog_types import instance_type

pytestmark = pytest.mark.real_time

RECORDS = {record.name: record for record in load_aws_catalog().in_region(REGION)}


async def all_types() -> dict[str, dict[str, Any]]:
    async with an_account() as aws:
        pages = await aws.pages("ec2", "describe_instance_types")
    return {info["InstanceType"]: info for page in pages for info in page["InstanceTypes"]}


def told(record: InstanceTypeRecord) -> dict[str, Any]:
    """What must arrive of a record, under the names of the catalogue's file."""
    devices = {
        "gpu": [(one.name, one.maker, one.count, one.memory_mib) for one in record.gpus],
        "acc": [(one.name, one.maker, one.count, one.memory_mib, one.cores) for one in record.accelerators],
    }
    optional = {
        "enc": record.encryption_in_transit,
        "net": record.network_mbps,
        "efa": record.efas,
        "ebs": record.ebs_attachments,
        "ebsMbps": record.ebs_mbps,
        "nvme": record.nvme_gb,
        "metal": record.is_metal,
        "burst": record.is_burstable,
        "cur": record.is_current,
        "maker": record.cpu_maker,
        "mhz": record.cpu_mhz,
        **devices,
    }
    return {
        "cpu": record.cpu,
        "mem": record.memory_mib,
        "arch": record.arch,
        "hyp": record.hypervisor,
        "use": list(record.usage_classes),
        "eni": record.enis,
        "eniAll": record.all_enis,
        "ip": record.ips_per_eni,
    } | {key: value for key, value in optional.items() if value}


def heard(description: dict[str, Any]) -> dict[str, Any]:
    """What the catalogue's builder makes of EC2's description, which it was written for."""
    record = instance_type(description)
    for key, fields in (
        ("gpu", ("name", "maker", "count", "mem")),
        ("acc", ("name", "maker", "count", "mem", "cores")),
    ):
        if key in record:
            record[key] = [tuple(one.get(field, 0) for field in fields) for one in record[key]]
    return record


async def test_every_instance_type_survives_the_way_through_the_sdk() -> None:
    found = await all_types()
    assert found.keys() == RECORDS.keys()
    assert {name: heard(found[name]) for name in found} == {name: told(record) for name, record in RECORDS.items()}


async def test_types_come_a_hundred_a_page() -> None:
    async with an_account() as aws:
        first = await aws.call("ec2", "describe_instance_types", MaxResults=100)
        rest = await aws.call("ec2", "describe_instance_types", MaxResults=100, NextToken=first["NextToken"])
    names = [info["InstanceType"] for page in (first, rest) for info in page["InstanceTypes"]]
    assert names == list(RECORDS)[:200]


async def test_filters_choose_among_types() -> None:
    async with an_account() as aws:
        answer = await aws.call(
            "ec2",
            "describe_instance_types",
            Filters=[
                {"Name": "instance-type", "Values": ["m5.*", "m6g.*"]},
                {"Name": "processor-info.supported-architecture", "Values": ["arm64"]},
                {"Name": "bare-metal", "Values": ["false"]},
            ],
        )
    assert {info["InstanceType"].partition(".")[0] for info in answer["InstanceTypes"]} == {"m6g"}


async def test_offerings_name_every_zone_of_every_type() -> None:
    async with an_account() as aws:
        pages = await aws.pages("ec2", "describe_instance_type_offerings", LocationType="availability-zone")
    offered = {(one["InstanceType"], one["Location"]) for page in pages for one in page["InstanceTypeOfferings"]}
    assert offered == {(name, zone) for name, record in RECORDS.items() for zone in record.zones(REGION)}


async def test_spot_prices_are_the_markets() -> None:
    async with an_account() as aws:
        answer = await aws.call(
            "ec2", "describe_spot_price_history", InstanceTypes=["m5.large"], ProductDescriptions=["Linux/UNIX"]
        )
        prices = {one["AvailabilityZone"]: float(one["SpotPrice"]) for one in answer["SpotPriceHistory"]}
        zones = RECORDS["m5.large"].zones(REGION)
        assert prices == {zone: aws.market.price(OfferingKey("m5.large", zone, "spot")) for zone in zones}
