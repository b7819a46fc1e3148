"""What an instance boots as: the node that comes of type, image, volumes and user data."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final, cast

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.aws.allocatable import Build, capacity_and_allocatable, volume_limits
from karpenter.model.aws.catalog import Image, InstanceTypeRecord
from karpenter.model.aws.families import FAMILIES
from karpenter.model.aws.nodeclass import AmiFamily, BlockDevice
from karpenter.model.aws.settings import DEFAULT_SETTINGS
from karpenter.sim.ec2.backend import Backend
from karpenter.sim.ec2.joining import read_join
from karpenter.sim.market.instances import Boot

_GIB: Final = 2**30


def boot_of(
    backend: Backend, record: InstanceTypeRecord, image: Image, *, key: OfferingKey, template: Mapping[str, Any]
) -> Boot:
    """Return what registers once an instance of a launch template's data is up.

    The kubelet counts only hard eviction thresholds, as real ones do, whatever planners reckon with.
    """
    join = read_join(_user_data(template))
    if join is None or (join.cluster, join.endpoint) != (backend.cluster.name, backend.cluster.endpoint):
        return Boot(joins=False)
    build = Build(
        family=cast(AmiFamily, image.family),
        devices=tuple(_devices(template)),
        local_disks_are_storage=join.local_disks_are_storage,
        kubelet=join.kubelet,
        soft_eviction_counts=False,
    )
    has, usable = capacity_and_allocatable(record, build, DEFAULT_SETTINGS)
    facts = FAMILIES[build.family]
    found = {
        labels.INSTANCE_TYPE: record.name,
        labels.ZONE: key.zone,
        labels.REGION: backend.region,
        labels.OS: facts.os,
        labels.ARCH: record.arch,
    }
    old = {alias: found[label] for alias, label in labels.ALIASES.items() if label in found}
    return Boot(
        labels={**join.labels, **old, **found},
        taints=join.taints,
        capacity=has,
        allocatable=usable,
        volume_limits=volume_limits(record, build),
        os=facts.os,
        arch=record.arch,
        os_image=facts.os_image,
        kubelet_version=f"v{backend.catalog.kubernetes}.0",
    )


def _user_data(template: Mapping[str, Any]) -> str:
    try:
        return base64.b64decode(template.get("UserData", ""), validate=True).decode()
    except ValueError:
        return ""


def _devices(template: Mapping[str, Any]) -> list[BlockDevice]:
    return [
        BlockDevice(one["DeviceName"], volume_size_bytes=one["Ebs"]["VolumeSize"] * _GIB)
        for one in template.get("BlockDeviceMappings", ())
        if one.get("Ebs", {}).get("VolumeSize")
    ]
