"""Builders of resolved node classes and orders for tests, as in `tests.builders`."""

from collections.abc import Sequence
from typing import Any

from karpenter.aws.resolved import Ami, MachineOrder, ResolvedNodeClass, SecurityGroup, Subnet
from karpenter.model import labels
from karpenter.model.aws.allocatable import Build
from karpenter.model.aws.cluster import ClusterFacts
from karpenter.model.aws.instancetypes import InstanceTypeCache
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.settings import DEFAULT_SETTINGS
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.requirements import Requirement, Requirements
from tests.awsbuilders import REGION, a_record, an_aws_node_class
from tests.builders import a_claim

CLUSTER = ClusterFacts("my-cluster", "https://k8s.example", "Q0E=", "1.32", service_cidr="10.100.0.0/16")
ZONE = f"{REGION}a"


def a_type(name: str = "m5.large", *, node_class: AwsNodeClass | None = None) -> InstanceType:
    """Return a type as nodes of a class have it, without offerings."""
    build = Build.of(node_class, None)
    return InstanceTypeCache(REGION, DEFAULT_SETTINGS).resolve([a_record(name)], lambda _: (), build)[0]


def an_ami(identity: str = "ami-1", arch: str = "amd64") -> Ami:
    return Ami(identity, identity, Requirements((Requirement.of(labels.ARCH, "In", [arch]),)), "2023-01-01")


def resolved(node_class: AwsNodeClass | None = None, **fields: Any) -> ResolvedNodeClass:
    """Return a class with a subnet, two security groups, an image for each architecture, and a profile."""
    usual: dict[str, Any] = {
        "subnets": (Subnet("subnet-1", ZONE, "usw2-az1", 100, gives_public_ip=True),),
        "security_groups": (SecurityGroup("sg-1", "one"), SecurityGroup("sg-2", "two")),
        "amis": (an_ami("ami-arm", "arm64"), an_ami("ami-amd")),
        "instance_profile": "nodes",
    }
    return ResolvedNodeClass(node_class or an_aws_node_class(), **(usual | fields))


def an_order(
    *types: str,
    of: ResolvedNodeClass | None = None,
    capacity_type: str = "spot",
    reservation_ids: Sequence[str] = (),
    claim: NodeClaim | None = None,
    **fields: Any,
) -> MachineOrder:
    """Return an order of one offering of each type, or of one for each reservation."""
    chosen = of or resolved()
    offerings = [Offering(ZONE, capacity_type, 1.0, reservation_id=one) for one in reservation_ids]
    options = tuple(
        (a_type(name, node_class=chosen.node_class), offering)
        for name in types or ("m5.large",)
        for offering in offerings or [Offering(ZONE, capacity_type, 1.0)]
    )
    wanted = claim or a_claim(labels={labels.NODEPOOL: "default"})
    return MachineOrder(wanted, chosen, capacity_type, options, **fields)
