"""Launch templates come and go, over the real SDK. Source: spec v1 A-3, A-39; spec v1alpha5 AWS-49, AWS-55, AWS-57."""

import asyncio
import base64
from typing import Any

import pytest

from karpenter.aws.launchtemplates import LaunchTemplates
from karpenter.aws.session import AwsSession
from karpenter.cloud.errors import LaunchError
from karpenter.model import labels
from tests.aws.clocks import HandClock
from tests.aws.resolving import CLUSTER, a_type, an_ami, an_order, resolved
from tests.awsbuilders import a_kubelet, an_aws_node_class
from tests.builders import a_claim

pytestmark = pytest.mark.real_time


@pytest.fixture
def templates(aws: AwsSession, hand_clock: HandClock) -> LaunchTemplates:
    return LaunchTemplates(aws, hand_clock, cluster=lambda: CLUSTER, tags={"everywhere": "yes"})


async def existing(aws: AwsSession) -> dict[str, dict[str, str]]:
    """Return the tags of each template in EC2, by name."""
    found = (await aws.call("ec2", "DescribeLaunchTemplates"))["LaunchTemplates"]
    return {one["LaunchTemplateName"]: {tag["Key"]: tag["Value"] for tag in one["Tags"]} for one in found}


async def data_of(aws: AwsSession, name: str) -> dict[str, Any]:
    found = await aws.call("ec2", "DescribeLaunchTemplateVersions", LaunchTemplateName=name)
    return found["LaunchTemplateVersions"][0]["LaunchTemplateData"]


async def test_types_that_differ_in_image_or_pods_get_templates_of_their_own(
    aws: AwsSession, templates: LaunchTemplates
) -> None:
    """A-39, AWS-72: the number of pods is in the user data."""
    order = an_order("m5.large", "c5.large", "m5.xlarge", "m6g.large")
    made = await templates.launch_templates(order)
    served = {(one.image_id, tuple(found.name for found, _ in one.options)) for one in made}
    assert served == {
        ("ami-amd", ("m5.large", "c5.large")),
        ("ami-amd", ("m5.xlarge",)),
        ("ami-arm", ("m6g.large",)),
    }
    data = await data_of(aws, made[0].name)
    assert "--max-pods=29" in base64.b64decode(data["UserData"]).decode()
    assert all(one.name.startswith("karpenter.k8s.aws/") for one in made)


async def test_a_fixed_number_of_pods_makes_one_template_of_all_types(templates: LaunchTemplates) -> None:
    """A-39: equal content is one template."""
    one = resolved(an_aws_node_class(kubelet=a_kubelet(max_pods=20)), amis=(an_ami(),))
    made = await templates.launch_templates(an_order("m5.large", "m5.xlarge", "c5.4xlarge", of=one))
    assert [len(template.options) for template in made] == [3]


async def test_each_reservation_has_a_template_of_its_own(aws: AwsSession, templates: LaunchTemplates) -> None:
    """A-39, A-40."""
    order = an_order("m5.large", capacity_type=labels.RESERVED, reservation_ids=("cr-1", "cr-2"))
    made = await templates.launch_templates(order)
    assert [[offering.reservation_id for _, offering in one.options] for one in made] == [["cr-1"], ["cr-2"]]


async def test_templates_carry_the_tags_of_what_is_launched_and_their_cluster(
    aws: AwsSession, templates: LaunchTemplates
) -> None:
    """A-46, AWS-55."""
    one = resolved(an_aws_node_class(tags={"team": "red", "everywhere": "no"}))
    (made,) = await templates.launch_templates(an_order(of=one))
    assert (await existing(aws))[made.name] == {
        "everywhere": "no",
        "team": "red",
        "karpenter.sh/nodepool": "default",
        "kubernetes.io/cluster/my-cluster": "owned",
        "eks:eks-cluster-name": "my-cluster",
        "karpenter.k8s.aws/ec2nodeclass": "default",
        "karpenter.k8s.aws/cluster": "my-cluster",
    }


