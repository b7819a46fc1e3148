"""What is in a launch template. Source: spec v1 A-40, spec v1alpha5 §3.8, AWS-56."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from karpenter.aws.resolved import Ami, ResolvedNodeClass
from karpenter.model import labels
from karpenter.model.aws.families import FAMILIES
from karpenter.model.aws.nodeclass import AwsNodeClass, BlockDevice
from karpenter.model.aws.tags import tag_list

_GIB: Final = 2**30
_TAGGED: Final = ("instance", "volume", "network-interface", "spot-instances-request")
_BOTTLEROCKET_SYSTEM_BYTES: Final = 4 * _GIB

Content = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What templates of one launch differ in."""

    ami: Ami
    user_data: str
    """Before base64."""
    tags: Mapping[str, str]
    efas: int = 0
    """Elastic fabric adapters that the pods ask for: one a network card."""
    reservation_id: str | None = None
    """The only capacity reservation that machines may use; None forbids all of them."""
    is_ipv6: bool = False
    minds_reservations: bool = True
    """Whether open reservations are kept from being used unasked; not so for a Provisioner, which knows none."""


def template_content(resolved: ResolvedNodeClass, recipe: Recipe) -> Content:
    """Return the content of a launch template, as EC2's API takes it; equal recipes give equal content."""
    node_class = resolved.node_class
    content: Content = {
        "ImageId": recipe.ami.id,
        "UserData": base64.b64encode(recipe.user_data.encode()).decode(),
        "BlockDeviceMappings": [_mapping(device) for device in block_devices(node_class)],
        "IamInstanceProfile": {"Name": resolved.instance_profile} if resolved.instance_profile else {},
        "Monitoring": {"Enabled": node_class.detailed_monitoring},
        "MetadataOptions": _metadata(node_class, is_ipv6=recipe.is_ipv6),
        "TagSpecifications": [{"ResourceType": kind, "Tags": tag_list(recipe.tags)} for kind in _TAGGED],
        "CapacityReservationSpecification": _reservations(recipe),
        "Placement": {"GroupId": resolved.placement_group.id} if resolved.placement_group else {},
        "CpuOptions": _cpu_options(node_class),
        **_network(resolved, recipe),
    }
    return {key: value for key, value in content.items() if value not in ({}, [], "")}


def block_devices(node_class: AwsNodeClass) -> tuple[BlockDevice, ...]:
    """Return the volumes of a class, its family's where it names none (§3.8); none at all for Custom images then."""
    facts = FAMILIES[node_class.ami_family]
    return node_class.block_devices or tuple(
        BlockDevice(
            name,
            volume_size_bytes=facts.default_storage_bytes
            if name == facts.ephemeral_device
            else _BOTTLEROCKET_SYSTEM_BYTES,
            volume_type="gp3",
            encrypted=True,
        )
        for name in facts.default_devices
    )


