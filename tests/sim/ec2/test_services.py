"""Instances, profiles, prices, queues and the cluster, as the real SDK sees them."""

import asyncio
import json

import pytest
from botocore.exceptions import ClientError

from karpenter.model.aws.catalog import load_aws_catalog
from karpenter.model.instance import InterruptionKind
from karpenter.sim.market.state import MarketSettings
from tests.sim.ec2.endpoints import REGION, Aws, an_account
from tests.sim.ec2.launching import a_template, fleet, ids

pytestmark = pytest.mark.real_time


async def launched(aws: Aws, **given: object) -> str:
    await a_template(aws)
    (identity,) = ids(await aws.call("ec2", "create_fleet", **fleet("m5.large", **given)))
    return identity


async def received(aws: Aws, *, wait_s: int = 1) -> list[dict[str, str]]:
    url = (await aws.call("sqs", "get_queue_url", QueueName="simulated"))["QueueUrl"]
    answer = await aws.call("sqs", "receive_message", QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=wait_s)
    return answer.get("Messages", [])


async def test_instances_are_found_by_tag_and_state_and_end_when_told() -> None:
    async with an_account(MarketSettings(speed=1.0, launch_s=0.0)) as aws:
        identity = await launched(aws)
        by_tag = [{"Name": "tag:team", "Values": ["web"]}, {"Name": "instance-state-name", "Values": ["pending"]}]
        (reservation,) = (await aws.call("ec2", "describe_instances", Filters=by_tag))["Reservations"]
        (instance,) = reservation["Instances"]
        assert (instance["InstanceId"], instance["InstanceLifecycle"], instance["State"]["Name"]) == (
            identity,
            "spot",
            "pending",
        )
        ended = await aws.call("ec2", "terminate_instances", InstanceIds=[identity])
        assert ended["TerminatingInstances"][0]["CurrentState"]["Name"] == "shutting-down"
        with pytest.raises(ClientError, match=r"InvalidInstanceID\.NotFound"):
            await aws.call("ec2", "terminate_instances", InstanceIds=["i-1"])


async def test_tags_are_set_and_taken_off() -> None:
    async with an_account() as aws:
        identity = await launched(aws)
        await aws.call("ec2", "create_tags", Resources=[identity], Tags=[{"Key": "Name", "Value": "node"}])
        await aws.call("ec2", "delete_tags", Resources=[identity], Tags=[{"Key": "team"}])
        (instance,) = aws.market.instances()
    assert instance.tags == {"Name": "node"}


async def test_a_profile_holds_one_role_and_goes_without_it() -> None:
    name = {"InstanceProfileName": "simulated_1"}
    async with an_account() as aws:
        with pytest.raises(ClientError, match="NoSuchEntity"):
            await aws.call("iam", "get_instance_profile", **name)
        await aws.call("iam", "create_instance_profile", **name, Path="/karpenter/")
        await aws.call("iam", "add_role_to_instance_profile", **name, RoleName="node")
        with pytest.raises(ClientError, match="DeleteConflict"):
            await aws.call("iam", "delete_instance_profile", **name)
        listed = await aws.call("iam", "list_instance_profiles", PathPrefix="/karpenter/")
        await aws.call("iam", "remove_role_from_instance_profile", **name, RoleName="node")
        await aws.call("iam", "delete_instance_profile", **name)
    assert [one["Roles"][0]["RoleName"] for one in listed["InstanceProfiles"]] == ["node"]


async def test_the_price_list_has_every_list_price_of_the_region() -> None:
    filters = [
        {"Type": "TERM_MATCH", "Field": field, "Value": value}
        for field, value in {"regionCode": REGION, "tenancy": "Shared", "serviceCode": "AmazonEC2"}.items()
    ]
    async with an_account() as aws:
        pages = await aws.pages("pricing", "get_products", ServiceCode="AmazonEC2", Filters=filters)
    prices = {}
    for text in (text for page in pages for text in page["PriceList"]):
        product = json.loads(text)
        (term,) = product["terms"]["OnDemand"].values()
        (dimension,) = term["priceDimensions"].values()
        prices[product["product"]["attributes"]["instanceType"]] = float(dimension["pricePerUnit"]["USD"])
    catalog = load_aws_catalog()
    sold = [record for record in catalog.in_region(REGION) if not record.is_metal and record.name in catalog.on_demand]
    assert prices == pytest.approx({record.name: catalog.on_demand[record.name] for record in sold}, abs=1e-9)


