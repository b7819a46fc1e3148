"""Subnets, security groups, zones, images and parameters, as the real SDK reads them."""

import pytest
from botocore.exceptions import ClientError

from karpenter.sim.ec2.backend import Backend
from tests.aws.clocks import HandClock
from tests.sim.ec2.endpoints import Aws, an_account

pytestmark = pytest.mark.real_time

RECOMMENDED = "/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id"


async def test_subnets_are_found_by_tag_with_their_free_addresses() -> None:
    async with an_account() as aws:
        found = await aws.call("ec2", "describe_subnets", Filters=[{"Name": "tag:tier", "Values": ["priv*"]}])
    zones = {one["AvailabilityZone"]: one["AvailableIpAddressCount"] for one in found["Subnets"]}
    assert zones == dict.fromkeys(["us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"], 8187)


async def test_a_discovery_tag_of_any_value_is_on_everything() -> None:
    async with an_account() as aws:
        discovery = [{"Name": "tag:karpenter.sh/discovery", "Values": ["my-cluster"]}]
        subnets = await aws.call("ec2", "describe_subnets", Filters=discovery)
        groups = await aws.call("ec2", "describe_security_groups", Filters=discovery)
    assert (len(subnets["Subnets"]), len(groups["SecurityGroups"])) == (8, 2)


async def test_filters_are_all_met_and_of_the_values_of_one_any_will_do() -> None:
    async with an_account() as aws:
        found = await aws.call(
            "ec2",
            "describe_subnets",
            Filters=[
                {"Name": "availability-zone", "Values": ["us-west-2a", "us-west-2b"]},
                {"Name": "tag-key", "Values": ["kubernetes.io/role/elb"]},
            ],
        )
    assert sorted(one["AvailabilityZone"] for one in found["Subnets"]) == ["us-west-2a", "us-west-2b"]


@pytest.mark.parametrize(
    "operation,given,code",
    [
        ("describe_subnets", {"SubnetIds": ["subnet-1"]}, "InvalidSubnetID.NotFound"),
        ("describe_security_groups", {"GroupIds": ["sg-1"]}, "InvalidGroup.NotFound"),
        ("describe_images", {"ImageIds": ["ami-1"]}, "InvalidAMIID.NotFound"),
        ("describe_instance_types", {"InstanceTypes": ["m5.tiny"]}, "InvalidInstanceType"),
        ("describe_subnets", {"Filters": [{"Name": "colour", "Values": ["red"]}]}, "InvalidParameterValue"),
        ("describe_subnets", {"NextToken": "bm9uc2Vuc2U="}, "InvalidNextToken"),
        ("describe_subnets", {"DryRun": True}, "DryRunOperation"),
        ("describe_volumes", {}, "InvalidAction"),
    ],
)
async def test_what_cannot_be_answered_is_an_error_of_ec2(operation: str, given: dict[str, object], code: str) -> None:
    async with an_account() as aws:
        with pytest.raises(ClientError) as refused:
            await aws.call("ec2", operation, **given)
    assert refused.value.response["Error"]["Code"] == code


@pytest.mark.parametrize(
    "service,operation,given,code",
    [
        ("ec2", "describe_subnets", {}, "AuthFailure"),
        ("sts", "get_caller_identity", {}, "InvalidClientTokenId"),
        ("ssm", "get_parameter", {"Name": RECOMMENDED}, "UnrecognizedClientException"),
        ("eks", "describe_cluster", {"name": "simulated"}, "UnrecognizedClientException"),
    ],
)
async def test_each_protocol_refuses_an_unknown_access_key_its_own_way(
    service: str, operation: str, given: dict[str, str], code: str
) -> None:
    async with an_account(change=lambda backend: backend.access_keys.clear()) as aws:
        with pytest.raises(ClientError) as refused:
            await aws.call(service, operation, **given)
    assert refused.value.response["Error"]["Code"] == code


async def test_the_recommended_image_changes_when_the_next_generation_comes_out() -> None:
    async with an_account() as aws:
        before = (await aws.call("ssm", "get_parameter", Name=RECOMMENDED))["Parameter"]["Value"]
        aws.market.release_images()
        after = (await aws.call("ssm", "get_parameter", Name=RECOMMENDED))["Parameter"]["Value"]
        images = await aws.call("ec2", "describe_images", ImageIds=[before, after])
    assert [image["Name"] for image in images["Images"]] == [
        "amazon-eks-node-1.32-v20260916",
        "amazon-eks-node-1.32-v20261111",
    ]


async def test_a_parameter_that_is_not_there_is_named() -> None:
    async with an_account() as aws:
        found = await aws.call("ssm", "get_parameters", Names=[RECOMMENDED, "/nothing"])
        with pytest.raises(ClientError, match="/nothing"):
            await aws.call("ssm", "get_parameter", Name="/nothing")
    assert ([one["Name"] for one in found["Parameters"]], found["InvalidParameters"]) == ([RECOMMENDED], ["/nothing"])


async def test_zones_have_the_ids_of_the_catalogue() -> None:
    async with an_account() as aws:
        found = await aws.call("ec2", "describe_availability_zones")
    zones = {zone["ZoneName"]: zone["ZoneId"] for zone in found["AvailabilityZones"]}
    assert zones["us-west-2a"] == "usw2-az2"


def stop_the_clock(backend: Backend) -> None:
    backend.clock = HandClock()


async def outcome(aws: Aws) -> str:
    try:
        await aws.call("ec2", "describe_subnets")
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "ok"


async def test_too_many_reads_are_throttled_and_each_call_is_counted() -> None:
    async with an_account(change=stop_the_clock) as aws:
        for _ in range(98):
            await aws.desk_call("ec2", "DescribeSubnets", SubnetIds=[])
        outcomes = [await outcome(aws) for _ in range(4)]
    assert outcomes == ["ok", "ok", "RequestLimitExceeded", "RequestLimitExceeded"]
    assert aws.desk.calls == {
        ("ec2", "DescribeSubnets", "ok"): 100,
        ("ec2", "DescribeSubnets", "RequestLimitExceeded"): 2,
    }


async def test_who_calls_is_told() -> None:
    async with an_account() as aws:
        assert (await aws.call("sts", "get_caller_identity"))["Account"] == "000000000000"
