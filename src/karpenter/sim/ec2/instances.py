"""Instances: what runs, how it is, tags, and its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpenter.model import labels
from karpenter.model.aws.tags import tag_list
from karpenter.sim.ec2.backend import ACCOUNT_ID, Backend, Handler, Params, Result, refuse_dry_run
from karpenter.sim.ec2.codec.messages import AwsError
from karpenter.sim.ec2.filters import Facts, by_ids, page, select
from karpenter.sim.ec2.network import VPC_ID
from karpenter.sim.ec2.templates import Templates
from karpenter.sim.market.instances import InstanceState, MarketInstance

_STATES: Final[Mapping[InstanceState, tuple[int, str]]] = {
    InstanceState.PENDING: (0, "pending"),
    InstanceState.RUNNING: (16, "running"),
    InstanceState.TERMINATING: (32, "shutting-down"),
    InstanceState.GONE: (48, "terminated"),
}


class Instances:
    """The market's instances under EC2's names."""

    def __init__(self, backend: Backend, templates: Templates) -> None:
        self._backend = backend
        self._templates = templates

    def operations(self) -> Mapping[str, Handler]:
        """Return what it answers."""
        return {
            "ec2:DescribeInstances": self._describe,
            "ec2:DescribeInstanceStatus": self._describe_status,
            "ec2:TerminateInstances": self._terminate,
            "ec2:CreateTags": self._create_tags,
            "ec2:DeleteTags": self._delete_tags,
        }

    def _all(self) -> dict[str, MarketInstance]:
        return {one.id: one for one in self._backend.market.remembered()}

    def _wanted(self, params: Params) -> list[MarketInstance]:
        return by_ids(self._all(), params.get("InstanceIds"), code="InvalidInstanceID.NotFound", what="instance")

    def _describe(self, params: Params) -> Result:
        chosen = select(self._wanted(params), params, self._facts, tags=lambda one: one.tags)
        shown, more = page(chosen, params, key="instances")
        return {"Reservations": [self._reservation(one) for one in shown], **more}

    def _reservation(self, one: MarketInstance) -> Result:
        identity = f"r-{one.id.removeprefix('i-')}"
        return {"ReservationId": identity, "OwnerId": ACCOUNT_ID, "Instances": [self._instance(one)]}

    def _instance(self, one: MarketInstance) -> Result:
        blueprint, is_spot = one.blueprint, one.offering.capacity_type == labels.SPOT
        profile = blueprint.instance_profile
        return {
            "InstanceId": one.id,
            "InstanceType": one.offering.instance_type,
            "ImageId": blueprint.image_id,
            "State": self._state(one),
            "LaunchTime": one.launched_at,
            "ClientToken": one.token,
            "InstanceLifecycle": "spot" if is_spot else None,
            "Placement": {"AvailabilityZone": one.offering.zone, "Tenancy": "default", "GroupName": ""},
            "PrivateDnsName": one.node_name,
            "PrivateIpAddress": one.private_ip,
            "SubnetId": blueprint.subnet_id,
            "VpcId": VPC_ID,
            "SecurityGroups": [
                {"GroupId": identity, "GroupName": identity} for identity in blueprint.security_group_ids
            ],
            "IamInstanceProfile": {"Arn": self._profile_arn(profile)} if profile else None,
            "Architecture": "arm64" if one.boot.arch == "arm64" else "x86_64",
            "Hypervisor": "xen",
            "VirtualizationType": "hvm",
            "RootDeviceType": "ebs",
            "Monitoring": {"State": "disabled"},
            "Tags": tag_list(one.tags),
        }

    def _profile_arn(self, name: str) -> str:
        return self._backend.arn("iam", f"instance-profile/{name}", region="")

    def _state(self, one: MarketInstance) -> Result:
        code, name = _STATES[one.state(self._backend.clock.now())]
        return {"Code": code, "Name": name}

    def _facts(self, one: MarketInstance) -> Facts:
        return {
            "instance-id": (one.id,),
            "instance-state-name": (self._state(one)["Name"],),
            "instance-type": (one.offering.instance_type,),
            "instance-lifecycle": ("spot",) if one.offering.capacity_type == labels.SPOT else (),
            "availability-zone": (one.offering.zone,),
            "client-token": (one.token,),
            "image-id": (one.blueprint.image_id,),
            "subnet-id": (one.blueprint.subnet_id,),
            "vpc-id": (VPC_ID,),
            "private-dns-name": (one.node_name,),
            "private-ip-address": (one.private_ip,),
        }

    def _describe_status(self, params: Params) -> Result:
        everything = params.get("IncludeAllInstances")
        found = [one for one in self._wanted(params) if everything or self._state(one)["Name"] == "running"]
        chosen = select(found, params, self._facts, tags=lambda one: one.tags)
        shown, more = page(chosen, params, key="statuses")
        fine = {"Status": "ok", "Details": [{"Name": "reachability", "Status": "passed"}]}
        statuses = [
            {
                "InstanceId": one.id,
                "AvailabilityZone": one.offering.zone,
                "InstanceState": self._state(one),
                "InstanceStatus": fine,
                "SystemStatus": fine,
                "Events": [],
            }
            for one in shown
        ]
        return {"InstanceStatuses": statuses, **more}

    def _terminate(self, params: Params) -> Result:
        wanted = self._wanted({"InstanceIds": params["InstanceIds"]})
        refuse_dry_run(params)
        changes = []
        for one in wanted:
            before = self._state(one)
            self._backend.market.terminate(one.id)
            after = self._state(self._all()[one.id])
            changes.append({"InstanceId": one.id, "PreviousState": before, "CurrentState": after})
        return {"TerminatingInstances": changes}

    def _create_tags(self, params: Params) -> Result:
        return self._tag(params, {tag["Key"]: tag.get("Value", "") for tag in params["Tags"]})

    def _delete_tags(self, params: Params) -> Result:
        return self._tag(params, dict.fromkeys(tag["Key"] for tag in params.get("Tags") or ()))

    def _tag(self, params: Params, tags: Mapping[str, str | None]) -> Result:
        instances = [identity for identity in params["Resources"] if identity.startswith("i-")]
        by_ids(self._all(), instances, code="InvalidInstanceID.NotFound", what="instance")
        kept = [self._template_tags(identity) for identity in params["Resources"] if identity not in instances]
        refuse_dry_run(params)
        for identity in instances:
            self._backend.market.tag(identity, tags)
        for of_template in kept:
            of_template.update({key: value for key, value in tags.items() if value is not None})
            for key in (key for key, value in tags.items() if value is None):
                of_template.pop(key, None)
        return {}

    def _template_tags(self, identity: str) -> dict[str, str]:
        found = self._templates.tagged(identity)
        if found is None:
            raise AwsError("InvalidID", f"The ID '{identity}' is not valid")
        return found
