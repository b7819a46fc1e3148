"""What the simulated cluster knows of its one volume driver, that of EBS: names, and how long disks take."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey
from karpenter.runtime.informer import Informer
from karpenter.sim.indexes import claim_keys
from karpenter.sim.storagekinds import Claim, Volume

EBS: Final = "ebs.csi.aws.com"
IN_TREE: Final = {"kubernetes.io/aws-ebs": EBS}
"""Drivers that took over from what was once built in."""
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""Annotation on a claim: where its volume is to be made."""
_SPAN: Final = 2.0**32


@dataclass(frozen=True, slots=True)
class DiskPace:
    """How long disks take, at least and at most, in seconds of the real world; all of it is divided by `speed`."""

    speed: float = 10.0
    create_s: tuple[float, float] = (1.0, 3.0)
    attach_s: tuple[float, float] = (1.5, 4.0)
    detach_s: tuple[float, float] = (1.0, 5.0)
    delete_s: tuple[float, float] = (0.5, 2.0)
    seed: int = 0

    def create(self, claim_uid: str) -> float:
        """Return how long the disk of a claim takes to be made."""
        return self._between(self.create_s, f"create/{claim_uid}")

    def attach(self, attachment: str) -> float:
        """Return how long a disk takes to appear on a machine."""
        return self._between(self.attach_s, f"attach/{attachment}")

    def detach(self, attachment: str) -> float:
        """Return how long a disk takes to be free again."""
        return self._between(self.detach_s, f"detach/{attachment}")

    def delete(self, volume: str) -> float:
        """Return how long a disk takes to be gone."""
        return self._between(self.delete_s, f"delete/{volume}")

    def _between(self, bounds: tuple[float, float], what: str) -> float:
        least, most = bounds
        chance = zlib.crc32(f"{self.seed}/{what}".encode()) / _SPAN
        return (least + (most - least) * chance) / self.speed


def handle_of(volume: Volume) -> str | None:
    """Return the id of the disk behind a volume; None when it is not on one: then it needs no attaching."""
    if volume.spec.csi is not None and volume.spec.csi.driver == EBS:
        return volume.spec.csi.volume_handle
    if volume.spec.aws_elastic_block_store is not None:
        return str(volume.spec.aws_elastic_block_store.get("volumeID", ""))
    return None


def unique_name(volume: Volume) -> str:
    """Return the name under which kubelets report that they use a disk."""
    return f"kubernetes.io/csi/{EBS}^{handle_of(volume)}"


class PodDisks:
    """Looks up the disks that pods mount."""

    def __init__(self, claims: Informer[Claim], volumes: Informer[Volume]) -> None:
        self._claims = claims
        self._volumes = volumes

    def of(self, pod: Pod) -> Iterator[Volume]:
        """Yield the volumes of a pod that have to be attached to its machine, as far as its claims have volumes."""
        for key in claim_keys(pod):
            volume = self._volume(key)
            if volume is not None and handle_of(volume) is not None:
                yield volume

    def are_bound(self, pod: Pod) -> bool:
        """Return whether each claim of a pod has its volume, and is not about to go."""
        return all(self._volume(key) is not None for key in claim_keys(pod))

    def of_all(self, pods: Iterable[Pod]) -> dict[str, tuple[Volume, list[Pod]]]:
        """Return the disks that some of these pods mount, by the volume's name, with those pods."""
        found: dict[str, tuple[Volume, list[Pod]]] = {}
        for pod in pods:
            for volume in self.of(pod):
                found.setdefault(volume.metadata.name, (volume, []))[1].append(pod)
        return found

    def _volume(self, key: ObjectKey) -> Volume | None:
        claim = self._claims.get(key)
        if claim is None or not claim.spec.volume_name or claim.status.phase != "Bound":
            return None
        return self._volumes.get(ObjectKey("", claim.spec.volume_name))
