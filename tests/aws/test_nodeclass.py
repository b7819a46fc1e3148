"""What a node class means in an account, and what its status says, over the real SDK. Source: spec v1 A-1, A-3."""

import base64
from dataclasses import dataclass, replace
from typing import Any

import pytest

from karpenter.aws.nodeclass import AwsNodeClasses
from karpenter.aws.session import AwsSession
from karpenter.cloud.errors import CloudError, NodeClassNotReadyError, UnauthorizedError
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.meta import ObjectMeta
from tests.aws.canned import CannedEc2
from tests.aws.clocks import HandClock
from tests.aws.images import an_image
from tests.aws.resolving import CLUSTER, an_order
from tests.aws.sources import sources
from tests.awsbuilders import REGION, V1, an_aws_node_class, terms

pytestmark = pytest.mark.real_time

DISCOVERY = {"karpenter.sh/discovery": "my-cluster"}


def classes(aws: AwsSession, clock: HandClock) -> AwsNodeClasses:
    return AwsNodeClasses(sources(aws, clock), region=REGION, cluster=lambda: CLUSTER)


def an_ec2_class(**fields: Any) -> AwsNodeClass:
    usual: dict[str, Any] = {
        "family": "Custom",
        "role": "nodes",
        "ami_terms": terms({"name": "mine-*"}),
        "origin": V1,
    }
    return an_aws_node_class(**(usual | fields))


@dataclass
class Made:
    """What there is in the account."""

    subnet: str
    group: str
    image: str


async def fill(aws: AwsSession) -> Made:
    """Make what `an_ec2_class` selects: a subnet, a security group, an image, a role."""
    tags = [{"Key": key, "Value": value} for key, value in DISCOVERY.items()]
    vpc = (await aws.call("ec2", "CreateVpc", CidrBlock="10.0.0.0/16"))["Vpc"]["VpcId"]
    subnet = await aws.call(
        "ec2",
        "CreateSubnet",
        VpcId=vpc,
        CidrBlock="10.0.1.0/24",
        AvailabilityZone=f"{REGION}a",
        TagSpecifications=[{"ResourceType": "subnet", "Tags": tags}],
    )
    group = await aws.call(
        "ec2",
        "CreateSecurityGroup",
        GroupName="nodes",
        Description="of nodes",
        VpcId=vpc,
        TagSpecifications=[{"ResourceType": "security-group", "Tags": tags}],
    )
    image = await an_image(aws, "mine-1")
    await aws.call("iam", "CreateRole", RoleName="nodes", AssumeRolePolicyDocument="{}")
    return Made(subnet["Subnet"]["SubnetId"], group["GroupId"], image)


def told(conditions: Any) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status, one.reason) for one in conditions}


async def test_a_class_means_what_its_selectors_find(aws: AwsSession, hand_clock: HandClock) -> None:
    made = await fill(aws)
    resolved = await classes(aws, hand_clock).resolve(an_ec2_class())
    assert [subnet.id for subnet in resolved.subnets] == [made.subnet]
    assert [group.id for group in resolved.security_groups] == [made.group]
    assert [ami.id for ami in resolved.amis] == [made.image]
    assert resolved.instance_profile.startswith("my-cluster_")


async def test_the_status_lists_what_was_found(aws: AwsSession, hand_clock: HandClock) -> None:
    """Spec v1 §1.8."""
    made = await fill(aws)
    report = await classes(aws, hand_clock).inspect(an_ec2_class())
    kinds = ("SubnetsReady", "SecurityGroupsReady", "AMIsReady", "InstanceProfileReady")
    assert told(report.conditions) == dict.fromkeys(kinds, ("True", ""))
    arch = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
    assert dict(report.found) == {
        "subnets": [{"id": made.subnet, "zone": "us-west-2a", "zoneID": report.found["subnets"][0]["zoneID"]}],
        "securityGroups": [{"id": made.group, "name": "nodes"}],
        "amis": [{"id": made.image, "name": "mine-1", "requirements": [arch]}],
        "instanceProfile": report.found["instanceProfile"],
        "capacityReservations": None,
    }


