"""The part of storage that we read: claims and volumes of core/v1, and storage.k8s.io/v1.

Wire-shaped, frozen, lossy on purpose, like `core`.
"""

from __future__ import annotations

import msgspec

from karpenter.model.core import NodeSelector, PersistentVolumeClaimSpec, Wire
from karpenter.model.meta import ObjectMeta


class PersistentVolumeClaimStatus(Wire, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(Wire, frozen=True):
    metadata: ObjectMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class CSIVolumeSource(Wire, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(Wire, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(Wire, frozen=True):
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolumeSource | None = None
    aws_elastic_block_store: dict[str, object] | None = None
    local: dict[str, object] | None = None
    host_path: dict[str, object] | None = None
    storage_class_name: str = ""


class PersistentVolume(Wire, frozen=True):
    metadata: ObjectMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()


class TopologySelectorExpression(Wire, frozen=True):
    key: str
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Wire, frozen=True):
    match_label_expressions: tuple[TopologySelectorExpression, ...] = ()


class StorageClass(Wire, frozen=True):
    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeCount(Wire, frozen=True):
    count: int | None = None


class CSINodeDriver(Wire, frozen=True):
    name: str
    node_id: str = msgspec.field(name="nodeID", default="")
    allocatable: VolumeCount | None = None


class CSINodeSpec(Wire, frozen=True):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Wire, frozen=True):
    metadata: ObjectMeta
    spec: CSINodeSpec = CSINodeSpec()


class VolumeAttachmentSource(Wire, frozen=True):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Wire, frozen=True):
    node_name: str = ""
    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(Wire, frozen=True):
    metadata: ObjectMeta
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
