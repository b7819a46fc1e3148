"""What a disk is: the zone it is made in, and the volume that stands for it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from karpenter.model import labels
from karpenter.model.core import Node
from karpenter.runtime.kube import RawObject
from karpenter.sim.controllers.volumes.binder import PROVISIONED_BY
from karpenter.sim.controllers.volumes.matching import requested
from karpenter.sim.disks import EBS, IN_TREE
from karpenter.sim.storagekinds import Claim, StorageClass

DELETER_FINALIZER: Final = "external-provisioner.volume.kubernetes.io/finalizer"
ATTACHER_FINALIZER: Final = "external-attacher/ebs-csi-aws-com"
_GIB: Final = 2**30
_SUPPORTED_MODES: Final = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})


class ZoneProblem(ValueError):
    """No disk can be made as the claim, its class and the nodes are; the message says why."""


def volume_name(claim: Claim) -> str:
    """Return the name of the volume that is made for a claim."""
    return f"pvc-{claim.metadata.uid}"


def attachment_name(handle: str, node: str) -> str:
    """Return the name of the VolumeAttachment of a disk to a node."""
    return f"csi-{sha256(f'{handle}{EBS}{node}'.encode()).hexdigest()}"


def choose_zone(claim: Claim, chosen: StorageClass, nodes: Iterable[Node], *, selected: str | None) -> str:
    """Return the zone for a claim's disk: that of the selected node, else one that the class allows.

    Without a node the claims of a StatefulSet go round the zones by their number, those of one pod to the same.

    Raises:
        ZoneProblem: there is no zone to choose, or the claim asks for what the driver does not have.
    """
    if not set(claim.spec.access_modes) <= _SUPPORTED_MODES:
        raise ZoneProblem("Volume capabilities not supported. Only AccessModes[ReadWriteOnce] supported.")
    if selected is not None:
        node = next(node for node in nodes if node.metadata.name == selected)
        zone = node.metadata.labels.get(labels.ZONE)
        if zone is None:
            raise ZoneProblem(f'error generating accessibility requirements: node "{selected}" has no zone')
        return zone
    zones = _allowed_zones(chosen) or sorted(
        {zone for node in nodes if (zone := node.metadata.labels.get(labels.ZONE))}
    )
    if not zones:
        raise ZoneProblem("error generating accessibility requirements: no available topology found")
    return zones[_turn(claim.metadata.name) % len(zones)]


def _allowed_zones(chosen: StorageClass) -> Sequence[str]:
    found = {
        value
        for topology in chosen.allowed_topologies
        for entry in topology.match_label_expressions
        if labels.canonical(entry.key) == labels.ZONE
        for value in entry.values
    }
    return sorted(found)


def _turn(name: str) -> int:
    """Return a number for a claim: `CLAIM-SET-3` counts from a start that is the same for all claims of a set."""
    base, _, number = name.rpartition("-")
    if not base or not number.isdecimal():
        return zlib.crc32(name.encode())
    return zlib.crc32(base.rpartition("-")[2].encode()) + int(number)


def new_volume(claim: Claim, chosen: StorageClass, zone: str) -> RawObject:
    """Return the manifest of the volume for a claim's new disk: as large as asked for, in whole GiB."""
    namespace, name = claim.metadata.key
    metadata = claim.metadata
    uid = metadata.uid
    size = max(1, -(-requested(claim) // _GIB))
    body: RawObject = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": volume_name(claim),
            "annotations": {PROVISIONED_BY: IN_TREE.get(chosen.provisioner, chosen.provisioner)},
            "finalizers": [DELETER_FINALIZER],
        },
        "spec": {
            "accessModes": list(claim.spec.access_modes),
            "capacity": {"storage": f"{size}Gi"},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": namespace,
                "name": name,
                "uid": uid,
                "resourceVersion": metadata.resource_version,
            },
            "csi": {
                "driver": EBS,
                "volumeHandle": f"vol-{sha256(uid.encode()).hexdigest()[:17]}",
                "fsType": chosen.parameters.get("csi.storage.k8s.io/fstype", "ext4"),
                "volumeAttributes": {"storage.kubernetes.io/csiProvisionerIdentity": EBS},
            },
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": labels.ZONE, "operator": "In", "values": [zone]}]}
                    ]
                }
            },
            "persistentVolumeReclaimPolicy": chosen.reclaim_policy,
            "storageClassName": chosen.metadata.name,
            "volumeMode": claim.spec.volume_mode,
        },
    }
    if chosen.mount_options:
        body["spec"]["mountOptions"] = list(chosen.mount_options)
    return body