async def test_everything_that_is_missing_is_named_with_what_was_looked_for(
    aws: AwsSession, hand_clock: HandClock
) -> None:
    """Spec v1 §1.8."""
    node_class = an_ec2_class(security_group_terms=terms({"name": "web"}, {"id": "sg-1"}))
    report = await classes(aws, hand_clock).inspect(node_class)
    assert told(report.conditions) == {
        "SubnetsReady": ("False", "SubnetsNotFound"),
        "SecurityGroupsReady": ("False", "SecurityGroupsNotFound"),
        "AMIsReady": ("False", "AMINotFound"),
        "InstanceProfileReady": ("False", "RoleNotFound"),
    }
    assert [one.message for one in report.conditions] == [
        "node class 'default' selects no subnets; looked in us-west-2 for tag karpenter.sh/discovery my-cluster",
        "node class 'default' selects no security groups; looked in us-west-2 for name web or id sg-1",
        "node class 'default' selects no images of family Custom; looked in us-west-2 for name mine-*",
        "role 'nodes' does not exist; create it or correct spec.role",
    ]
    with pytest.raises(NodeClassNotReadyError, match=r"selects no subnets.*; role 'nodes' does not exist"):
        await classes(aws, hand_clock).resolve(node_class)


@pytest.mark.parametrize(
    "alias, reason, why",
    [
        ("al2023@v20240101", "AMINotFound", "there is no release 'v20240101' for Kubernetes 1.32 in us-west-2"),
        ("windows2025@latest", "UnsupportedAlias", "there are no Windows 2025 images for Kubernetes 1.32"),
    ],
)
async def test_an_alias_that_cannot_be_met_says_so(
    aws: AwsSession, hand_clock: HandClock, alias: str, reason: str, why: str
) -> None:
    """Spec v1 §1.8."""
    report = await classes(aws, hand_clock).inspect(an_ec2_class(ami_terms=terms({"alias": alias})))
    images = next(one for one in report.conditions if one.type == "AMIsReady")
    assert (images.status, images.reason) == ("False", reason)
    assert why in images.message


async def test_a_launch_template_of_the_users_own_needs_only_subnets(aws: AwsSession, hand_clock: HandClock) -> None:
    """AWS-57."""
    made = await fill(aws)
    own = an_aws_node_class(launch_template="mine", security_group_terms=())
    resolved = await classes(aws, hand_clock).resolve(own)
    assert (resolved.subnets[0].id, resolved.security_groups, resolved.amis) == (made.subnet, (), ())


async def test_nothing_is_launched_that_would_not_know_its_cluster(aws: AwsSession, hand_clock: HandClock) -> None:
    """A machine that joins nothing costs as much as any other."""
    await fill(aws)
    unknown = replace(CLUSTER, endpoint="", service_cidr="")
    one = AwsNodeClasses(sources(aws, hand_clock), region=REGION, cluster=lambda: unknown)
    node_class = an_ec2_class(family="AL2023")
    report = await one.inspect(node_class)
    assert told(report.conditions)["ValidationSucceeded"] == ("Unknown", "ClusterNotFound")
    with pytest.raises(NodeClassNotReadyError, match="the cluster's endpoint is not known"):
        await one.resolve(node_class)
    assert (await one.resolve(an_ec2_class())).subnets


async def test_al2023_waits_for_the_addresses_of_services(aws: AwsSession, hand_clock: HandClock) -> None:
    """A-16, A-41."""
    await fill(aws)
    one = AwsNodeClasses(sources(aws, hand_clock), region=REGION, cluster=lambda: replace(CLUSTER, service_cidr=""))
    report = await one.inspect(an_ec2_class(family="AL2023"))
    assert told(report.conditions)["ValidationSucceeded"] == ("False", "ClusterCIDRResolutionFailed")


