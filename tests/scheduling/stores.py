"""Builders of storage objects: claims, volumes, classes, and pods that use them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from karpenter.model import core, labels
from karpenter.model.core import Pod
from karpenter.model.meta import ObjectMeta, SelectorExpression
from karpenter.model.storage import (
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    StorageClass,
    TopologySelectorExpression,
    TopologySelectorTerm,
    VolumeCount,
    VolumeNodeAffinity,
)
from karpenter.model.units import ObjectKey
from karpenter.scheduling import Volumes
from tests.builders import CREATED, a_pod

EBS = "ebs.csi.aws.com"
LATE, AT_ONCE = "WaitForFirstConsumer", "Immediate"


def a_volume_claim(
    name: str = "data",
    *,
    volume: str = "",
    storage_class: str | None = "late",
    phase: str = "",
    deleted: str | None = None,
    annotations: Mapping[str, str] | None = None,
) -> PersistentVolumeClaim:
    return PersistentVolumeClaim(
        ObjectMeta(name=name, namespace="default", deletion_timestamp=deleted, annotations=dict(annotations or {})),
        core.PersistentVolumeClaimSpec(volume_name=volume, storage_class_name=storage_class),
        PersistentVolumeClaimStatus(phase),
    )


def a_volume(
    name: str = "pv",
    *,
    zone: str | None = None,
    terms: Sequence[Mapping[str, Sequence[str]]] = (),
    driver: str | None = EBS,
    labelled: Mapping[str, str] | None = None,
    storage_class: str = "",
    is_local: bool = False,
) -> PersistentVolume:
    """Return a volume; `zone` or `terms` (label to allowed values) say from where it can be reached."""
    reached = [*terms, *([{labels.ZONE: (zone,)}] if zone else [])]
    selector = core.NodeSelector(
        tuple(
            core.NodeSelectorTerm(tuple(SelectorExpression(key, "In", tuple(v)) for key, v in term.items()))
            for term in reached
        )
    )
    spec = PersistentVolumeSpec(
        node_affinity=VolumeNodeAffinity(selector) if reached else None,
        csi=CSIVolumeSource(driver, f"handle-{name}") if driver else None,
        storage_class_name=storage_class,
        local={"path": "/disk"} if is_local else None,
    )
    return PersistentVolume(ObjectMeta(name=name, labels=dict(labelled or {})), spec)


def a_storage_class(
    name: str = "late",
    *,
    provisioner: str = EBS,
    mode: str = LATE,
    topologies: Iterable[Mapping[str, Sequence[str]]] = (),
    is_default: bool = False,
    created: str = CREATED,
) -> StorageClass:
    terms = tuple(
        TopologySelectorTerm(tuple(TopologySelectorExpression(key, tuple(v)) for key, v in term.items()))
        for term in topologies
    )
    marks = {labels.IS_DEFAULT_STORAGE_CLASS: "true"} if is_default else {}
    return StorageClass(ObjectMeta(name=name, annotations=marks, creation_timestamp=created), provisioner, mode, terms)


def volumes_of(*objects: PersistentVolumeClaim | PersistentVolume | StorageClass) -> Volumes:
    """Return these objects by name; without a class there is one, `late`, that waits for the first consumer."""
    classes = [one for one in objects if isinstance(one, StorageClass)] or [a_storage_class()]
    claims = [one for one in objects if isinstance(one, PersistentVolumeClaim)]
    return Volumes(
        {ObjectKey("default", one.metadata.name): one for one in claims},
        {one.metadata.name: one for one in objects if isinstance(one, PersistentVolume)},
        {one.metadata.name: one for one in classes},
    )


def a_csi_node(name: str, most: int | None, *, driver: str = EBS) -> CSINode:
    """Return what a node's driver says: how many volumes it attaches, None for any number."""
    count = None if most is None else VolumeCount(most)
    return CSINode(ObjectMeta(name=name), CSINodeSpec((CSINodeDriver(driver, allocatable=count),)))


def using(name: str, *claims: str, **pod: Any) -> Pod:
    """Return a small pod that mounts these claims."""
    mounted = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    return a_pod(name, volumes=mounted, **{"cpu": "100m", "memory": "64Mi", **pod})


def with_ephemeral(name: str, *, storage_class: str | None = "late", **pod: Any) -> Pod:
    """Return a small pod with one volume that lives as long as it does."""
    template = {"spec": {"storageClassName": storage_class}}
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}
    return a_pod(name, volumes=[volume], **{"cpu": "100m", "memory": "64Mi", **pod})
