"""Which image instances boot from (spec v1alpha5 §3.8, AWS-61; spec v1 A-7 … A-9)."""

from typing import Any

import pytest

from karpenter.model.aws.catalog import Image, load_aws_catalog
from karpenter.sim.market.images import choose_images
from tests.awsbuilders import a_record, an_aws_node_class, terms

IMAGES = load_aws_catalog().images


def chosen(instance_type: str, *given: dict[str, Any], family: str = "AL2", generation: int = 2) -> Image | None:
    node_class = an_aws_node_class(family=family, ami_terms=terms(*given))
    return choose_images(IMAGES, node_class, generation=generation).for_type(a_record(instance_type))


def facts(image: Image | None) -> tuple[str, str, str] | None:
    return None if image is None else (image.family, image.variant, image.arch)


@pytest.mark.parametrize(
    "family, instance_type, expected",
    [
        ("AL2", "m5.large", ("AL2", "standard", "amd64")),
        ("AL2", "m6g.large", ("AL2", "standard", "arm64")),
        ("AL2", "g4dn.xlarge", ("AL2", "gpu", "amd64")),
        ("AL2", "inf1.2xlarge", ("AL2", "gpu", "amd64")),
        ("AL2", "g5g.xlarge", ("AL2", "standard", "arm64")),
        ("AL2023", "g4dn.xlarge", ("AL2023", "nvidia", "amd64")),
        ("AL2023", "g5g.xlarge", ("AL2023", "nvidia", "arm64")),
        ("AL2023", "trn1.2xlarge", ("AL2023", "neuron", "amd64")),
        ("Bottlerocket", "g4dn.xlarge", ("Bottlerocket", "nvidia", "amd64")),
        ("Bottlerocket", "inf1.2xlarge", ("Bottlerocket", "standard", "amd64")),
        ("Ubuntu", "m6g.large", ("Ubuntu", "standard", "arm64")),
        ("Windows2022", "m5.large", None),
        ("Custom", "m5.large", None),
    ],
)
def test_a_family_recommends_an_image_per_architecture_and_devices(
    family: str, instance_type: str, expected: tuple[str, str, str] | None
) -> None:
    """§3.8."""
    assert facts(chosen(instance_type, family=family)) == expected


def test_the_newest_image_that_is_out_is_recommended() -> None:
    first, second = (chosen("m5.large", generation=generation) for generation in (1, 2))
    assert first is not None
    assert second is not None
    assert (first.generation, second.generation) == (1, 2)
    assert first.created < second.created


def test_an_id_selects_one_image_and_types_of_other_architectures_have_none() -> None:
    """AWS-61: such types are dropped."""
    arm = chosen("m6g.large")
    assert arm is not None
    assert chosen("m6g.large", {"id": arm.id}) == arm
    assert chosen("m5.large", {"id": arm.id}) is None


def test_an_image_that_is_not_out_cannot_be_selected() -> None:
    newest = chosen("m5.large")
    assert newest is not None
    assert chosen("m5.large", {"id": newest.id}, generation=1) is None


def test_a_name_pattern_selects_among_images_of_the_default_owners_the_newest_first() -> None:
    """AWS-61."""
    found = chosen("m5.large", {"name": "amazon-eks-node-1.32-*"})
    assert found == chosen("m5.large")
    assert chosen("m5.large", {"name": "ubuntu-eks/*"}, family="Ubuntu") is None
    assert facts(chosen("m5.large", {"name": "ubuntu-eks/*", "owner": "099720109477"}, family="Ubuntu")) == (
        "Ubuntu",
        "standard",
        "amd64",
    )


def test_images_selected_one_by_one_ignore_devices() -> None:
    """AWS-61: only the architecture decides."""
    pinned = chosen("m5.large")
    assert pinned is not None
    assert chosen("g4dn.xlarge", {"id": pinned.id}) == pinned


@pytest.mark.parametrize("family, expected", [("Bottlerocket", "Bottlerocket"), ("Custom", "AL2023")])
def test_any_discovery_tag_selects_images_of_the_family(family: str, expected: str) -> None:
    found = chosen("m5.large", {"tags": {"karpenter.sh/discovery": "my-cluster"}}, family=family)
    assert found is not None
    assert found.family == expected


def test_other_tags_select_nothing() -> None:
    assert chosen("m5.large", {"tags": {"team": "web"}}) is None


def test_an_alias_selects_by_family_release_and_devices() -> None:
    """Spec v1 §1.8, A-9."""
    latest = chosen("g4dn.xlarge", {"alias": "al2023@latest"}, family="AL2023")
    assert facts(latest) == ("AL2023", "nvidia", "amd64")
    pinned = chosen("m5.large", {"alias": "bottlerocket@v1.58.0"}, family="Bottlerocket")
    assert pinned is not None
    assert pinned.generation == 1


def test_a_parameter_selects_the_image_it_holds() -> None:
    newest, older = chosen("m5.large"), chosen("m5.large", generation=1)
    assert newest is not None
    assert older is not None
    assert chosen("m5.large", {"ssm_parameter": newest.ssm}) == newest
    assert chosen("m5.large", {"ssm_parameter": newest.ssm}, generation=1) == older
    assert chosen("m5.large", {"ssm_parameter": older.ssm_pinned}) == older
