"""Machine images for `build_catalog.py`: invented ids and dates, names and parameter paths after the real schemes."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

KUBERNETES = "1.32"
"""Minor version in names and paths: that of the embedded cluster, and the last one with AL2 images."""

ARCHITECTURES = {"amd64": "x86_64", "arm64": "arm64"}


@dataclass(frozen=True, slots=True)
class Release:
    """One of the two generations of a family."""

    generation: int
    """1 is the older one; a node launched from it has drifted once 2 is published."""
    version: str
    created: str


@dataclass(frozen=True, slots=True)
class Variant:
    """One image a family publishes for each release; `{release}` in `name` and `pinned` is filled in."""

    family: str
    variant: str
    arch: str
    name: str
    ssm: str
    """Parameter path without its last two parts (token and `image_id`)."""
    pinned: str
    """Token of a pinned release in the parameter path."""


TOKENS = {"AL2": "recommended", "AL2023": "recommended", "Bottlerocket": "latest"}
OWNERS = {"AL2": "602401143452", "AL2023": "602401143452", "Bottlerocket": "092701018921", "Ubuntu": "099720109477"}
ROOT_DEVICES = {"AL2": "/dev/xvda", "AL2023": "/dev/xvda", "Bottlerocket": "/dev/xvda", "Ubuntu": "/dev/sda1"}
DESCRIPTIONS = {
    "AL2": f"EKS-optimized Kubernetes node, Amazon Linux 2, Kubernetes {KUBERNETES} (simulated)",
    "AL2023": f"EKS-optimized Kubernetes node, Amazon Linux 2023, Kubernetes {KUBERNETES} (simulated)",
    "Bottlerocket": f"Bottlerocket, Kubernetes {KUBERNETES} (simulated)",
    "Ubuntu": f"Ubuntu for EKS, Kubernetes {KUBERNETES} (simulated)",
}
RELEASES = {
    "AL2": (
        Release(1, "v20260916", "2026-09-16T18:04:11.000Z"),
        Release(2, "v20261111", "2026-11-11T18:21:47.000Z"),
    ),
    "AL2023": (
        Release(1, "v20260916", "2026-09-16T18:09:32.000Z"),
        Release(2, "v20261111", "2026-11-11T18:26:05.000Z"),
    ),
    "Bottlerocket": (
        Release(1, "v1.58.0", "2026-09-22T21:40:18.000Z"),
        Release(2, "v1.60.0", "2026-11-17T22:13:54.000Z"),
    ),
    "Ubuntu": (
        Release(1, "20260910", "2026-09-10T06:32:27.000Z"),
        Release(2, "20261105", "2026-11-05T06:41:09.000Z"),
    ),
}


def build_images() -> dict[str, Any]:
    """Return the whole document, in a fixed order."""
    images = [image(variant, release) for variant in variants() for release in RELEASES[variant.family]]
    return {"format": 1, "kubernetes": KUBERNETES, "images": images}


def image(variant: Variant, release: Release) -> dict[str, Any]:
    """Return one record of the data file; its keys are documented in `src/karpenter/catalog/README.md`."""
    name = variant.name.format(release=release.version)
    if variant.family == "Bottlerocket":
        name = f"{name}-{digest(name)[:8]}"
    record = {
        "id": f"ami-0{digest(name)[:16]}",
        "name": name,
        "family": variant.family,
        "variant": variant.variant,
        "arch": variant.arch,
        "generation": release.generation,
        "release": release.version,
        "created": release.created,
        "owner": OWNERS[variant.family],
        "rootDevice": ROOT_DEVICES[variant.family],
        "description": DESCRIPTIONS[variant.family],
    }
    if variant.family != "Ubuntu":
        record["ownerAlias"] = "amazon"
        record["ssm"] = f"{variant.ssm}/{TOKENS[variant.family]}/image_id"
        record["ssmPinned"] = (
            f"{variant.ssm}/{variant.pinned.format(release=release.version.removeprefix('v'))}/image_id"
        )
    else:
        record["ssm"] = f"{variant.ssm}/current/{variant.arch}/hvm/ebs-gp2/ami-id"
        record["ssmPinned"] = f"{variant.ssm}/{release.version}/{variant.arch}/hvm/ebs-gp2/ami-id"
    return record


def digest(text: str) -> str:
    """Return hexadecimal digits that depend on nothing but `text`."""
    return hashlib.sha256(text.encode()).hexdigest()


def variants() -> Iterator[Variant]:
    """Yield what the four families publish."""
    eks = f"/aws/service/eks/optimized-ami/{KUBERNETES}"
    for variant, arch, prefix, path in (
        ("standard", "amd64", "amazon-eks-node", "amazon-linux-2"),
        ("standard", "arm64", "amazon-eks-arm64-node", "amazon-linux-2-arm64"),
        ("gpu", "amd64", "amazon-eks-gpu-node", "amazon-linux-2-gpu"),
    ):
        name = f"{prefix}-{KUBERNETES}-"
        yield Variant("AL2", variant, arch, f"{name}{{release}}", f"{eks}/{path}", f"{name}v{{release}}")
    for arch, names in (("amd64", ("standard", "nvidia", "neuron")), ("arm64", ("standard", "nvidia"))):
        for variant in names:
            name = f"amazon-eks-node-al2023-{ARCHITECTURES[arch]}-{variant}-{KUBERNETES}-"
            path = f"{eks}/amazon-linux-2023/{ARCHITECTURES[arch]}/{variant}"
            yield Variant("AL2023", variant, arch, f"{name}{{release}}", path, f"{name}v{{release}}")
    for variant, suffix in (("standard", ""), ("nvidia", "-nvidia")):
        for arch, ec2_arch in ARCHITECTURES.items():
            name = f"bottlerocket-aws-k8s-{KUBERNETES}{suffix}-{ec2_arch}-{{release}}"
            path = f"/aws/service/bottlerocket/aws-k8s-{KUBERNETES}{suffix}/{ec2_arch}"
            yield Variant("Bottlerocket", variant, arch, name, path, "{release}")
    for arch in ARCHITECTURES:
        name = f"ubuntu-eks/k8s_{KUBERNETES}/images/hvm-ssd/ubuntu-focal-20.04-{arch}-server-{{release}}"
        path = f"/aws/service/canonical/ubuntu/eks/20.04/{KUBERNETES}/stable"
        yield Variant("Ubuntu", "standard", arch, name, path, "")
