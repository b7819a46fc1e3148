"""The writes that bind claims and volumes to each other, volume first: whoever finds half of it can finish it."""

from __future__ import annotations

from typing import Any, Final

from karpenter.runtime.kube import RawObject
from karpenter.sim.controllers.volumes.matching import is_meant_for
from karpenter.sim.standins import Context
from karpenter.sim.storagekinds import CLAIMS, VOLUMES, Claim, Volume

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"


class Binding:
    """Writes claims and volumes, and folds the answers in."""

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._informers = context.informers

    async def bind(self, volume: Volume, claim: Claim) -> None:
        """Bind a claim and a volume to each other, as far as they are not yet. Raises Conflict when either changed."""
        volume = await self._point_to_claim(volume, claim)
        volume = await self.set_phase(volume, "Bound")
        claim = await self._point_to_volume(claim, volume)
        await self._tell_bound(claim, volume)

    async def _point_to_claim(self, volume: Volume, claim: Claim) -> Volume:
        reference = volume.spec.claim_ref
        if reference is not None and reference.uid == claim.metadata.uid:
            return volume
        namespace, name = claim.metadata.key
        body: RawObject = {
            "spec": {
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": namespace,
                    "name": name,
                    "uid": claim.metadata.uid,
                    "resourceVersion": claim.metadata.resource_version,
                }
            }
        }
        if not is_meant_for(volume, claim):  # else somebody kept it for this claim, and may keep it on
            body["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
        return await self.patch_volume(volume, body)

    async def _point_to_volume(self, claim: Claim, volume: Volume) -> Claim:
        annotations: dict[str, str] = {}
        spec: RawObject = {}
        if claim.spec.volume_name != volume.metadata.name:
            spec = {"spec": {"volumeName": volume.metadata.name}}
            annotations[BOUND_BY_CONTROLLER] = "yes"
        if BIND_COMPLETED not in claim.metadata.annotations:
            annotations[BIND_COMPLETED] = "yes"
        if not annotations:
            return claim
        return await self.patch_claim(claim, {"metadata": {"annotations": annotations}, **spec})

    async def _tell_bound(self, claim: Claim, volume: Volume) -> None:
        modes = volume.spec.access_modes
        if claim.status.phase != "Bound":
            capacity = {"storage": volume.spec.capacity.get("storage", "0")}
            await self._patch_claim_status(claim, {"phase": "Bound", "accessModes": list(modes), "capacity": capacity})
        elif claim.status.access_modes != modes:
            await self._patch_claim_status(claim, {"accessModes": list(modes)})

    async def unbind(self, volume: Volume) -> None:
        """Take a volume from a claim that has another one; one that was kept for the claim by hand stays kept."""
        if BOUND_BY_CONTROLLER in volume.metadata.annotations:
            body: RawObject = {
                "metadata": {"annotations": {BOUND_BY_CONTROLLER: None}},
                "spec": {"claimRef": None},
            }
        else:
            body = {"spec": {"claimRef": {"uid": None}}}
        volume = await self.patch_volume(volume, body)
        await self.set_phase(volume, "Available")

    async def set_claim_phase(self, claim: Claim, phase: str) -> None:
        """Say of a claim that it is `Pending` or `Lost`."""
        if claim.status.phase != phase or claim.status.access_modes or claim.status.capacity:
            await self._patch_claim_status(claim, {"phase": phase, "accessModes": None, "capacity": None})

    async def set_phase(self, volume: Volume, phase: str) -> Volume:
        """Say of a volume that it is `Available`, `Bound` or `Released`."""
        if volume.status.phase == phase:
            return volume
        written = await self._kube.patch(
            VOLUMES, volume.metadata.name, {"status": {"phase": phase}}, subresource="status"
        )
        self._informers.volumes.fold(written)
        return written

    async def patch_volume(self, volume: Volume, body: RawObject) -> Volume:
        """Change a volume unless it changed meanwhile. Raises Conflict then."""
        written = await self._kube.patch(VOLUMES, volume.metadata.name, _versioned(volume, body))
        self._informers.volumes.fold(written)
        return written

    async def patch_claim(self, claim: Claim, body: RawObject) -> Claim:
        """Change a claim unless it changed meanwhile. Raises Conflict then."""
        namespace, name = claim.metadata.key
        written = await self._kube.patch(CLAIMS, name, _versioned(claim, body), namespace=namespace)
        self._informers.claims.fold(written)
        return written

    async def _patch_claim_status(self, claim: Claim, status: RawObject) -> None:
        namespace, name = claim.metadata.key
        written = await self._kube.patch(CLAIMS, name, {"status": status}, namespace=namespace, subresource="status")
        self._informers.claims.fold(written)


def _versioned(one: Claim | Volume, body: RawObject) -> RawObject:
    metadata: dict[str, Any] = body.get("metadata") or {}
    return {**body, "metadata": {**metadata, "resourceVersion": one.metadata.resource_version}}
