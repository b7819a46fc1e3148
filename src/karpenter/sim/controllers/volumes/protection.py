"""Claims that pods mount and volumes that are bound outlive their deletion, by a finalizer that is kept till then.

Source: kubernetes.io/docs/concepts/storage/persistent-volumes, Storage Object in Use Protection.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey
from karpenter.runtime import kube as api
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import WatchEvent
from karpenter.sim.controllers.volumes.writing import Binding
from karpenter.sim.indexes import claim_keys
from karpenter.sim.standins import Context, Enqueue
from karpenter.sim.storagekinds import Claim, Volume

CLAIM_FINALIZER: Final = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER: Final = "kubernetes.io/pv-protection"


class ClaimProtection:
    """Keeps claims that are mounted."""

    name = "sim.volumes.claimprotection"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._informers = context.informers
        self._binding = Binding(context)

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a claim when it is new or going, and when a pod that mounts it ends."""

        def claim_changed(event: WatchEvent[Claim]) -> None:
            if event.object is not None and event.type != "DELETED":
                enqueue(event.object.metadata.key)

        def pod_changed(event: WatchEvent[Pod]) -> None:
            pod = event.object
            assert pod is not None
            if event.type == "DELETED" or pod.metadata.is_deleting:
                for key in claim_keys(pod):
                    enqueue(key)

        self._informers.claims.subscribe(claim_changed)
        self._informers.pods.subscribe(pod_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Put the finalizer on a claim, or take it off one that is going and that nobody mounts."""
        claim = self._informers.claims.get(key)
        if claim is None:
            return DONE
        finalizers = claim.metadata.finalizers
        if not claim.metadata.is_deleting:
            if CLAIM_FINALIZER not in finalizers:
                await self._binding.patch_claim(claim, {"metadata": {"finalizers": [*finalizers, CLAIM_FINALIZER]}})
        elif CLAIM_FINALIZER in finalizers and not await self._is_mounted(claim):
            kept = [one for one in finalizers if one != CLAIM_FINALIZER]
            await self._binding.patch_claim(claim, {"metadata": {"finalizers": kept or None}})
        return DONE

    async def _is_mounted(self, claim: Claim) -> bool:
        if _is_in_use(claim, self._informers.pods_by_claim.get(str(claim.metadata.key))):
            return True
        # The news of a pod may be on their way: a disk must not be taken from under it.
        listing = await self._kube.list(api.PODS, namespace=claim.metadata.namespace)
        return _is_in_use(claim, listing.items)


def _is_in_use(claim: Claim, pods: Iterable[Pod]) -> bool:
    """Return whether a pod that has a node mounts a claim; others cannot start any more."""
    return any(claim.metadata.key in claim_keys(pod) for pod in pods if pod.spec.node_name and not _is_shut_down(pod))


def _is_shut_down(pod: Pod) -> bool:
    return pod.metadata.is_deleting and pod.metadata.deletion_grace_period_seconds == 0


class VolumeProtection:
    """Keeps volumes that are bound. Keys are names."""

    name = "sim.volumes.volumeprotection"

    def __init__(self, context: Context) -> None:
        self._informers = context.informers
        self._binding = Binding(context)

    def watch(self, enqueue: Enqueue[str]) -> None:
        """Look at a volume when it changes."""

        def volume_changed(event: WatchEvent[Volume]) -> None:
            if event.object is not None and event.type != "DELETED":
                enqueue(event.object.metadata.name)

        self._informers.volumes.subscribe(volume_changed)

    async def reconcile(self, key: str) -> Result:
        """Put the finalizer on a volume, or take it off one that is going and not bound."""
        volume = self._informers.volumes.get(ObjectKey("", key))
        if volume is None:
            return DONE
        finalizers = volume.metadata.finalizers
        if not volume.metadata.is_deleting:
            if VOLUME_FINALIZER not in finalizers:
                await self._binding.patch_volume(volume, {"metadata": {"finalizers": [*finalizers, VOLUME_FINALIZER]}})
        elif VOLUME_FINALIZER in finalizers and volume.status.phase != "Bound":
            kept = [one for one in finalizers if one != VOLUME_FINALIZER]
            await self._binding.patch_volume(volume, {"metadata": {"finalizers": kept or None}})
        return DONE
