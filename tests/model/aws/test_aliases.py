"""Where recommended images are written down. Source: spec v1 A-9, spec v1alpha5 §3.8."""

import pytest

from karpenter.model.aws.aliases import alias_fault, alias_of, image_parameters
from karpenter.model.aws.catalog import load_aws_catalog
from tests.awsbuilders import an_aws_node_class, terms


def paths(family: str, release: str = "latest", version: str = "1.32") -> list[str]:
    return [one.path for one in image_parameters(family, release, version=version)]


def test_paths_of_every_family() -> None:
    eks = "/aws/service/eks/optimized-ami/1.32"
    gpu = f"{eks}/amazon-linux-2-gpu/recommended/image_id"
    assert paths("AL2") == [
        f"{eks}/amazon-linux-2/recommended/image_id",
        f"{eks}/amazon-linux-2-arm64/recommended/image_id",
        gpu,
        gpu,
    ]
    assert paths("AL2", "v20240101")[1] == f"{eks}/amazon-linux-2-arm64/amazon-eks-arm64-node-1.32-v20240101/image_id"
    assert paths("AL2023")[2] == f"{eks}/amazon-linux-2023/x86_64/neuron/recommended/image_id"
    pinned = "amazon-eks-node-al2023-arm64-nvidia-1.32-v20240101"
    assert paths("AL2023", "v20240101")[4] == f"{eks}/amazon-linux-2023/arm64/nvidia/{pinned}/image_id"
    assert paths("Bottlerocket")[0] == "/aws/service/bottlerocket/aws-k8s-1.32/x86_64/latest/image_id"
    assert paths("Bottlerocket", "v1.20.0")[4] == "/aws/service/bottlerocket/aws-k8s-1.32-nvidia/arm64/1.20.0/image_id"
    windows = "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.32/image_id"
    assert paths("Windows2022") == [windows]
    ubuntu = "/aws/service/canonical/ubuntu/eks/20.04/1.32/stable/current/arm64/hvm/ebs-gp2/ami-id"
    assert paths("Ubuntu")[1] == ubuntu
    assert paths("Custom") == []


def test_every_image_of_the_simulated_cloud_is_where_its_family_is_looked_for() -> None:
    """The catalogue was written by other hands: both spellings of each path must agree."""
    catalog = load_aws_catalog()
    families = {image.family for image in catalog.images} & {"AL2", "AL2023", "Bottlerocket"}
    looked_for = {path for family in families for path in paths(family, version=catalog.kubernetes)}
    pinned = {path for image in catalog.images for path in paths(image.family, image.release, catalog.kubernetes)}
    listed = [image for image in catalog.images if image.family in families]
    assert [image.ssm for image in listed if image.ssm and image.ssm not in looked_for] == []
    assert [image.ssm_pinned for image in listed if image.ssm_pinned and image.ssm_pinned not in pinned] == []


def test_without_a_selector_the_familys_recommended_images_are_meant() -> None:
    assert alias_of(an_aws_node_class(family="Ubuntu")) == ("Ubuntu", "latest")
    aliased = an_aws_node_class(family="Custom", ami_terms=terms({"alias": "bottlerocket@v1.20.0"}))
    assert alias_of(aliased) == ("Bottlerocket", "v1.20.0")
    assert alias_of(an_aws_node_class(ami_terms=terms({"id": "ami-1"}))) is None


@pytest.mark.parametrize(
    "family, version, is_there",
    [("AL2", "1.32", True), ("AL2", "1.33", False), ("Windows2025", "1.34", False), ("Windows2025", "1.35", True)],
)
def test_some_families_have_images_only_for_some_versions(family: str, version: str, is_there: bool) -> None:
    """Spec v1 §1.8: UnsupportedAlias."""
    assert (alias_fault(family, version) is None) == is_there