async def test_the_cluster_tells_how_to_join_it() -> None:
    async with an_account() as aws:
        found = (await aws.call("eks", "describe_cluster", name="simulated"))["cluster"]
        with pytest.raises(ClientError, match="ResourceNotFoundException"):
            await aws.call("eks", "describe_cluster", name="another")
    assert (found["version"], found["kubernetesNetworkConfig"]["serviceIpv4Cidr"]) == ("1.32", "10.100.0.0/16")


async def test_the_four_kinds_of_events_come_in_their_shapes() -> None:
    """INT-5, INT-8."""
    async with an_account(MarketSettings(speed=1000.0, launch_s=0.0)) as aws:
        identity = await launched(aws)
        aws.market.announce(identity, InterruptionKind.REBALANCE_RECOMMENDATION)
        aws.market.announce(identity, InterruptionKind.SCHEDULED_CHANGE)
        aws.market.interrupt(identity)
        bodies: list[dict[str, object]] = []
        async with asyncio.timeout(10):
            while len({body["detail-type"] for body in bodies}) < 4:
                bodies += [json.loads(message["Body"]) for message in await received(aws)]
    details = {str(body["detail-type"]): body["detail"] for body in bodies}
    assert {(body["version"], body["region"], body["account"]) for body in bodies} == {("0", REGION, "000000000000")}
    assert details["EC2 Spot Instance Interruption Warning"] == {
        "instance-id": identity,
        "instance-action": "terminate",
    }
    assert details["EC2 Instance Rebalance Recommendation"] == {"instance-id": identity}
    health = details["AWS Health Event"]
    assert isinstance(health, dict)
    assert (health["service"], health["eventTypeCategory"], health["affectedEntities"]) == (
        "EC2",
        "scheduledChange",
        [{"entityValue": identity}],
    )


async def test_a_message_that_nobody_deletes_comes_back() -> None:
    async with an_account() as aws:
        url = (await aws.call("sqs", "create_queue", QueueName="mine"))["QueueUrl"]
        await aws.call("sqs", "send_message", QueueUrl=url, MessageBody="hello")
        given = {"QueueUrl": url, "VisibilityTimeout": 0}
        first = (await aws.call("sqs", "receive_message", **given))["Messages"][0]
        again = (await aws.call("sqs", "receive_message", **given))["Messages"][0]
        await aws.call("sqs", "delete_message", QueueUrl=url, ReceiptHandle=first["ReceiptHandle"])
        left = await aws.call("sqs", "receive_message", **given)
    assert (first["MessageId"], first["Body"]) == (again["MessageId"], "hello")
    assert left.get("Messages", []) == []


async def test_a_long_poll_ends_when_a_message_comes() -> None:
    async with an_account() as aws:
        url = (await aws.call("sqs", "create_queue", QueueName="mine"))["QueueUrl"]
        poll = asyncio.create_task(aws.call("sqs", "receive_message", QueueUrl=url, WaitTimeSeconds=20))
        await asyncio.sleep(0)
        await aws.call("sqs", "send_message", QueueUrl=url, MessageBody="hello")
        async with asyncio.timeout(5):
            assert [message["Body"] for message in (await poll)["Messages"]] == ["hello"]


async def test_a_deleted_queue_is_missed_under_the_code_that_the_sdk_knows() -> None:
    async with an_account() as aws:
        url = (await aws.call("sqs", "get_queue_url", QueueName="simulated"))["QueueUrl"]
        await aws.call("sqs", "delete_queue", QueueUrl=url)
        with pytest.raises(ClientError, match=r"AWS\.SimpleQueueService\.NonExistentQueue"):
            await aws.call("sqs", "receive_message", QueueUrl=url)


async def test_the_end_of_the_endpoint_does_not_wait_for_long_polls() -> None:
    async with an_account() as aws:
        url = (await aws.call("sqs", "get_queue_url", QueueName="simulated"))["QueueUrl"]
        poll = asyncio.create_task(aws.call("sqs", "receive_message", QueueUrl=url, WaitTimeSeconds=20))
        await asyncio.sleep(0.5)  # it has to arrive: one that comes while the endpoint closes is merely refused
    async with asyncio.timeout(15):
        await asyncio.wait([poll])
