"""Templates and fleets for the tests of launches."""

import base64
from typing import Any

from tests.sim.ec2.endpoints import Aws

AMI = "/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id"
GROUP = "sg-0a01d256d64c82063"
SUBNETS = {"us-west-2a": "subnet-0c0fb3ff1f81ca381", "us-west-2b": "subnet-0fb95380021a8f91e"}
JOINING = """#!/bin/bash -xe
/etc/eks/bootstrap.sh 'simulated' --apiserver-endpoint 'https://127.0.0.1' --b64-cluster-ca 'Y2E=' \\
--use-max-pods false \\
--kubelet-extra-args '--node-labels="team=web,karpenter.sh/capacity-type=spot" \
--register-with-taints="karpenter.sh/unregistered=:NoExecute" --max-pods=20 --system-reserved="cpu=100m"'
"""


async def a_template(aws: Aws, name: str = "one", *, user_data: str = JOINING, **data: Any) -> str:
    """Make a launch template; return its id."""
    image = (await aws.call("ssm", "get_parameter", Name=AMI))["Parameter"]["Value"]
    content = {
        "ImageId": image,
        "UserData": base64.b64encode(user_data.encode()).decode(),
        "SecurityGroupIds": [GROUP],
        **data,
    }
    made = await aws.call("ec2", "create_launch_template", LaunchTemplateName=name, LaunchTemplateData=content)
    return made["LaunchTemplate"]["LaunchTemplateId"]


def fleet(
    *types: str,
    template: str = "one",
    count: int = 1,
    capacity_type: str = "spot",
    zones: tuple[str, ...] = tuple(SUBNETS),
    **given: Any,
) -> dict[str, Any]:
    """Return a request for an instant fleet."""
    overrides = [{"InstanceType": name, "SubnetId": SUBNETS[zone]} for name in types for zone in SUBNETS]
    return {
        "Type": "instant",
        "LaunchTemplateConfigs": [
            {
                "LaunchTemplateSpecification": {"LaunchTemplateName": template, "Version": "$Latest"},
                "Overrides": overrides,
            }
        ],
        "TargetCapacitySpecification": {"TotalTargetCapacity": count, "DefaultTargetCapacityType": capacity_type},
        "SpotOptions": {"AllocationStrategy": "price-capacity-optimized"},
        "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "team", "Value": "web"}]}],
        **given,
    }


def ids(answer: dict[str, Any]) -> list[str]:
    """Return the instances of a fleet."""
    return [identity for group in answer["Instances"] for identity in group["InstanceIds"]]


def errors(answer: dict[str, Any]) -> set[tuple[str, str]]:
    """Return code and instance type of each error of a fleet."""
    return {
        (one["ErrorCode"], one["LaunchTemplateAndOverrides"]["Overrides"]["InstanceType"]) for one in answer["Errors"]
    }
