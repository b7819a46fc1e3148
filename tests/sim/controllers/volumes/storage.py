"""Claims, volumes and pods that mount them, as manifests and as the API has them."""

from typing import Any

import msgspec

from karpenter.sim.storagekinds import Claim, Volume
from tests.sim.clusters import Raw, pod
from tests.sim.controllers.workloads import claim_spec


def claim_manifest(name: str = "data", *, storage: str = "1Gi", **spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": claim_spec(storage, **spec),
    }


def volume_manifest(
    name: str = "vol",
    *,
    storage: str = "1Gi",
    storage_class: str = "",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    claim: str = "",
    uid: str = "",
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Raw:
    """Return a volume on a disk, kept for or bound to `claim` if one is named."""
    reference = {"namespace": "default", "name": claim, **({"uid": uid} if uid else {})}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "capacity": {"storage": storage},
            "accessModes": list(modes),
            "storageClassName": storage_class,
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-{name}"},
            **({"claimRef": reference} if claim else {}),
            **spec,
        },
    }


def class_manifest(name: str, **more: Any) -> Raw:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "ebs.csi.aws.com",
        **more,
    }


def pod_with(name: str, *claims: str, **spec: Any) -> Raw:
    """Return a pod that mounts claims."""
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    return pod(name, labels={"app": name}, volumes=volumes, **spec)


def a_claim(name: str = "data", *, uid: str = "uid-data", **more: Any) -> Claim:
    made = claim_manifest(name, **more)
    made["metadata"]["uid"] = uid
    return msgspec.convert(made, Claim)


def a_volume(name: str = "vol", *, phase: str = "Available", **more: Any) -> Volume:
    return msgspec.convert({**volume_manifest(name, **more), "status": {"phase": phase}}, Volume)
