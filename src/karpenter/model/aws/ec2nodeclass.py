"""EC2NodeClass to the hub's node class.

Source: spec v1 §1.8, A-30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal, cast

from karpenter.model import labels
from karpenter.model.aws.devices import VolumeRules, read_block_devices, read_metadata_options
from karpenter.model.aws.ec2network import check_connection_tracking, check_cpu_options, check_network_interfaces
from karpenter.model.aws.ec2terms import (
    ALIASES,
    check_placement_group,
    check_reservation_terms,
    read_image_terms,
    read_security_group_terms,
    read_subnet_terms,
)
from karpenter.model.aws.hashes import HASH_VERSION, ec2_node_class_hash
from karpenter.model.aws.nodeclass import AmiFamily, AwsNodeClass, BlockDevice, MetadataOptions, SelectorTerm
from karpenter.model.envelope import open_envelope, read_conditions
from karpenter.model.kubelet import read_kubelet
from karpenter.model.nodepool import KubeletConfiguration
from karpenter.model.reading import INT32_MAX, Reader

API_VERSION: Final = "karpenter.k8s.aws/v1"
KIND: Final = "EC2NodeClass"

FAMILIES: Final = ("AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022", "Windows2025", "Custom")
VOLUMES: Final = VolumeRules(smallest=2**30, largest=64 * 2**40, names_root=True)
MOST_DEVICES: Final = 50
_DEFAULT_METADATA: Final = MetadataOptions(http_protocol_ipv6="disabled", http_put_response_hop_limit=1)
RESERVED_TAGS: Final = re.compile(
    r"eks:eks-cluster-name|kubernetes\.io/cluster.*|karpenter\.sh/node(pool|claim)|karpenter\.k8s\.aws/ec2nodeclass",
    re.DOTALL,
)
_KEPT: Final = (
    "capacityReservationSelectorTerms",
    "placementGroupSelector",
    "ipPrefixCount",
    "networkInterfaces",
    "connectionTracking",
    "cpuOptions",
)


def decode_ec2_node_class(raw: object, *, ca_bundle: str = "") -> AwsNodeClass:
    """Return the node class that an EC2NodeClass manifest describes.

    `ca_bundle` is the certificate authority of the cluster, which nodes are told: another one is another class.

    Raises:
        ManifestError: every rule the manifest breaks.
    """
    envelope = open_envelope(raw, api_version=API_VERSION, kind=KIND)
    spec = envelope.spec
    images = read_image_terms(spec)
    role, profile = _read_profile(spec)
    kubelet, kubelet_rest = _read_kubelet(spec)
    _check_kept(spec)
    node_class = AwsNodeClass(
        metadata=envelope.metadata,
        origin=envelope.origin,
        ami_family=_read_family(spec, images),
        subnet_terms=read_subnet_terms(spec),
        security_group_terms=read_security_group_terms(spec),
        ami_terms=images,
        instance_profile=profile,
        role=role,
        user_data=spec.string("userData"),
        block_devices=_read_devices(spec),
        metadata_options=read_metadata_options(spec, _DEFAULT_METADATA),
        tags=_read_tags(spec),
        detailed_monitoring=spec.boolean("detailedMonitoring") is True,
        context=spec.string("context"),
        kubelet=kubelet,
        instance_store_policy=cast(Literal["RAID0"] | None, spec.choice("instanceStorePolicy", ("RAID0",))),
        associate_public_ip=spec.boolean("associatePublicIPAddress"),
        other={name: spec.value(name) for name in _KEPT if spec.has(name)} | kubelet_rest,
        conditions=read_conditions(envelope.status),
    )
    envelope.close()
    return replace(node_class, hash_annotations=_hash_annotations(raw, node_class, ca_bundle))


def _hash_annotations(raw: object, node_class: AwsNodeClass, ca_bundle: str) -> dict[str, str]:
    spec = raw["spec"] if isinstance(raw, Mapping) else {}
    digest = ec2_node_class_hash(spec, family=node_class.ami_family, ca_bundle=ca_bundle)
    return {labels.NODE_CLASS_HASH: digest, labels.NODE_CLASS_HASH_VERSION: HASH_VERSION}


def _read_family(spec: Reader, images: tuple[SelectorTerm, ...]) -> AmiFamily:
    """The family that an alias means, unless `amiFamily` says Custom; without an alias it must be said."""
    family = spec.choice("amiFamily", FAMILIES)
    alias = next((term.alias for term in images if term.alias), "")
    meant = ALIASES.get(alias.partition("@")[0])
    if not alias and not spec.has("amiFamily"):
        spec.fail("amiFamily", "is required without an alias in amiSelectorTerms")
    if family is not None and meant is not None and family not in {meant, "Custom"}:
        spec.fail("amiFamily", f"{family!r} does not match the alias {alias!r}", f"write {meant} or leave it out")
    return cast(AmiFamily, family or meant or "Custom")


def _read_profile(spec: Reader) -> tuple[str, str]:
    if spec.has("role") == spec.has("instanceProfile"):
        got = "both" if spec.has("role") else "none"
        spec.fail("role", f"expected exactly one of spec.role and spec.instanceProfile, got {got}")
    role = spec.string("role", required=spec.has("role"))
    return role, spec.string("instanceProfile", required=spec.has("instanceProfile"))


def _read_kubelet(spec: Reader) -> tuple[KubeletConfiguration | None, dict[str, object]]:
    """Return the settings we compute with, and under `kubelet` those that only the node's kubelet reads."""
    if not spec.has("kubelet"):
        return None, {}
    reader = spec.part("kubelet")
    if reader.has("registerWithTaints"):
        reader.fail("registerWithTaints", "is not supported", "use taints of the NodePool")
    grace = reader.integer("evictionMaxPodGracePeriod", minimum=0, maximum=INT32_MAX)
    settings = read_kubelet(reader, eviction_max_pod_grace_period_s=grace)
    rest = reader.unread()
    return settings, {"kubelet": rest} if rest else {}


def _read_devices(spec: Reader) -> tuple[BlockDevice, ...]:
    devices = read_block_devices(spec, VOLUMES)
    if len(devices) > MOST_DEVICES:
        spec.fail("blockDeviceMappings", f"has {len(devices)} volumes", f"at most {MOST_DEVICES}")
    if sum(device.is_root for device in devices) > 1:
        spec.fail("blockDeviceMappings", "marks several root volumes", "at most one rootVolume")
    return devices


def _read_tags(spec: Reader) -> dict[str, str]:
    tags = spec.texts("tags")
    for key in tags:
        if not key:
            spec.fail("tags", "a key must not be empty")
        elif RESERVED_TAGS.fullmatch(key):
            spec.part("tags").fail(key, f"{key!r} is reserved: Karpenter sets it")
    return tags


def _check_kept(spec: Reader) -> None:
    check_reservation_terms(spec)
    check_placement_group(spec)
    spec.integer("ipPrefixCount", minimum=0)
    check_network_interfaces(spec)
    check_connection_tracking(spec)
    check_cpu_options(spec)
