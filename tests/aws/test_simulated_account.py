"""Node classes mean on the simulated AWS, through the SDK, what they mean to the simulated cloud itself."""

from typing import Any

import pytest

from karpenter.aws.nodeclass import AwsNodeClasses
from karpenter.aws.session import AwsSession
from karpenter.aws.validation import LaunchValidator
from karpenter.model.aws.catalog import load_aws_catalog
from karpenter.model.aws.classstatus import problems, rolled_up
from karpenter.model.aws.ec2nodeclass import decode_ec2_node_class
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.sim.ec2.backend import ACCESS_KEY
from karpenter.sim.market.images import choose_images
from tests.aws.clocks import HandClock
from tests.aws.resolving import CLUSTER, a_type
from tests.aws.sources import sources
from tests.awsbuilders import REGION, a_record, an_aws_node_class, terms
from tests.builders import an_ec2_node_class
from tests.sim.ec2.endpoints import an_account

pytestmark = pytest.mark.real_time

TYPES = ("m5.large", "m6g.large", "g4dn.xlarge", "inf2.xlarge", "c5.xlarge")


def choosing(**fields: Any) -> AwsNodeClass:
    return an_aws_node_class(instance_profile="nodes", **fields)


@pytest.fixture
def accepted(credentials: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The credentials that the simulated account accepts."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)


@pytest.mark.parametrize(
    "node_class",
    [
        choosing(family="AL2"),
        choosing(family="AL2023", ami_terms=terms({"alias": "al2023@latest"})),
        choosing(family="Bottlerocket"),
    ],
    ids=["AL2", "AL2023", "Bottlerocket"],
)
async def test_each_type_boots_from_the_image_that_the_simulated_cloud_would_take(
    node_class: AwsNodeClass, hand_clock: HandClock, accepted: None
) -> None:
    """A-7 … A-9: parameters, images and variants, found by two implementations that share nothing."""
    async with an_account() as account:
        aws = AwsSession(region=REGION, endpoint_url=account.endpoint.url)
        one = AwsNodeClasses(sources(aws, hand_clock), region=REGION, cluster=lambda: CLUSTER)
        resolved = await one.resolve(node_class)
        catalog, generation = load_aws_catalog(), account.market.image_generation
        aws.close()
    simulated = choose_images(catalog.images, node_class, generation=generation)
    expected = {name: simulated.for_type(a_record(name)) for name in TYPES}
    found = {name: resolved.ami_for(a_type(name)) for name in TYPES}
    assert {name: ami.id if ami else None for name, ami in found.items()} == {
        name: image.id if image else None for name, image in expected.items()
    }
    assert resolved.zones == account.market.account.zones
    assert len(resolved.security_groups) == len(account.market.account.security_groups)


async def test_bad_credentials_are_one_clear_message_and_mended_by_better_ones(
    hand_clock: HandClock, credentials: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 8, acceptance."""
    async with an_account() as account:
        aws = AwsSession(region=REGION, endpoint_url=account.endpoint.url)
        one = AwsNodeClasses(sources(aws, hand_clock), region=REGION, cluster=lambda: CLUSTER)
        report = await one.inspect(choosing())
        aws.close()
        assert {found.status for found in report.conditions} == {"False", "True"}
        why = problems(report.conditions)
        assert why.count("AWS does not accept the credentials (AuthFailure)") == 1
        assert "check the role of the service account" in why
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        better = AwsSession(region=REGION, endpoint_url=account.endpoint.url)
        again = AwsNodeClasses(sources(better, hand_clock), region=REGION, cluster=lambda: CLUSTER)
        assert problems((await again.inspect(choosing())).conditions) == ""
        better.close()


@pytest.mark.parametrize("public", [None, True], ids=["groups", "interfaces"])
async def test_a_launch_is_tried_out_where_it_would_be_made(
    hand_clock: HandClock, accepted: None, public: bool | None
) -> None:
    """A-16: what dry runs send is what EC2 takes."""
    async with an_account() as account:
        aws = AwsSession(region=REGION, endpoint_url=account.endpoint.url)
        parts = sources(aws, hand_clock)
        one = AwsNodeClasses(parts, region=REGION, cluster=lambda: CLUSTER)
        resolved = await one.resolve(choosing(associate_public_ip=public))
        verdict = await LaunchValidator(aws, parts.templates, hand_clock).validate(resolved)
        aws.close()
    assert (verdict.status, verdict.message) == ("True", "")
    assert account.market.instances() == ()


async def test_a_manifest_of_an_ec2_node_class_becomes_ready_with_all_that_it_needs(
    hand_clock: HandClock, accepted: None
) -> None:
    """A-1: profile from the role, images from the alias, a launch tried out."""
    async with an_account() as account:
        cluster = account.backend.cluster
        aws = AwsSession(region=REGION, endpoint_url=account.endpoint.url)
        parts = sources(aws, hand_clock, cluster=cluster)
        validator = LaunchValidator(aws, parts.templates, hand_clock)
        one = AwsNodeClasses(parts, region=REGION, cluster=lambda: cluster, validator=validator)
        report = await one.inspect(decode_ec2_node_class(an_ec2_node_class()))
        aws.close()
    ready = next(found for found in rolled_up(report.conditions, ()) if found.type == "Ready")
    assert (ready.status, ready.message) == ("True", "")
    assert str(report.found["instanceProfile"]).startswith(f"{cluster.name}_")
