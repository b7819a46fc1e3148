"""Launches as the real SDK makes them (spec v1alpha5 AWS-46 … AWS-49; spec v1 A-38, A-43)."""

import pytest
from botocore.exceptions import ClientError

from karpenter.cloud.unavailable import OfferingKey
from karpenter.sim.market.faults import Fault, FaultKind
from tests.sim.ec2.endpoints import Aws, an_account
from tests.sim.ec2.launching import JOINING, a_template, errors, fleet, ids

pytestmark = pytest.mark.real_time


def cheapest(aws: Aws, *types: str, zones: tuple[str, ...] = ("us-west-2a", "us-west-2b")) -> OfferingKey:
    keys = [OfferingKey(name, zone, "spot") for name in types for zone in zones]
    return min(keys, key=lambda key: aws.market.price(key) or 0.0)


async def test_a_fleet_brings_the_cheapest_pool_with_its_tags() -> None:
    async with an_account() as aws:
        template = await a_template(aws)
        answer = await aws.call("ec2", "create_fleet", **fleet("m5.large", "c5.large", "r5.large"))
        (instance,) = aws.market.instances()
        assert ids(answer) == [instance.id]
        assert instance.offering == cheapest(aws, "m5.large", "c5.large", "r5.large")
        assert (instance.tags, instance.blueprint.launch_template) == ({"team": "web"}, template)
        assert answer["Errors"] == []


async def test_a_fleet_of_many_brings_what_there_is_and_names_what_was_sold_out() -> None:
    async with an_account() as aws:
        await a_template(aws)
        aws.market.limit(2, instance_type="m5.large")
        aws.market.limit(2, instance_type="c5.large")
        answer = await aws.call("ec2", "create_fleet", **fleet("m5.large", "c5.large", count=5))
        assert len(ids(answer)) == 4
        assert errors(answer) == {("InsufficientInstanceCapacity", name) for name in ("m5.large", "c5.large")}
        assert (
            sorted(one.offering.instance_type for one in aws.market.instances()) == ["c5.large"] * 2 + ["m5.large"] * 2
        )


async def test_a_fleet_without_capacity_answers_errors_for_every_pool() -> None:
    async with an_account() as aws:
        await a_template(aws)
        aws.market.exhaust("m5.*")
        answer = await aws.call("ec2", "create_fleet", **fleet("m5.large", "m5.xlarge"))
    assert ids(answer) == []
    assert len(answer["Errors"]) == 4
    assert errors(answer) == {
        ("InsufficientInstanceCapacity", "m5.large"),
        ("InsufficientInstanceCapacity", "m5.xlarge"),
    }


async def test_the_same_client_token_brings_the_same_instances() -> None:
    async with an_account() as aws:
        await a_template(aws)
        request = fleet("m5.large", count=2, ClientToken="claim-1")
        first = await aws.call("ec2", "create_fleet", **request)
        again = await aws.call("ec2", "create_fleet", **request)
        with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
            await aws.call("ec2", "create_fleet", **fleet("c5.large", ClientToken="claim-1"))
        assert (ids(first), first["FleetId"]) == (ids(again), again["FleetId"])
        assert len(aws.market.instances()) == 2


async def test_a_lost_reply_leaves_the_instance_that_the_token_finds() -> None:
    async with an_account() as aws:
        await a_template(aws)
        aws.market.inject(Fault(FaultKind.LOST_REPLY, "CreateFleet"))
        request = fleet("m5.large", ClientToken="claim-1")
        with pytest.raises(ClientError, match="InternalError"):
            await aws.call("ec2", "create_fleet", **request)
        answer = await aws.call("ec2", "create_fleet", **request)
        assert ids(answer) == [one.id for one in aws.market.instances()]


