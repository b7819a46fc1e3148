"""What selectors find, over the real SDK. Source: spec v1 A-4, A-5, A-37; spec v1alpha5 AWS-45, AWS-60, TV-96."""

import pytest

from karpenter.aws.network import FreeAddresses, Network
from karpenter.aws.resolved import Subnet
from karpenter.aws.session import AwsSession
from karpenter.runtime.clock import LoopClock
from tests.awsbuilders import terms

pytestmark = pytest.mark.real_time


async def a_subnet(aws: AwsSession, vpc: str, network: str, *, zone: str = "us-west-2a", **tags: str) -> str:
    made = await aws.call(
        "ec2",
        "CreateSubnet",
        VpcId=vpc,
        CidrBlock=network,
        AvailabilityZone=zone,
        TagSpecifications=[{"ResourceType": "subnet", "Tags": [{"Key": k, "Value": v} for k, v in tags.items()]}],
    )
    return made["Subnet"]["SubnetId"]


async def a_vpc(aws: AwsSession) -> str:
    return (await aws.call("ec2", "CreateVpc", CidrBlock="10.0.0.0/16"))["Vpc"]["VpcId"]


@pytest.fixture
def network(aws: AwsSession, clock: LoopClock) -> Network:
    return Network(aws, clock)


async def test_tags_select_subnets_and_the_roomiest_comes_first(aws: AwsSession, network: Network) -> None:
    """A-4."""
    vpc = await a_vpc(aws)
    small = await a_subnet(aws, vpc, "10.0.1.0/28", discovery="mine", tier="private")
    large = await a_subnet(aws, vpc, "10.0.2.0/24", zone="us-west-2b", discovery="mine", tier="private")
    await a_subnet(aws, vpc, "10.0.3.0/24", discovery="other")
    found = await network.subnets(terms({"tags": {"discovery": "mine", "tier": "*"}}))
    assert [(s.id, s.zone, s.free_addresses) for s in found] == [(large, "us-west-2b", 251), (small, "us-west-2a", 11)]


async def test_terms_are_alternatives_and_find_each_subnet_once(aws: AwsSession, network: Network) -> None:
    """A-4: ids together in one call."""
    vpc = await a_vpc(aws)
    one = await a_subnet(aws, vpc, "10.0.1.0/24", discovery="mine")
    two = await a_subnet(aws, vpc, "10.0.2.0/24", discovery="other")
    found = await network.subnets(terms({"id": one}, {"id": two}, {"tags": {"discovery": "mine"}}))
    assert sorted(subnet.id for subnet in found) == sorted([one, two])


async def test_a_selector_that_finds_nothing_finds_nothing(network: Network) -> None:
    assert await network.subnets(terms({"tags": {"discovery": "none"}})) == ()
    assert await network.security_groups(terms({"name": "none"})) == ()


async def test_security_groups_are_selected_by_tag_id_or_name(aws: AwsSession, network: Network) -> None:
    """A-5."""
    vpc = await a_vpc(aws)
    ids = {}
    for name, tag in (("web", "mine"), ("db", "other"), ("mail", "other")):
        spec = [{"ResourceType": "security-group", "Tags": [{"Key": "discovery", "Value": tag}]}]
        made = await aws.call(
            "ec2", "CreateSecurityGroup", GroupName=name, Description=name, VpcId=vpc, TagSpecifications=spec
        )
        ids[name] = made["GroupId"]
    found = await network.security_groups(terms({"tags": {"discovery": "mine"}}, {"id": ids["db"]}, {"name": "mail"}))
    assert [(group.id, group.name) for group in found] == sorted((identity, name) for name, identity in ids.items())


async def test_an_answer_is_remembered_for_a_minute(aws: AwsSession, network: Network) -> None:
    """A-4, A-5."""
    await a_subnet(aws, await a_vpc(aws), "10.0.1.0/24", discovery="mine")
    selector = terms({"tags": {"discovery": "mine"}})
    first = await network.subnets(selector)
    await aws.call("ec2", "DeleteSubnet", SubnetId=first[0].id)
    assert await network.subnets(selector) == first
    assert await network.subnets(terms({"id": first[0].id})) == ()


def test_a_launch_takes_the_roomiest_subnet_of_each_zone() -> None:
    """TV-96, A-37."""
    subnets = (Subnet("subnet-1", "a", "", 10), Subnet("subnet-2", "a", "", 200), Subnet("subnet-3", "b", "", 5))
    assert {zone: subnet.id for zone, subnet in FreeAddresses().choose(subnets).items()} == {
        "a": "subnet-2",
        "b": "subnet-3",
    }


def test_addresses_of_launches_under_way_are_taken_off_until_ec2_counts_anew() -> None:
    """A-37, AWS-45."""
    free = FreeAddresses()
    before = (Subnet("subnet-1", "a", "", 150), Subnet("subnet-2", "a", "", 200))
    assert free.choose(before)["a"].id == "subnet-2"
    free.take("subnet-2", 100)
    assert free.choose(before)["a"].id == "subnet-1"
    free.take("subnet-2", -100)
    assert free.choose(before)["a"].id == "subnet-2"
    free.take("subnet-2", 100)
    after = (Subnet("subnet-1", "a", "", 150), Subnet("subnet-2", "a", "", 171))
    assert free.choose(after)["a"].id == "subnet-2"