async def test_claims_of_one_pool_share_a_template_also_when_they_come_at_once(
    aws: AwsSession, templates: LaunchTemplates
) -> None:
    """A-39."""
    claims = [a_claim(f"claim-{number}", labels={labels.NODEPOOL: "default"}) for number in range(20)]
    made = await asyncio.gather(*(templates.launch_templates(an_order(claim=claim)) for claim in claims))
    assert len({template.name for one in made for template in one}) == len(await existing(aws)) == 1


async def test_a_template_of_an_earlier_process_is_used_and_in_the_end_deleted(
    aws: AwsSession, hand_clock: HandClock, templates: LaunchTemplates
) -> None:
    """AWS-55."""
    (made,) = await templates.launch_templates(an_order())
    later = LaunchTemplates(aws, hand_clock, cluster=lambda: CLUSTER, tags={"everywhere": "yes"})
    await later.adopt()
    assert await later.launch_templates(an_order()) == (made,)
    hand_clock.time += 60
    await later.delete_unused()
    assert await existing(aws) == {}


async def test_a_template_made_by_somebody_at_the_same_moment_is_used(
    aws: AwsSession, hand_clock: HandClock, templates: LaunchTemplates
) -> None:
    """Its name is its content."""
    other = LaunchTemplates(aws, hand_clock, cluster=lambda: CLUSTER, tags={"everywhere": "yes"})
    assert await other.launch_templates(an_order()) == await templates.launch_templates(an_order())


async def test_a_template_is_deleted_a_minute_after_its_last_use(
    aws: AwsSession, hand_clock: HandClock, templates: LaunchTemplates
) -> None:
    """A-39: each use begins the minute anew."""
    await templates.launch_templates(an_order())
    hand_clock.time += 59
    await templates.launch_templates(an_order())
    hand_clock.time += 59
    await templates.delete_unused()
    assert len(await existing(aws)) == 1
    hand_clock.time += 1
    await templates.delete_unused()
    assert await existing(aws) == {}


async def test_a_template_that_is_gone_is_made_anew_once_it_is_forgotten(
    aws: AwsSession, templates: LaunchTemplates
) -> None:
    """AWS-49."""
    (made,) = await templates.launch_templates(an_order())
    await aws.call("ec2", "DeleteLaunchTemplate", LaunchTemplateName=made.name)
    templates.forget(made.name)
    await templates.launch_templates(an_order())
    assert list(await existing(aws)) == [made.name]


async def test_templates_of_a_class_that_goes_are_deleted(aws: AwsSession, templates: LaunchTemplates) -> None:
    """A-3."""
    await templates.launch_templates(an_order())
    (kept,) = await templates.launch_templates(an_order(of=resolved(an_aws_node_class("other"))))
    await templates.delete_of("default")
    assert list(await existing(aws)) == [kept.name]


async def test_a_launch_template_of_the_users_own_is_used_untouched(
    aws: AwsSession, templates: LaunchTemplates
) -> None:
    """AWS-57."""
    one = resolved(an_aws_node_class(launch_template="mine"), amis=(), security_groups=(), instance_profile="")
    order = an_order("m5.large", "m6g.large", of=one)
    (made,) = await templates.launch_templates(order)
    assert (made.name, made.image_id, made.options) == ("mine", "", order.options)
    assert await existing(aws) == {}


async def test_types_without_an_image_are_left_out(templates: LaunchTemplates) -> None:
    """AWS-61."""
    order = an_order("m5.large", "m6g.large", of=resolved(amis=(an_ami(),)))
    made = await templates.launch_templates(order)
    assert [found.name for one in made for found, _ in one.options] == ["m5.large"]


async def test_user_data_that_cannot_be_merged_fails_the_launch_and_names_the_class(
    templates: LaunchTemplates,
) -> None:
    """AWS-75."""
    one = resolved(an_aws_node_class(family="Bottlerocket", user_data="[settings"))
    with pytest.raises(LaunchError, match="node class 'default': userData of family Bottlerocket cannot be merged"):
        await templates.launch_templates(an_order(of=one))


def test_a_type_of_the_builders_has_the_pods_of_its_interfaces() -> None:
    """TV-49: what the tests above rest on."""
    assert a_type("m5.large").capacity["pods"] == 29
