"""Binds claims and volumes, asks drivers for volumes that are missing, and releases those whose claim is gone.

Source: kubernetes.io/docs/concepts/storage/persistent-volumes; kube-controller-manager's persistent volume binder.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventType, ref_to
from karpenter.runtime.kube import NotFound, WatchEvent
from karpenter.sim.controllers.volumes.matching import best_match, is_meant_for, mismatch
from karpenter.sim.controllers.volumes.writing import BIND_COMPLETED, Binding
from karpenter.sim.disks import IN_TREE, NO_PROVISIONER, SELECTED_NODE
from karpenter.sim.standins import Context, Enqueue
from karpenter.sim.storagekinds import CLAIMS, Claim, StorageClass, Volume

COMPONENT: Final = "persistentvolume-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
_OLD_PROVISIONER: Final = "volume.beta.kubernetes.io/storage-provisioner"


class ClaimBinder:
    """Brings each claim to its volume."""

    name = "sim.volumes.claim"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._informers = context.informers
        self._binding = Binding(context)
        self._recorder = context.events.of(COMPONENT)

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a claim when it, its volume or a pod that mounts it changes, at unbound ones when classes do."""

        def claim_changed(event: WatchEvent[Claim]) -> None:
            if event.object is not None and event.type != "DELETED":
                enqueue(event.object.metadata.key)

        def volume_changed(event: WatchEvent[Volume]) -> None:
            assert event.object is not None
            reference = event.object.spec.claim_ref
            if reference is not None:
                enqueue(ObjectKey(reference.namespace, reference.name))
            elif event.type != "DELETED":
                self._enqueue_unbound(enqueue)

        def class_changed(_: WatchEvent[StorageClass]) -> None:
            self._enqueue_unbound(enqueue)

        self._informers.claims.subscribe(claim_changed)
        self._informers.volumes.subscribe(volume_changed)
        self._informers.storage_classes.subscribe(class_changed)

    def _enqueue_unbound(self, enqueue: Enqueue[ObjectKey]) -> None:
        for claim in self._informers.claims.values():
            if BIND_COMPLETED not in claim.metadata.annotations:
                enqueue(claim.metadata.key)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Bind one claim, ask for its volume, or say what it waits for."""
        claim = self._informers.claims.get(key)
        if claim is None:
            return DONE
        if BIND_COMPLETED in claim.metadata.annotations:
            await self._keep_bound(claim)
        elif claim.spec.volume_name:
            await self._bind_by_name(claim)
        else:
            await self._find_volume(claim)
        return DONE

    async def _keep_bound(self, claim: Claim) -> None:
        name = claim.spec.volume_name
        volume = self._informers.volumes.get(ObjectKey("", name))
        if not name:
            why = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            await self._lose(claim, "ClaimLost", why)
        elif volume is None:
            await self._lose(
                claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            )
        elif volume.spec.claim_ref is None or volume.spec.claim_ref.uid == claim.metadata.uid:
            await self._binding.bind(volume, claim)
        else:
            why = "Two claims are bound to the same volume, this one is bound incorrectly"
            await self._lose(claim, "ClaimMisbound", why)

    async def _lose(self, claim: Claim, reason: str, message: str) -> None:
        if claim.status.phase != "Lost":
            self._tell(claim, "Warning", reason, message)
        await self._binding.set_claim_phase(claim, "Lost")

    async def _bind_by_name(self, claim: Claim) -> None:
        """Bind a claim whose manifest names its volume."""
        volume = self._informers.volumes.get(ObjectKey("", claim.spec.volume_name))
        if volume is None:
            await self._binding.set_claim_phase(claim, "Pending")
            return
        if is_meant_for(volume, claim):
            await self._binding.bind(volume, claim)
            return
        if volume.spec.claim_ref is not None:
            message = f'volume "{volume.metadata.name}" already bound to a different claim.'
            self._tell(claim, "Warning", "FailedBinding", message)
        elif (why := mismatch(volume, claim)) is not None:
            message = f'Cannot bind to requested volume "{volume.metadata.name}": {why}'
            self._tell(claim, "Warning", "VolumeMismatch", message)
        else:
            await self._binding.bind(volume, claim)
            return
        await self._binding.set_claim_phase(claim, "Pending")

    async def _find_volume(self, claim: Claim) -> None:
        chosen = self._class_of(claim)
        binds_late = chosen is not None and chosen.volume_binding_mode == "WaitForFirstConsumer"
        volume = best_match(claim, self._informers.volumes.values(), binds_late=binds_late)
        if volume is not None:
            await self._binding.bind(volume, claim)
        elif claim.spec.storage_class_name is None and (default := self._default_class()) is not None:
            await self._binding.patch_claim(claim, {"spec": {"storageClassName": default.metadata.name}})
        elif binds_late and SELECTED_NODE not in claim.metadata.annotations:
            self._tell_of_waiting(claim)
        elif claim.spec.storage_class_name:
            await self._ask_for_volume(claim, chosen)
        else:
            message = "no persistent volumes available for this claim and no storage class is set"
            self._tell(claim, "Normal", "FailedBinding", message)

    def _class_of(self, claim: Claim) -> StorageClass | None:
        return self._informers.storage_classes.get(ObjectKey("", claim.spec.storage_class_name or ""))

    def _default_class(self) -> StorageClass | None:
        """Return the class for claims that name none; the newest of several."""
        found = [
            one
            for one in self._informers.storage_classes.values()
            if one.metadata.annotations.get(labels.IS_DEFAULT_STORAGE_CLASS) == "true"
        ]
        # The newest; of two as old the one whose name comes first.
        by_name = sorted(found, key=lambda one: one.metadata.name)
        return max(by_name, key=lambda one: one.metadata.creation_timestamp or "", default=None)

    def _tell_of_waiting(self, claim: Claim) -> None:
        names = sorted(pod.metadata.name for pod in self._consumers(claim) if not pod.spec.node_name)
        if not names:
            message = "waiting for first consumer to be created before binding"
            self._tell(claim, "Normal", "WaitForFirstConsumer", message)
            return
        pods = f"pods {','.join(names)}" if len(names) > 1 else f"pod {names[0]}"
        self._tell(claim, "Normal", "WaitForPodScheduled", f"waiting for {pods} to be scheduled")

    def _consumers(self, claim: Claim) -> Iterable[Pod]:
        return self._informers.pods_by_claim.get(str(claim.metadata.key))

    async def _ask_for_volume(self, claim: Claim, chosen: StorageClass | None) -> None:
        """Leave a claim to the driver of its class."""
        if chosen is None:
            why = f'storageclass.storage.k8s.io "{claim.spec.storage_class_name}" not found'
            self._tell(claim, "Warning", "ProvisioningFailed", why)
            return
        driver = IN_TREE.get(chosen.provisioner, chosen.provisioner)
        if driver == NO_PROVISIONER:
            self._tell(claim, "Warning", "ProvisioningFailed", "no volume plugin matched")
            return
        if claim.metadata.annotations.get(PROVISIONER) != driver:
            annotations = {PROVISIONER: driver, _OLD_PROVISIONER: driver}
            claim = await self._binding.patch_claim(claim, {"metadata": {"annotations": annotations}})
        message = (
            f"Waiting for a volume to be created either by the external provisioner '{driver}' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered."
        )
        self._tell(claim, "Normal", "ExternalProvisioning", message)

    def _tell(self, claim: Claim, kind: EventType, reason: str, message: str) -> None:  # noqa: PLR0917 - as kubectl shows
        self._recorder.record(ref_to(CLAIMS, claim), kind, reason, message)


class VolumeBinder:
    """Keeps the phase of each volume true, and lets go of volumes whose claim is gone. Keys are names."""

    name = "sim.volumes.volume"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._informers = context.informers
        self._binding = Binding(context)

    def watch(self, enqueue: Enqueue[str]) -> None:
        """Look at a volume when it or the claim that it is for changes."""

        def volume_changed(event: WatchEvent[Volume]) -> None:
            if event.object is not None and event.type != "DELETED":
                enqueue(event.object.metadata.name)

        def claim_changed(event: WatchEvent[Claim]) -> None:
            assert event.object is not None
            for volume in self._informers.volumes_by_claim.get(str(event.object.metadata.key)):
                enqueue(volume.metadata.name)

        self._informers.volumes.subscribe(volume_changed)
        self._informers.claims.subscribe(claim_changed)

    async def reconcile(self, key: str) -> Result:
        """Bring one volume's phase up to date."""
        volume = self._informers.volumes.get(ObjectKey("", key))
        if volume is None:
            return DONE
        reference = volume.spec.claim_ref
        if reference is None or not reference.uid:
            await self._binding.set_phase(volume, "Available")
            return DONE
        claim = await self._claim_of(volume)
        if claim is None:
            if volume.status.phase != "Failed":
                await self._binding.set_phase(volume, "Released")
        elif claim.spec.volume_name == key:
            await self._binding.set_phase(volume, "Bound")
        elif claim.spec.volume_name:
            await self._give_up(volume)
        return DONE

    async def _claim_of(self, volume: Volume) -> Claim | None:
        """Return the very claim that a volume is for, asking the API before it is called gone."""
        reference = volume.spec.claim_ref
        assert reference is not None
        claim = self._informers.claims.get(ObjectKey(reference.namespace, reference.name))
        if claim is None or claim.metadata.uid != reference.uid:
            if volume.status.phase == "Released":
                return None
            try:
                claim = await self._kube.get(CLAIMS, reference.name, namespace=reference.namespace)
            except NotFound:
                return None
        return claim if claim.metadata.uid == reference.uid else None

    async def _give_up(self, volume: Volume) -> None:
        """Take a volume from a claim that got another one; one that was made for the claim is of no use to others."""
        was_made_for_it = PROVISIONED_BY in volume.metadata.annotations
        if was_made_for_it and volume.spec.persistent_volume_reclaim_policy == "Delete":
            await self._binding.set_phase(volume, "Released")
        else:
            await self._binding.unbind(volume)