async def test_a_full_quota_is_an_error_of_each_pool() -> None:
    async with an_account(change=lambda backend: backend.vcpu_quota.update({"spot": 2, "on-demand": 0})) as aws:
        await a_template(aws)
        assert ids(await aws.call("ec2", "create_fleet", **fleet("m5.large"))) != []
        spot = await aws.call("ec2", "create_fleet", **fleet("m5.large"))
        on_demand = await aws.call("ec2", "create_fleet", **fleet("m5.large", capacity_type="on-demand"))
    assert errors(spot) == {("MaxSpotInstanceCountExceeded", "m5.large")}
    assert errors(on_demand) == {("VcpuLimitExceeded", "m5.large")}


async def test_prioritized_pools_are_tried_in_their_order() -> None:
    async with an_account() as aws:
        await a_template(aws)
        request = fleet(
            "m5.large", "m5.24xlarge", capacity_type="on-demand", OnDemandOptions={"AllocationStrategy": "prioritized"}
        )
        for override in request["LaunchTemplateConfigs"][0]["Overrides"]:
            override["Priority"] = 1.0 if override["InstanceType"] == "m5.24xlarge" else 2.0
        await aws.call("ec2", "create_fleet", **request)
        assert [one.offering.instance_type for one in aws.market.instances()] == ["m5.24xlarge"]


@pytest.mark.parametrize(
    "data,code",
    [
        ({"ImageId": "ami-1"}, "InvalidAMIID.NotFound"),
        ({"SecurityGroupIds": ["sg-1"]}, "InvalidGroup.NotFound"),
        ({"IamInstanceProfile": {"Name": "missing"}}, "InvalidParameterValue"),
    ],
)
async def test_what_a_template_names_and_is_not_there_is_an_error_of_the_fleet(
    data: dict[str, object], code: str
) -> None:
    async with an_account() as aws:
        await a_template(aws, **data)
        answer = await aws.call("ec2", "create_fleet", **fleet("m5.large"))
    assert errors(answer) == {(code, "m5.large")}


async def test_a_deleted_template_refuses_the_whole_fleet() -> None:
    async with an_account() as aws:
        await a_template(aws)
        await aws.call("ec2", "delete_launch_template", LaunchTemplateName="one")
        with pytest.raises(ClientError, match=r"InvalidLaunchTemplateName\.NotFoundException"):
            await aws.call("ec2", "create_fleet", **fleet("m5.large"))


async def test_dry_runs_change_nothing_and_say_what_would_have_failed() -> None:
    async with an_account() as aws:
        await a_template(aws)
        with pytest.raises(ClientError, match="DryRunOperation"):
            await aws.call("ec2", "create_fleet", **fleet("m5.large", DryRun=True))
        aws.backend.denied.add("ec2:RunInstances")
        with pytest.raises(ClientError, match="UnauthorizedOperation"):
            await aws.call("ec2", "run_instances", MinCount=1, MaxCount=1, DryRun=True)
        assert aws.market.instances() == ()


async def test_user_data_decides_as_what_the_kubelet_registers() -> None:
    async with an_account() as aws:
        await a_template(aws)
        await aws.call("ec2", "create_fleet", **fleet("m5.large"))
        (instance,) = aws.market.instances()
    boot = instance.boot
    assert (boot.labels["team"], boot.labels["node.kubernetes.io/instance-type"]) == ("web", "m5.large")
    assert [str(taint) for taint in boot.taints] == ["karpenter.sh/unregistered:NoExecute"]
    assert (boot.capacity["pods"], boot.allocatable["cpu"]) == (20, 1830)


@pytest.mark.parametrize("user_data", ["", "#!/bin/sh\necho hello", JOINING.replace("'simulated'", "'another'")])
async def test_an_instance_that_is_not_told_the_cluster_never_joins(user_data: str) -> None:
    async with an_account() as aws:
        await a_template(aws, user_data=user_data)
        await aws.call("ec2", "create_fleet", **fleet("m5.large"))
        (instance,) = aws.market.instances()
    assert not instance.boot.joins