async def test_a_denied_action_is_one_clear_condition(
    ec2: CannedEc2, canned_aws: AwsSession, hand_clock: HandClock
) -> None:
    """Issue 8, acceptance: the process lives on."""
    ec2.answers = {"DescribeSubnets": ("UnauthorizedOperation", "You are not authorized")}
    own = an_aws_node_class(launch_template="mine", security_group_terms=())
    report = await classes(canned_aws, hand_clock).inspect(own)
    assert told(report.conditions) == {"SubnetsReady": ("False", "Unauthorized")}
    assert report.conditions[0].message == (
        "DescribeSubnets is refused (UnauthorizedOperation): You are not authorized; "
        "allow it in the controller's IAM policy, see docs/aws"
    )
    assert report.found == {}
    with pytest.raises(NodeClassNotReadyError, match="DescribeSubnets is refused"):
        await classes(canned_aws, hand_clock).resolve(own)


async def test_an_account_that_cannot_be_asked_is_not_known(
    ec2: CannedEc2, canned_aws: AwsSession, hand_clock: HandClock
) -> None:
    """A throttled call is no reason to forget what was there."""
    ec2.answers = {"DescribeSubnets": ("InvalidAction", "try again")}
    own = an_aws_node_class(launch_template="mine", security_group_terms=())
    report = await classes(canned_aws, hand_clock).inspect(own)
    assert told(report.conditions) == {"SubnetsReady": ("Unknown", "CallFailed")}
    assert report.found == {}
    with pytest.raises(CloudError) as caught:
        await classes(canned_aws, hand_clock).resolve(own)
    assert not isinstance(caught.value, NodeClassNotReadyError | UnauthorizedError)


async def test_a_placement_group_that_is_not_there_is_named(
    ec2: CannedEc2, canned_aws: AwsSession, hand_clock: HandClock
) -> None:
    """A-12."""
    ec2.answers = {
        "DescribePlacementGroups": "<placementGroupSet/>",
        "DescribeSubnets": "<subnetSet><item><subnetId>subnet-1</subnetId><availabilityZone>a</availabilityZone>"
        "</item></subnetSet>",
    }
    own = an_aws_node_class(
        launch_template="mine", security_group_terms=(), other={"placementGroupSelector": {"name": "mine"}}
    )
    report = await classes(canned_aws, hand_clock).inspect(own)
    assert told(report.conditions)["PlacementGroupReady"] == ("False", "PlacementGroupNotFound")


async def test_what_was_made_for_a_class_goes_with_it(aws: AwsSession, hand_clock: HandClock) -> None:
    """A-3."""
    await fill(aws)
    parts = sources(aws, hand_clock)
    one = AwsNodeClasses(parts, region=REGION, cluster=lambda: CLUSTER)
    resolved = await one.resolve(an_ec2_class(user_data="hi"))
    await parts.templates.launch_templates(an_order(of=resolved))
    await one.clean_up(an_ec2_class())
    assert (await aws.call("ec2", "DescribeLaunchTemplates"))["LaunchTemplates"] == []
    assert (await aws.call("iam", "ListInstanceProfiles"))["InstanceProfiles"] == []


async def test_user_data_of_a_class_arrives_in_ec2(aws: AwsSession, hand_clock: HandClock) -> None:
    """From manifest to template, through everything between."""
    await fill(aws)
    parts = sources(aws, hand_clock)
    node_class = replace(an_ec2_class(user_data="hi"), metadata=ObjectMeta(name="web", uid="1"))
    resolved = await AwsNodeClasses(parts, region=REGION, cluster=lambda: CLUSTER).resolve(node_class)
    (made,) = await parts.templates.launch_templates(an_order(of=resolved))
    found = await aws.call("ec2", "DescribeLaunchTemplateVersions", LaunchTemplateName=made.name)
    data = found["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    assert base64.b64decode(data["UserData"]) == b"hi"
