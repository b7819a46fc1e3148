"""Where the recommended images of each family are written down: SSM parameters by family, Kubernetes version, release.

Source: spec v1 A-7, A-9; spec v1alpha5 §3.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, cast

from karpenter.model import labels
from karpenter.model.aws.ec2terms import ALIASES
from karpenter.model.aws.families import FAMILIES
from karpenter.model.aws.nodeclass import AmiFamily, AwsNodeClass
from karpenter.model.requirements import Requirement, Requirements

LATEST: Final = "latest"
_EKS: Final = "/aws/service/eks/optimized-ami"
_MACHINES: Final = {"amd64": "x86_64", "arm64": "arm64"}
"""Label value of an architecture to what EC2 calls it."""
_UBUNTU_RELEASES: Final = ("20.04", "22.04")

_ANY: Final = Requirements()
_STANDARD: Final = Requirements((
    Requirement.of(labels.INSTANCE_GPU_COUNT, "DoesNotExist"),
    Requirement.of(labels.INSTANCE_ACCELERATOR_COUNT, "DoesNotExist"),
))  # fmt: skip
_NVIDIA: Final = Requirements((Requirement.of(labels.INSTANCE_GPU_COUNT, "Exists"),))
_NEURON: Final = Requirements((Requirement.of(labels.INSTANCE_ACCELERATOR_COUNT, "Exists"),))


@dataclass(frozen=True, slots=True)
class ImageParameter:
    """One parameter that holds the id of an image, and which types the image serves beside its architecture (A-7)."""

    path: str
    serves: Requirements
    moves: bool
    """Whether what it holds changes, as with `latest`; a pinned release stays."""


def alias_of(node_class: AwsNodeClass) -> tuple[AmiFamily, str] | None:
    """Return family and release that an alias names, or that no selector at all means; None for other selectors."""
    if not node_class.ami_terms:
        return node_class.ami_family, LATEST
    alias = node_class.ami_terms[0].alias
    if not alias:
        return None
    family, _, release = alias.partition("@")
    return cast(AmiFamily, ALIASES[family]), release


def alias_fault(family: AmiFamily, version: str) -> str | None:
    """Return why there are no images of a family for a Kubernetes version; None where there are."""
    minor = int(version.partition(".")[2] or 0)
    if family == "AL2" and minor >= 33:
        return f"there are no AL2 images for Kubernetes {version}, only up to 1.32; use al2023"
    if family == "Windows2025" and minor < 35:
        return f"there are no Windows 2025 images for Kubernetes {version}, only from 1.35 on; use windows2022"
    return None


def image_parameters(family: AmiFamily, release: str, *, version: str) -> tuple[ImageParameter, ...]:
    """Return the parameters of a family's images; some may not exist. `version` is Kubernetes' minor one, `1.32`."""
    found: Iterable[tuple[str, Requirements]] = ()
    moves = release == LATEST
    match family:
        case "AL2":
            found = _al2(version, release)
        case "AL2023":
            found = _al2023(version, release)
        case "Bottlerocket":
            found = _bottlerocket(version, release)
        case "Ubuntu":
            found, moves = _ubuntu(version), True
        case "Windows2019" | "Windows2022" | "Windows2025":
            found, moves = _windows(family, version), True
    return tuple(ImageParameter(path, serves, moves) for path, serves in found)


def _al2(version: str, release: str) -> Iterator[tuple[str, Requirements]]:
    for suffix, serves in (("", _STANDARD), ("-arm64", _STANDARD), ("-gpu", _NVIDIA), ("-gpu", _NEURON)):
        name = f"amazon-eks{suffix}-node-{version}-{release}"
        token = "recommended" if release == LATEST else name
        yield f"{_EKS}/{version}/amazon-linux-2{suffix}/{token}/image_id", serves


def _al2023(version: str, release: str) -> Iterator[tuple[str, Requirements]]:
    variants = (
        ("x86_64", "standard", _STANDARD),
        ("x86_64", "nvidia", _NVIDIA),
        ("x86_64", "neuron", _NEURON),
        ("arm64", "standard", _STANDARD),
        ("arm64", "nvidia", _NVIDIA),
    )
    for machine, variant, serves in variants:
        name = f"amazon-eks-node-al2023-{machine}-{variant}-{version}-{release}"
        token = "recommended" if release == LATEST else name
        yield f"{_EKS}/{version}/amazon-linux-2023/{machine}/{variant}/{token}/image_id", serves


def _bottlerocket(version: str, release: str) -> Iterator[tuple[str, Requirements]]:
    token = LATEST if release == LATEST else release.removeprefix("v")
    # The standard image of x86 brings the Neuron driver too.
    variants = (
        ("", "x86_64", _STANDARD),
        ("", "x86_64", _NEURON),
        ("", "arm64", _STANDARD),
        ("-nvidia", "x86_64", _NVIDIA),
        ("-nvidia", "arm64", _NVIDIA),
    )
    for suffix, machine, serves in variants:
        yield f"/aws/service/bottlerocket/aws-k8s-{version}{suffix}/{machine}/{token}/image_id", serves


def _ubuntu(version: str) -> Iterator[tuple[str, Requirements]]:
    # Canonical publishes each Kubernetes version for one release of Ubuntu: what is not there is skipped.
    for release in _UBUNTU_RELEASES:
        for arch in _MACHINES:
            path = f"/aws/service/canonical/ubuntu/eks/{release}/{version}/stable/current/{arch}/hvm/ebs-gp2/ami-id"
            yield path, _ANY


def _windows(family: AmiFamily, version: str) -> Iterator[tuple[str, Requirements]]:
    year = family.removeprefix("Windows")
    build = Requirement.of(labels.WINDOWS_BUILD, "In", [FAMILIES[family].windows_build or ""])
    path = f"/aws/service/ami-windows-latest/Windows_Server-{year}-English-Core-EKS_Optimized-{version}/image_id"
    yield path, Requirements((build,))


def arch_of(machine: str) -> str | None:
    """Return the label value of an image's architecture, `amd64` for `x86_64`; None for one that no node has."""
    return next((arch for arch, name in _MACHINES.items() if name == machine), None)
