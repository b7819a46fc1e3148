"""AWSNodeTemplate, and the inline `provider` of a Provisioner, to the hub's node class.

Source: spec v1alpha5 §1.8 (API-30, API-50 to 53).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from karpenter.model import labels
from karpenter.model.aws.devices import VolumeRules, read_block_devices, read_metadata_options
from karpenter.model.aws.hashes import node_template_hash
from karpenter.model.aws.nodeclass import AmiFamily, AwsNodeClass, MetadataOptions, SelectorTerm
from karpenter.model.aws.selectors import read_selector
from karpenter.model.envelope import open_envelope, read_conditions
from karpenter.model.meta import ObjectMeta
from karpenter.model.nodepool import NodePool, Origin
from karpenter.model.reading import Reader

API_VERSION: Final = "karpenter.k8s.aws/v1alpha1"
KIND: Final = "AWSNodeTemplate"

FAMILIES: Final = ("AL2", "Bottlerocket", "Ubuntu", "Custom", "Windows2019", "Windows2022")
VOLUMES: Final = VolumeRules(smallest=10**9, largest=64 * 10**12)
_EXCLUDED_BY_LAUNCH_TEMPLATE: Final = (
    "securityGroupSelector",
    "metadataOptions",
    "amiFamily",
    "instanceProfile",
    "blockDeviceMappings",
    "userData",
    "amiSelector",
)
_RESERVED_TAGS: Final = re.compile(
    rf"kubernetes\.io/cluster/.*|{re.escape(labels.PROVISIONER)}|{re.escape(labels.MANAGED_BY)}", re.DOTALL
)


def decode_aws_node_template(raw: object) -> AwsNodeClass:
    """Return the node class that an AWSNodeTemplate manifest describes.

    Raises:
        ManifestError: every rule the manifest breaks.
    """
    envelope = open_envelope(raw, api_version=API_VERSION, kind=KIND)
    node_class = _read_spec(
        envelope.spec, metadata=envelope.metadata, origin=envelope.origin, status=envelope.status, is_inline=False
    )
    envelope.close()
    spec = raw["spec"] if isinstance(raw, Mapping) else {}
    return replace(node_class, hash_annotations={labels.NODE_TEMPLATE_HASH: node_template_hash(spec)})


def check_inline_provider(provider: Reader) -> None:
    """Note what is wrong with a Provisioner's inline `provider`."""
    _read_spec(provider, metadata=ObjectMeta(), origin=Origin("", "", "", ""), status={}, is_inline=True)


def inline_node_class(pool: NodePool) -> AwsNodeClass | None:
    """Return the anonymous node class in a Provisioner's inline `provider`, named like the pool; None without one."""
    if pool.template.inline_provider is None:
        return None
    provider = Reader(pool.template.inline_provider, "spec.provider")
    metadata = ObjectMeta(name=pool.name, uid=pool.metadata.uid)
    node_class = _read_spec(provider, metadata=metadata, origin=pool.origin, status={}, is_inline=True)
    assert not provider.errors, "the codec of the Provisioner let it pass"
    return node_class


def _read_spec(
    spec: Reader, *, metadata: ObjectMeta, origin: Origin, status: Mapping[str, object], is_inline: bool
) -> AwsNodeClass:
    launch_template = spec.string("launchTemplate")
    _check_launch_template(spec)
    family = spec.choice("amiFamily", FAMILIES)
    images = () if is_inline else read_selector(spec, "amiSelector", "ami")
    if family == "Custom" and not is_inline and not spec.has("amiSelector"):
        spec.fail("amiSelector", "is required when amiFamily is Custom")
    if is_inline:
        spec.string("kind")
        spec.string("apiVersion")
    return AwsNodeClass(
        metadata=metadata,
        origin=origin,
        ami_family=cast(AmiFamily, family or "AL2"),
        subnet_terms=_read_required(spec, "subnetSelector", is_needed=True),
        security_group_terms=_read_required(spec, "securityGroupSelector", is_needed=not launch_template),
        ami_terms=images,
        instance_profile=spec.string("instanceProfile"),
        user_data="" if is_inline else spec.string("userData"),
        block_devices=read_block_devices(spec, VOLUMES),
        metadata_options=read_metadata_options(spec, MetadataOptions()),
        tags=_read_tags(spec),
        launch_template=launch_template,
        detailed_monitoring=False if is_inline else spec.boolean("detailedMonitoring") is True,
        context=spec.string("context"),
        conditions=read_conditions(status),
    )


def _check_launch_template(spec: Reader) -> None:
    """API-51: a launch template of the user's own leaves nothing to say about what is in it."""
    if not spec.has("launchTemplate"):
        return
    for name in _EXCLUDED_BY_LAUNCH_TEMPLATE:
        if spec.has(name):
            spec.fail(name, f"expected exactly one of {spec.at('launchTemplate')} and {spec.at(name)}, got both")


def _read_required(spec: Reader, name: str, *, is_needed: bool) -> tuple[SelectorTerm, ...]:
    if is_needed and not spec.has(name):
        spec.fail(name, "is required", "select by tags, or by ids under aws-ids")
    return read_selector(spec, name, "subnet" if name == "subnetSelector" else "sg")


def _read_tags(spec: Reader) -> dict[str, str]:
    tags = spec.texts("tags")
    for key in tags:
        if not key:
            spec.fail("tags", "a key must not be empty")
        elif _RESERVED_TAGS.fullmatch(key):
            spec.part("tags").fail(key, f"{key!r} is reserved: Karpenter sets it")
    return tags
