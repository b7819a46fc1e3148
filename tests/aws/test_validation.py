"""Launches are tried out before they are needed, over the real SDK. Source: spec v1 A-16 … A-18."""

from dataclasses import replace
from typing import Any

import pytest

from karpenter.aws.launchtemplates import LaunchTemplates
from karpenter.aws.resolved import Ami, ResolvedNodeClass
from karpenter.aws.session import AwsSession
from karpenter.aws.validation import LaunchValidator
from karpenter.model import labels
from karpenter.model.meta import ObjectMeta
from karpenter.model.requirements import Requirement, Requirements
from tests.aws.canned import CannedEc2
from tests.aws.clocks import HandClock
from tests.aws.resolving import CLUSTER, an_ami, resolved
from tests.awsbuilders import an_aws_node_class

pytestmark = pytest.mark.real_time

MADE = "<launchTemplate><launchTemplateId>lt-1</launchTemplateId></launchTemplate>"
ALLOWED = ("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
DENIED = ("UnauthorizedOperation", "You are not authorized. Encoded authorization failure message: abcDEF_-123")
ALL_ALLOWED: dict[str, Any] = {"CreateLaunchTemplate": MADE, "CreateFleet": ALLOWED, "RunInstances": ALLOWED}


def a_validator(aws: AwsSession, clock: HandClock, **options: Any) -> LaunchValidator:
    return LaunchValidator(aws, LaunchTemplates(aws, clock, cluster=lambda: CLUSTER), clock, **options)


@pytest.fixture
def validator(ec2: CannedEc2, canned_aws: AwsSession, hand_clock: HandClock) -> LaunchValidator:
    return a_validator(canned_aws, hand_clock)


async def test_a_class_whose_launch_is_let_through_is_valid(ec2: CannedEc2, validator: LaunchValidator) -> None:
    """A-16: a real template, then dry runs."""
    ec2.answers = ALL_ALLOWED
    assert (await validator.validate(resolved())).status == "True"
    assert ec2.actions() == ["CreateLaunchTemplate", "CreateFleet", "RunInstances"]
    fleet, instance = ec2.asked[1:]
    assert (fleet["DryRun"], instance["DryRun"]) == ("true", "true")
    assert fleet["LaunchTemplateConfigs.1.Overrides.1.InstanceType"] == instance["InstanceType"] == "m5.large"
    assert fleet["LaunchTemplateConfigs.1.Overrides.1.SubnetId"] == instance["SubnetId"] == "subnet-1"


@pytest.mark.parametrize("operation", ["CreateLaunchTemplate", "CreateFleet", "RunInstances"])
async def test_each_denied_action_has_a_reason_of_its_own_and_names_the_fix(
    ec2: CannedEc2, validator: LaunchValidator, operation: str
) -> None:
    """Issue 8, item 6."""
    ec2.answers = ALL_ALLOWED | {operation: DENIED}
    verdict = await validator.validate(resolved())
    assert (verdict.status, verdict.reason) == ("False", f"{operation}AuthCheckFailed")
    assert verdict.message == (
        f"{operation} is refused (UnauthorizedOperation): You are not authorized; allow it in the controller's IAM "
        "policy, see docs/aws; a launch needs it for its resources and tags, "
        "and iam:PassRole for the role of its profile"
    )


async def test_credentials_that_fail_are_no_verdict(ec2: CannedEc2, validator: LaunchValidator) -> None:
    """They are mended without the class being touched."""
    ec2.answers = ALL_ALLOWED | {"CreateFleet": ("RequestExpired", "Request has expired.")}
    assert (await validator.validate(resolved())).status == "Unknown"
    ec2.answers = ALL_ALLOWED
    assert (await validator.validate(resolved())).status == "True"


async def test_a_verdict_is_kept_for_half_an_hour(
    ec2: CannedEc2, hand_clock: HandClock, validator: LaunchValidator
) -> None:
    """A-16: a refusal too."""
    ec2.answers = ALL_ALLOWED | {"RunInstances": DENIED}
    assert (await validator.validate(resolved())).status == "False"
    ec2.answers = ALL_ALLOWED
    assert (await validator.validate(resolved())).status == "False"
    hand_clock.time += 1800
    assert (await validator.validate(resolved())).status == "True"


async def test_a_class_that_is_touched_is_tried_anew(ec2: CannedEc2, validator: LaunchValidator) -> None:
    """A-18: any annotation will do."""
    ec2.answers = ALL_ALLOWED | {"RunInstances": DENIED}
    await validator.validate(resolved())
    ec2.answers = ALL_ALLOWED
    touched = ObjectMeta(name="default", uid="uid-default", annotations={"try": "again"})
    node_class = replace(an_aws_node_class(), metadata=touched)
    assert (await validator.validate(resolved(node_class))).status == "True"


async def test_what_could_not_be_tried_is_not_known_and_tried_again(ec2: CannedEc2, validator: LaunchValidator) -> None:
    ec2.answers = ALL_ALLOWED | {"CreateFleet": ("InvalidParameterValue", "of no importance")}
    assert (await validator.validate(resolved())).status == "Unknown"
    ec2.answers = ALL_ALLOWED
    assert (await validator.validate(resolved())).status == "True"


async def test_without_dry_runs_only_the_user_data_is_tried(
    ec2: CannedEc2, canned_aws: AwsSession, hand_clock: HandClock
) -> None:
    """A-16: DISABLE_DRY_RUN."""
    validator = a_validator(canned_aws, hand_clock, makes_dry_runs=False)
    assert (await validator.validate(resolved())).status == "True"
    broken = resolved(an_aws_node_class("broken", family="Bottlerocket", user_data="[settings"))
    assert (await validator.validate(broken)).reason == "LaunchFailed"
    assert ec2.asked == []


async def test_user_data_that_is_too_large_is_found_before_anybody_launches(validator: LaunchValidator) -> None:
    """Spec v1 §1.8."""
    large = resolved(an_aws_node_class(family="Custom", user_data="x" * 16385))
    assert (await validator.validate(large)).reason == "UserDataSizeLimitExceeded"


def needing(label: str, value: str) -> ResolvedNodeClass:
    requirements = Requirements((Requirement.of(label, "In", [value]), Requirement.of(labels.ARCH, "In", ["amd64"])))
    return resolved(amis=(Ami("ami-1", requirements=requirements),))


@pytest.mark.parametrize(
    "one, chosen",
    [
        (resolved(amis=(an_ami("ami-arm", "arm64"),)), "m6g.large"),
        (needing(labels.INSTANCE_GPU_MANUFACTURER, "nvidia"), None),
    ],
)
async def test_what_is_tried_is_a_type_that_the_images_serve(
    ec2: CannedEc2, validator: LaunchValidator, one: ResolvedNodeClass, chosen: str | None
) -> None:
    """A-17."""
    ec2.answers = ALL_ALLOWED
    assert (await validator.validate(one)).status == "True"
    tried = ec2.asked[-1]["InstanceType"]
    assert tried == (chosen or tried)


async def test_images_that_no_type_can_boot_are_said_to_be_so(validator: LaunchValidator) -> None:
    verdict = await validator.validate(needing(labels.INSTANCE_CATEGORY, "none"))
    assert (verdict.status, verdict.reason) == ("False", "AMINotFound")


async def test_named_interfaces_have_the_subnet_that_the_instance_would(
    ec2: CannedEc2, validator: LaunchValidator
) -> None:
    """EC2 refuses a subnet beside interfaces."""
    ec2.answers = ALL_ALLOWED
    await validator.validate(resolved(an_aws_node_class(associate_public_ip=True)))
    instance = ec2.asked[-1]
    assert "SubnetId" not in instance
    assert instance["NetworkInterface.1.SubnetId"] == "subnet-1"
