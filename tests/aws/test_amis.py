"""Which images selectors and aliases find, over the real SDK. Source: spec v1 A-6 … A-9; spec v1alpha5 AWS-61."""

from datetime import UTC, datetime
from typing import Any

import pytest
from moto.core import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends
from moto.ssm.models import Parameter, ssm_backends

from karpenter.aws.amis import Amis, newest
from karpenter.aws.resolved import Ami
from karpenter.aws.session import AwsSession
from karpenter.model import labels
from karpenter.model.aws.aliases import image_parameters
from karpenter.model.requirements import Requirement, Requirements
from karpenter.runtime.clock import LoopClock
from tests.aws.images import an_image
from tests.awsbuilders import REGION, an_aws_node_class, terms

pytestmark = pytest.mark.real_time


@pytest.fixture
def amis(aws: AwsSession, clock: LoopClock) -> Amis:
    return Amis(aws, clock, version=lambda: "1.32")


def publish(path: str, value: str) -> None:
    """Do what only AWS can: write a parameter under /aws/service."""
    parameter = Parameter(
        DEFAULT_ACCOUNT_ID, path, value, parameter_type="String", description="", allowed_pattern=None, keyid=None,
        last_modified_date=datetime(2023, 1, 1, tzinfo=UTC), version=1, data_type="text",
    )  # fmt: skip
    ssm_backends[DEFAULT_ACCOUNT_ID][REGION]._parameters[path] = [parameter]


def ids(found: tuple[Ami, ...]) -> list[str]:
    return [ami.id for ami in found]


def selecting(*selectors: dict[str, Any]) -> Any:
    return an_aws_node_class(ami_terms=terms(*selectors))


async def test_the_newest_image_of_each_architecture_is_found_by_name(aws: AwsSession, amis: Amis) -> None:
    """A-6, A-8."""
    await an_image(aws, "mine-1", created="2023-01-01")
    new = await an_image(aws, "mine-2", created="2023-02-01")
    arm = await an_image(aws, "mine-arm", arch="arm64", created="2023-03-01")
    await an_image(aws, "other", created="2023-04-01")
    found = await amis.find(selecting({"name": "mine-*"}))
    assert ids(found) == [arm, new]
    assert [str(ami.requirements[labels.ARCH]) for ami in found] == [
        "kubernetes.io/arch In [arm64]",
        "kubernetes.io/arch In [amd64]",
    ]


async def test_images_of_strangers_are_not_found_by_name(aws: AwsSession, amis: Amis) -> None:
    """A-6: anybody may give an image a name; whoever is meant must be said."""
    theirs = await an_image(aws, "mine-1")
    ec2_backends[DEFAULT_ACCOUNT_ID][REGION].amis[theirs].owner_id = "999999999999"
    assert await amis.find(selecting({"name": "mine-*"})) == ()
    assert ids(await amis.find(selecting({"name": "mine-*", "owner": "999999999999"}))) == [theirs]


async def test_tags_ids_and_parameters_select_images_together(aws: AwsSession, amis: Amis) -> None:
    """A-6; a tag that is a well-known label says which types an image serves (AWS-61)."""
    tagged = await an_image(aws, "one", discovery="mine", **{labels.INSTANCE_CATEGORY: "m"})
    by_id = await an_image(aws, "two", arch="arm64")
    held = await an_image(aws, "three", **{labels.INSTANCE_CATEGORY: "c"})
    await aws.call("ssm", "PutParameter", Name="/mine/ami", Value=held, Type="String")
    chosen = selecting({"tags": {"discovery": "*"}}, {"id": by_id}, {"ssm_parameter": "/mine/ami"})
    found = await amis.find(chosen)
    assert sorted(ids(found)) == sorted([tagged, by_id, held])
    categories = {ami.id: ami.requirements.allowed(labels.INSTANCE_CATEGORY) for ami in found}
    assert categories[tagged] == Requirement.of(labels.INSTANCE_CATEGORY, "In", ["m"])


async def test_parameters_that_are_missing_or_hold_no_image_are_skipped(aws: AwsSession, amis: Amis) -> None:
    """A-6."""
    await aws.call("ssm", "PutParameter", Name="/mine/text", Value="hello", Type="String")
    assert await amis.find(selecting({"ssm_parameter": "/mine/none"}, {"ssm_parameter": "/mine/text"})) == ()


async def test_an_alias_finds_the_recommended_image_of_every_variant(aws: AwsSession, amis: Amis) -> None:
    """A-7, A-9; variants that are not there are skipped."""
    standard, nvidia = await an_image(aws, "standard"), await an_image(aws, "nvidia", created="2022-01-01")
    paths = [one.path for one in image_parameters("AL2023", "latest", version="1.32")]
    publish(paths[0], standard)
    publish(paths[1], nvidia)
    found = await amis.find(selecting({"alias": "al2023@latest"}))
    arch = Requirement.of(labels.ARCH, "In", ["amd64"])
    count, accelerators = labels.INSTANCE_GPU_COUNT, labels.INSTANCE_ACCELERATOR_COUNT
    absent = (Requirement.of(count, "DoesNotExist"), Requirement.of(accelerators, "DoesNotExist"))
    assert [(ami.name, ami.requirements) for ami in found] == [
        ("standard", Requirements((*absent, arch))),
        ("nvidia", Requirements((Requirement.of(count, "Exists"), arch))),
    ]


async def test_one_image_may_serve_two_variants(aws: AwsSession, amis: Amis) -> None:
    """A-9: AL2's GPU image serves NVIDIA and Neuron."""
    gpu = await an_image(aws, "gpu")
    publish(image_parameters("AL2", "latest", version="1.32")[2].path, gpu)
    assert ids(await amis.find(an_aws_node_class())) == [gpu, gpu]


async def test_no_image_at_all_is_no_error(amis: Amis) -> None:
    assert await amis.find(selecting({"alias": "bottlerocket@1.20.0"})) == ()


def an_ami(name: str, created: str, arch: str = "amd64", *, is_deprecated: bool = False) -> Ami:
    requirements = Requirements((Requirement.of(labels.ARCH, "In", [arch]),))
    return Ami(name, name, requirements, created, is_deprecated=is_deprecated)


def test_a_deprecated_image_is_used_only_where_there_is_no_other() -> None:
    """A-8."""
    found = newest(
        [
            an_ami("old", "2023-01-01"),
            an_ami("deprecated", "2023-02-01", is_deprecated=True),
            an_ami("arm", "2022-01-01", "arm64", is_deprecated=True),
        ]
    )
    assert ids(found) == ["old", "arm"]


def test_images_are_tried_newest_first_and_then_by_id() -> None:
    """A-8."""
    found = newest([an_ami("b", "2023-01-01"), an_ami("a", "2023-01-01", "arm64"), an_ami("c", "2022-01-01", "x")])
    assert ids(found) == ["a", "b", "c"]


def test_of_equal_age_the_lower_id_is_chosen() -> None:
    assert ids(newest([an_ami("b", "2023-01-01"), an_ami("a", "2023-01-01")])) == ["a"]
