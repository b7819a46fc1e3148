"""Reading the parts that both node class generations share: volumes and the metadata service.

Source: spec v1alpha5 §1.8 (API-52), spec v1 §1.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast, get_args

from karpenter.model.aws.nodeclass import BlockDevice, MetadataOptions, VolumeType
from karpenter.model.reading import Reader
from karpenter.model.resources import format_amount

VOLUME_TYPES: Final[tuple[str, ...]] = get_args(VolumeType)
_SWITCH: Final = ("enabled", "disabled")


@dataclass(frozen=True, slots=True)
class VolumeRules:
    """What one API generation allows."""

    smallest: int
    """Bytes."""
    largest: int
    """Bytes."""
    names_root: bool = False
    """Whether a mapping may be marked as the root volume, and a snapshot's loading rate be given."""


def read_block_devices(reader: Reader, rules: VolumeRules) -> tuple[BlockDevice, ...]:
    """Return `blockDeviceMappings`."""
    return tuple(_read_block_device(part, rules) for part in reader.parts("blockDeviceMappings"))


def _read_block_device(part: Reader, rules: VolumeRules) -> BlockDevice:
    device_name = part.string("deviceName", required=True)
    ebs = part.part("ebs", required=True)
    snapshot_id = ebs.string("snapshotID")
    return BlockDevice(
        device_name=device_name,
        volume_size_bytes=_read_size(ebs, rules, needed=part.has("ebs") and not snapshot_id),
        volume_type=cast(VolumeType | None, ebs.choice("volumeType", VOLUME_TYPES)),
        iops=ebs.integer("iops", minimum=0),
        throughput=ebs.integer("throughput", minimum=0),
        encrypted=ebs.boolean("encrypted"),
        kms_key_id=ebs.string("kmsKeyID"),
        snapshot_id=snapshot_id,
        delete_on_termination=ebs.boolean("deleteOnTermination"),
        volume_initialization_rate=_read_rate(ebs, snapshot_id) if rules.names_root else None,
        is_root=part.boolean("rootVolume") is True if rules.names_root else False,
    )


def _read_size(ebs: Reader, rules: VolumeRules, *, needed: bool) -> int | None:
    size = ebs.amount("volumeSize", "storage")
    if size is not None and not rules.smallest <= size <= rules.largest:
        least, most = (format_amount("storage", bound) for bound in (rules.smallest, rules.largest))
        ebs.fail("volumeSize", f"{format_amount('storage', size)} is not between {least} and {most} bytes")
    if needed and not ebs.has("volumeSize"):
        ebs.fail("volumeSize", "is required without a snapshotID")
    return size


def _read_rate(ebs: Reader, snapshot_id: str) -> int | None:
    rate = ebs.integer("volumeInitializationRate", minimum=100, maximum=300)
    if rate is not None and not snapshot_id:
        ebs.fail("volumeInitializationRate", "needs a snapshotID")
    return rate


def read_metadata_options(reader: Reader, default: MetadataOptions) -> MetadataOptions:
    """Return `metadataOptions`; what it does not say is as in `default`."""
    options = reader.part("metadataOptions")
    hops = options.integer("httpPutResponseHopLimit", minimum=1, maximum=64)
    return MetadataOptions(
        http_endpoint=options.choice("httpEndpoint", _SWITCH) or default.http_endpoint,  # type: ignore[arg-type]
        http_protocol_ipv6=options.choice("httpProtocolIPv6", _SWITCH) or default.http_protocol_ipv6,  # type: ignore[arg-type]
        http_put_response_hop_limit=hops or default.http_put_response_hop_limit,
        http_tokens=options.choice("httpTokens", ("required", "optional")) or default.http_tokens,  # type: ignore[arg-type]
    )