def _mapping(device: BlockDevice) -> Content:
    ebs: Content = {
        "VolumeSize": None if device.volume_size_bytes is None else -(-device.volume_size_bytes // _GIB),
        "VolumeType": device.volume_type,
        "Iops": device.iops,
        "Throughput": device.throughput,
        "Encrypted": device.encrypted,
        "KmsKeyId": device.kms_key_id or None,
        "SnapshotId": device.snapshot_id or None,
        "DeleteOnTermination": device.delete_on_termination,
        "VolumeInitializationRate": device.volume_initialization_rate,
    }
    return {"DeviceName": device.device_name, "Ebs": {key: value for key, value in ebs.items() if value is not None}}


def _metadata(node_class: AwsNodeClass, *, is_ipv6: bool) -> Content:
    options = node_class.metadata_options
    return {
        "HttpEndpoint": options.http_endpoint,
        "HttpProtocolIpv6": options.http_protocol_ipv6 or ("enabled" if is_ipv6 else "disabled"),
        "HttpPutResponseHopLimit": options.http_put_response_hop_limit,
        "HttpTokens": options.http_tokens,
        # Tag keys with a slash, which ours have, are refused where instances may read their tags.
        "InstanceMetadataTags": "disabled",
    }


def _reservations(recipe: Recipe) -> Content:
    if recipe.reservation_id is not None:
        return {
            "CapacityReservationPreference": "capacity-reservations-only",
            "CapacityReservationTarget": {"CapacityReservationId": recipe.reservation_id},
        }
    return {"CapacityReservationPreference": "none"} if recipe.minds_reservations else {}


def _cpu_options(node_class: AwsNodeClass) -> Content:
    nested = _other(node_class, "cpuOptions").get("nestedVirtualization")
    return {"NestedVirtualization": nested} if nested else {}


def _other(node_class: AwsNodeClass, name: str) -> Mapping[str, Any]:
    found = node_class.other.get(name)
    return found if isinstance(found, Mapping) else {}


# --- network interfaces -----------------------------------------------------------------------------------------------


def _network(resolved: ResolvedNodeClass, recipe: Recipe) -> Content:
    """Return the security groups, by themselves or within interfaces where something is to be said about those."""
    groups = [group.id for group in resolved.security_groups]
    interfaces = _interfaces(resolved, recipe)
    if not interfaces:
        return {"SecurityGroupIds": groups}
    return {"NetworkInterfaces": [{**interface, "Groups": groups} for interface in interfaces]}


def _interfaces(resolved: ResolvedNodeClass, recipe: Recipe) -> list[Content]:
    """Return the interfaces to name, the first of them with its addresses; none where nothing is to be said."""
    primary, tracking = _addresses(resolved, is_ipv6=recipe.is_ipv6), _tracking(resolved.node_class)
    shape = _named_interfaces(resolved.node_class) or _fabric_interfaces(recipe.efas)
    if not shape and (primary or tracking):
        shape = [{"NetworkCardIndex": 0, "DeviceIndex": 0}]
    made: list[Content] = []
    for interface in shape:
        own = primary if (interface["NetworkCardIndex"], interface["DeviceIndex"]) == (0, 0) else {}
        # An interface that passes no IP has no connections to be tracked.
        tracked = tracking if interface.get("InterfaceType") != "efa-only" else {}
        made.append({**interface, **own, **tracked, "DeleteOnTermination": True})
    return made


def _addresses(resolved: ResolvedNodeClass, *, is_ipv6: bool) -> Content:
    """Return what is to be said of the first interface's addresses."""
    public = resolved.node_class.associate_public_ip
    if public is None and not any(subnet.gives_public_ip for subnet in resolved.subnets):
        public = False  # some accounts refuse launches that do not say so (AWS-56)
    said: Content = {} if public is None else {"AssociatePublicIpAddress": public}
    prefixes = resolved.node_class.other.get("ipPrefixCount")
    if is_ipv6:
        return said | {"PrimaryIpv6": True} | ({"Ipv6PrefixCount": prefixes} if prefixes else {"Ipv6AddressCount": 1})
    return said | ({"Ipv4PrefixCount": prefixes} if prefixes else {})


def _tracking(node_class: AwsNodeClass) -> Content:
    given = _other(node_class, "connectionTracking")
    names = {
        "tcpEstablishedTimeout": "TcpEstablishedTimeout",
        "udpStreamTimeout": "UdpStreamTimeout",
        "udpTimeout": "UdpTimeout",
    }
    found = {names[key]: value for key, value in given.items() if key in names}
    return {"ConnectionTrackingSpecification": found} if found else {}


def _named_interfaces(node_class: AwsNodeClass) -> list[Content]:
    named = node_class.other.get("networkInterfaces")
    return [
        {
            "NetworkCardIndex": interface["networkCardIndex"],
            "DeviceIndex": interface["deviceIndex"],
            "InterfaceType": interface["interfaceType"],
        }
        for interface in (named if isinstance(named, Sequence) else ())
    ]


def _fabric_interfaces(efas: int) -> list[Content]:
    return [
        {"NetworkCardIndex": card, "DeviceIndex": 0 if card == 0 else 1, "InterfaceType": "efa"} for card in range(efas)
    ]


def minds_reservations(claim_labels: Mapping[str, str]) -> bool:
    """Return whether machines of a claim keep off capacity reservations that nobody selected (A-40)."""
    return labels.PROVISIONER not in claim_labels
