"""What a new node registers as (spec v1alpha5 AWS-72, AWS-74; spec v1 A-41, A-49)."""

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.aws.machinelabels import instance_labels
from karpenter.model.instancetype import InstanceType
from karpenter.model.requirements import Requirements
from karpenter.runtime.clock import LoopClock
from karpenter.sim.market.instances import MarketInstance
from tests.awsbuilders import SEED_KUBELET
from tests.builders import an_instance_type, requirements_of
from tests.sim.cloud.clouds import a_cloud, a_small_claim

KEY = OfferingKey("m.4", "a", "spot")


async def the_seeds_instance(clock: LoopClock) -> MarketInstance:
    cloud = a_cloud(clock, kubelet=SEED_KUBELET)
    claim = a_small_claim(
        types=("c5.xlarge",),
        kinds=("on-demand",),
        zones=("us-west-2a",),
        labels={"billing-team": "my-team", "node-restriction.kubernetes.io/tier": "gold", "example.k8s.io/x": "y"},
        taints=["example.com/special-taint:NoSchedule"],
        startup_taints=["example.com/another-taint:NoSchedule"],
    )
    await cloud.create(claim)
    return cloud.market.instances()[0]


async def test_the_kubelet_is_told_the_claims_labels_less_those_it_may_not_set(clock: LoopClock) -> None:
    """AWS-74, A-49."""
    instance = await the_seeds_instance(clock)
    told = {key: value for key, value in instance.boot.labels.items() if "kubernetes.io" not in key}
    assert told == {
        "billing-team": "my-team",
        "karpenter.sh/capacity-type": "on-demand",
        "karpenter.sh/provisioner-name": "default",
        "topology.ebs.csi.aws.com/zone": "us-west-2a",
    }


async def test_a_node_finds_out_its_name_type_place_and_platform(clock: LoopClock) -> None:
    instance = await the_seeds_instance(clock)
    assert {
        labels.HOSTNAME: instance.node_name,
        labels.INSTANCE_TYPE: "c5.xlarge",
        labels.ZONE: "us-west-2a",
        labels.REGION: "us-west-2",
        labels.OS: "linux",
        labels.ARCH: "amd64",
        "beta.kubernetes.io/os": "linux",
        "failure-domain.beta.kubernetes.io/zone": "us-west-2a",
    }.items() <= instance.node_labels().items()


async def test_a_node_registers_with_the_unregistered_taint_the_claims_and_its_startup_taints(clock: LoopClock) -> None:
    """AWS-72, A-41."""
    instance = await the_seeds_instance(clock)
    assert [str(taint) for taint in instance.boot.taints] == [
        "karpenter.sh/unregistered:NoExecute",
        "example.com/special-taint:NoSchedule",
        "example.com/another-taint:NoSchedule",
    ]


async def test_a_node_has_what_its_type_promised(clock: LoopClock) -> None:
    boot = (await the_seeds_instance(clock)).boot
    assert boot.allocatable == {
        "cpu": 3700,
        "memory": 7211057152,
        "ephemeral-storage": 13 * 2**30,
        "pods": 8,
    }
    assert (boot.volume_limits, boot.os_image, boot.kubelet_version) == (
        {"ebs.csi.aws.com": 26},
        "Amazon Linux 2",
        "v1.32.0",
    )


def of(found: InstanceType, **wanted: tuple[str, ...]) -> dict[str, str]:
    requirements = {getattr(labels, name): values for name, values in wanted.items()}
    return instance_labels(found, requirements_of(requirements), KEY)


def test_labels_are_the_single_values_that_type_and_claim_leave() -> None:
    """LIF-3."""
    found = an_instance_type("m.4", labels={"size": "small"})
    assert of(found) == {
        labels.INSTANCE_TYPE: "m.4",
        labels.ZONE: "a",
        labels.CAPACITY_TYPE: "spot",
        labels.ARCH: "amd64",
        labels.OS: "linux",
        "size": "small",
    }


def test_a_choice_of_systems_falls_to_what_the_claim_wants_and_else_to_linux() -> None:
    several = requirements_of({labels.OS: ("darwin", "linux", "windows"), "colour": ("red", "blue")})
    found = InstanceType("m.4", Requirements(several.values()), (), {}, {})
    assert of(found)[labels.OS] == "linux"
    assert of(found, OS=("windows",))[labels.OS] == "windows"
    assert "colour" not in of(found)
