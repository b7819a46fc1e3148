"""Which image serves which instance type. Source: spec v1 A-7, A-8."""

from dataclasses import replace

from karpenter.aws.resolved import Ami, PlacementGroup, Reservation, ResolvedNodeClass, SecurityGroup, Subnet
from karpenter.model import labels
from karpenter.model.aws.allocatable import Build
from karpenter.model.aws.drift import SelectedParts
from karpenter.model.aws.instancetypes import InstanceTypeCache
from karpenter.model.aws.settings import DEFAULT_SETTINGS
from karpenter.model.instancetype import InstanceType
from karpenter.model.requirements import Requirement, Requirements
from tests.awsbuilders import REGION, a_record, an_aws_node_class


def a_type(name: str) -> InstanceType:
    made = InstanceTypeCache(REGION, DEFAULT_SETTINGS).resolve([a_record(name)], lambda _: (), Build.of(None, None))
    return made[0]


def an_ami(name: str, arch: str, **operators: str) -> Ami:
    keys = {"gpu": labels.INSTANCE_GPU_COUNT, "accelerator": labels.INSTANCE_ACCELERATOR_COUNT}
    entries = [Requirement.of(keys[key], operator) for key, operator in operators.items()]
    return Ami(f"ami-{name}", name, Requirements((Requirement.of(labels.ARCH, "In", [arch]), *entries)))


def resolved(*amis: Ami) -> ResolvedNodeClass:
    subnets = (Subnet("subnet-2", "us-west-2b", "usw2-az2", 200), Subnet("subnet-1", "us-west-2a", "usw2-az1", 100))
    return ResolvedNodeClass(an_aws_node_class(), subnets, amis=amis)


def test_each_type_boots_from_the_first_image_that_has_its_architecture_and_drivers() -> None:
    """A-7, A-8."""
    one = resolved(
        an_ami("standard", "amd64", gpu="DoesNotExist", accelerator="DoesNotExist"),
        an_ami("nvidia", "amd64", gpu="Exists"),
        an_ami("neuron", "amd64", accelerator="Exists"),
        an_ami("arm", "arm64", gpu="DoesNotExist", accelerator="DoesNotExist"),
    )
    chosen = {name: one.ami_for(a_type(name)) for name in ("m5.large", "g4dn.xlarge", "inf2.xlarge", "m6g.large")}
    names = {name: ami.name if ami else None for name, ami in chosen.items()}
    assert names == {"m5.large": "standard", "g4dn.xlarge": "nvidia", "inf2.xlarge": "neuron", "m6g.large": "arm"}


def test_a_type_that_no_image_serves_has_none() -> None:
    assert resolved(an_ami("standard", "amd64")).ami_for(a_type("m6g.large")) is None


def test_what_machines_would_be_made_of_follows_their_type() -> None:
    """A-51; DEP-31: a launch template of the user's own says nothing of images and groups."""
    one = replace(
        resolved(an_ami("amd", "amd64"), an_ami("arm", "arm64")),
        security_groups=(SecurityGroup("sg-1"),),
        placement_group=PlacementGroup("pg-1", "mine", "spread"),
        reservations=(Reservation("cr-1", "m5.large", "us-west-2a", 1),),
    )
    subnets = frozenset({"subnet-1", "subnet-2"})
    groups, reservations = frozenset({"sg-1"}), frozenset({"cr-1"})
    assert one.parts_for(a_type("m6g.large")) == SelectedParts("ami-arm", subnets, groups, reservations, "pg-1")
    assert one.parts_for(None).image_id is None
    own = replace(one, node_class=an_aws_node_class(launch_template="mine"))
    assert own.parts_for(a_type("m6g.large")) == SelectedParts(None, subnets, None, reservations, "pg-1")


def test_zones_are_those_of_the_subnets() -> None:
    one = resolved()
    assert one.zones == ("us-west-2a", "us-west-2b")
    assert one.zone_ids == {"us-west-2a": "usw2-az1", "us-west-2b": "usw2-az2"}
