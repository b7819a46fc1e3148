"""Claims, volumes and what belongs to them, as controllers of volumes read them: more than the model has."""

from __future__ import annotations

from typing import Final

import msgspec

from karpenter.model import core, storage
from karpenter.model.core import RawResources
from karpenter.model.meta import LabelSelector
from karpenter.runtime.kube import Resource
from karpenter.sim.kinds import Wire


class ClaimSpec(core.PersistentVolumeClaimSpec, frozen=True):
    selector: LabelSelector | None = None
    volume_mode: str = "Filesystem"


class ClaimStatus(storage.PersistentVolumeClaimStatus, frozen=True):
    access_modes: tuple[str, ...] = ()
    capacity: RawResources = msgspec.field(default_factory=dict)


class Claim(storage.PersistentVolumeClaim, frozen=True):
    """A PersistentVolumeClaim."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class ClaimReference(Wire, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeSpec(storage.PersistentVolumeSpec, frozen=True):
    claim_ref: ClaimReference | None = None
    capacity: RawResources = msgspec.field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    persistent_volume_reclaim_policy: str = "Retain"
    volume_mode: str = "Filesystem"


class VolumeStatus(Wire, frozen=True):
    phase: str = ""


class Volume(storage.PersistentVolume, frozen=True):
    """A PersistentVolume."""

    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


class StorageClass(storage.StorageClass, frozen=True):
    reclaim_policy: str = "Delete"
    parameters: dict[str, str] = msgspec.field(default_factory=dict)
    mount_options: tuple[str, ...] = ()
    allow_volume_expansion: bool = False


class AttachmentStatus(Wire, frozen=True):
    attached: bool = False


class Attachment(storage.VolumeAttachment, frozen=True):
    """A VolumeAttachment."""

    status: AttachmentStatus = AttachmentStatus()


CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", Claim, namespaced=True)
VOLUMES: Final = Resource("", "v1", "persistentvolumes", "PersistentVolume", Volume)
STORAGE_CLASSES: Final = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", StorageClass)
ATTACHMENTS: Final = Resource("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", Attachment)
