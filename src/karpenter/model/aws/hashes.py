"""The digest by which static drift of an EC2NodeClass's nodes is seen, equal to Karpenter's own bit by bit.

Selectors are not in it; the family of images, the cluster's CA and the kubelet settings are. Network interfaces,
connection tracking, CPU options and placement groups are digested in the same manner, but no known value vouches for
them.
Source: spec v1 §1.4.4, §1.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karpenter.model.gohash import Digest, fnv, integer, mapping, members, pointed_text, struct, switch, text
from karpenter.model.quantity import canonical

HASH_VERSION: Final = "v6"


def ec2_node_class_hash(spec: Mapping[str, Any], *, family: str, ca_bundle: str = "") -> str:
    """Return the digest of a class's `spec` as it is written, as a decimal number.

    `family` is that of the images, also when only an alias names it.
    """
    kubelet = msgspec.json.encode(spec.get("kubelet"), order="sorted")
    parts = [_spec(spec), fnv(family.encode()), fnv(ca_bundle.encode()), fnv(kubelet)]
    return str(members(parts))


_TEMPLATE_FIELDS: Final = (
    "userData", "tags", "instanceProfile", "amiFamily", "metadataOptions", "blockDeviceMappings", "context",
    "detailedMonitoring",
)  # fmt: skip
"""Selectors and a launch template of the user's own are not among them (DEP-33)."""


def node_template_hash(spec: Mapping[str, Any]) -> str:
    """Return the digest of an AWSNodeTemplate's `spec`; what is empty is as if it were not there (DEP-35)."""
    said = {name: spec[name] for name in _TEMPLATE_FIELDS if spec.get(name)}
    return str(fnv(msgspec.json.encode(said, order="sorted")))


def _spec(spec: Mapping[str, Any]) -> int:
    fields: list[tuple[str, Digest]] = [
        ("PlacementGroupSelector", _placement(spec.get("placementGroupSelector"))),
        ("AssociatePublicIPAddress", switch(spec.get("associatePublicIPAddress"))),
        ("UserData", pointed_text(spec.get("userData"))),
        ("Role", text(spec.get("role") or "")),
        ("InstanceProfile", pointed_text(spec.get("instanceProfile"))),
        ("Tags", mapping(spec.get("tags") or {})),
        ("BlockDeviceMappings", members(_device(each) for each in spec.get("blockDeviceMappings") or ())),
        ("InstanceStorePolicy", pointed_text(spec.get("instanceStorePolicy"))),
        ("NetworkInterfaces", members(_interface(each) for each in spec.get("networkInterfaces") or ())),
        ("DetailedMonitoring", switch(spec.get("detailedMonitoring"))),
        ("MetadataOptions", _metadata(spec.get("metadataOptions"))),
        ("ConnectionTracking", _tracking(spec.get("connectionTracking"))),
        ("Context", pointed_text(spec.get("context"))),
        ("CPUOptions", _cpu(spec.get("cpuOptions"))),
    ]
    return struct("EC2NodeClassSpec", fields)


def _device(device: Mapping[str, Any]) -> int:
    ebs: Mapping[str, Any] | None = device.get("ebs")
    fields: list[tuple[str, Digest]] = [
        ("DeviceName", pointed_text(device.get("deviceName"))),
        ("EBS", None if ebs is None else _volume(ebs)),
        ("RootVolume", switch(device.get("rootVolume") or None)),
    ]
    return struct("BlockDeviceMapping", fields)


def _volume(ebs: Mapping[str, Any]) -> int:
    size = ebs.get("volumeSize")
    fields: list[tuple[str, Digest]] = [
        ("DeleteOnTermination", switch(ebs.get("deleteOnTermination"))),
        ("Encrypted", switch(ebs.get("encrypted"))),
        ("IOPS", integer(ebs.get("iops"))),
        ("KMSKeyID", pointed_text(ebs.get("kmsKeyID"))),
        ("SnapshotID", pointed_text(ebs.get("snapshotID"))),
        ("Throughput", integer(ebs.get("throughput"))),
        ("VolumeInitializationRate", integer(ebs.get("volumeInitializationRate"))),
        ("VolumeSize", None if size is None else text(canonical(str(size)))),
        ("VolumeType", pointed_text(ebs.get("volumeType"))),
    ]
    return struct("BlockDevice", fields)


def _metadata(options: Mapping[str, Any] | None) -> Digest:
    if options is None:
        return None
    fields: list[tuple[str, Digest]] = [
        ("HTTPEndpoint", pointed_text(options.get("httpEndpoint"))),
        ("HTTPProtocolIPv6", pointed_text(options.get("httpProtocolIPv6"))),
        ("HTTPPutResponseHopLimit", integer(options.get("httpPutResponseHopLimit"))),
        ("HTTPTokens", pointed_text(options.get("httpTokens"))),
    ]
    return struct("MetadataOptions", fields)


def _placement(selector: Mapping[str, Any] | None) -> Digest:
    if selector is None:
        return None
    fields = [("Name", text(selector.get("name") or "")), ("ID", text(selector.get("id") or ""))]
    return struct("PlacementGroupSelector", fields)


def _interface(interface: Mapping[str, Any]) -> int:
    fields: list[tuple[str, Digest]] = [
        ("NetworkCardIndex", integer(interface.get("networkCardIndex"))),
        ("DeviceIndex", integer(interface.get("deviceIndex"))),
        ("InterfaceType", text(interface.get("interfaceType") or "")),
    ]
    return struct("NetworkInterface", fields)


def _tracking(tracking: Mapping[str, Any] | None) -> Digest:
    if tracking is None:
        return None
    names = {
        "TCPEstablishedTimeout": "tcpEstablishedTimeout",
        "UDPStreamTimeout": "udpStreamTimeout",
        "UDPTimeout": "udpTimeout",
    }
    return struct("ConnectionTracking", [(name, integer(tracking.get(key))) for name, key in names.items()])


def _cpu(options: Mapping[str, Any] | None) -> Digest:
    if options is None:
        return None
    return struct("CPUOptions", [("NestedVirtualization", pointed_text(options.get("nestedVirtualization")))])
