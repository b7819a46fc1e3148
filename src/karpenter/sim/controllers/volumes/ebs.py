"""The controllers of the EBS driver: disks are made for claims, attached to machines, detached, and deleted.

Source: behaviour of external-provisioner and external-attacher, the sidecars of CSI drivers.
"""

from __future__ import annotations

from typing import Final

from karpenter.model.units import ObjectKey, UnixSeconds
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventType, ref_to
from karpenter.runtime.kube import AlreadyExists, Conflict, NotFound, WatchEvent
from karpenter.sim.controllers.volumes.binder import PROVISIONED_BY, PROVISIONER
from karpenter.sim.controllers.volumes.disk import (
    ATTACHER_FINALIZER,
    DELETER_FINALIZER,
    ZoneProblem,
    choose_zone,
    new_volume,
    volume_name,
)
from karpenter.sim.controllers.volumes.writing import Binding
from karpenter.sim.disks import EBS, SELECTED_NODE, DiskPace
from karpenter.sim.standins import Context, Enqueue
from karpenter.sim.storagekinds import ATTACHMENTS, CLAIMS, VOLUMES, Attachment, Claim, StorageClass, Volume

_RETRY_S: Final = 10.0
"""For what cannot be made yet and may be later, without news."""


class Timers:
    """How long ago things began, by uid: known as long as the process lives, and counted anew after that."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun: dict[str, UnixSeconds] = {}

    def left_s(self, uid: str, lasts_s: float) -> float:
        """Return how many seconds of something are left; it begins when it is first asked for."""
        now = self._clock.now()
        return self._begun.setdefault(uid, now) + lasts_s - now

    def has_begun(self, uid: str) -> bool:
        """Return whether something is under way."""
        return uid in self._begun

    def forget(self, uid: str) -> None:
        """Forget what is over."""
        self._begun.pop(uid, None)


class DiskProvisioner:
    """Makes the disks that claims wait for."""

    name = "sim.ebs.provisioner"

    def __init__(self, context: Context, pace: DiskPace) -> None:
        self._kube = context.kube
        self._informers = context.informers
        self._binding = Binding(context)
        self._recorder = context.events.of(EBS)
        self._pace = pace
        self._timers = Timers(context.clock)

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a claim when it changes."""

        def claim_changed(event: WatchEvent[Claim]) -> None:
            assert event.object is not None
            if event.type == "DELETED":
                self._timers.forget(event.object.metadata.uid)
            elif event.object.metadata.annotations.get(PROVISIONER) == EBS:
                enqueue(event.object.metadata.key)

        self._informers.claims.subscribe(claim_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Make one claim's disk, where its pod is to run if that decides."""
        claim = self._informers.claims.get(key)
        if claim is None or claim.spec.volume_name or claim.metadata.is_deleting:
            return DONE
        chosen = self._informers.storage_classes.get(ObjectKey("", claim.spec.storage_class_name or ""))
        node = claim.metadata.annotations.get(SELECTED_NODE)
        if chosen is None or (chosen.volume_binding_mode == "WaitForFirstConsumer" and not node):
            return DONE
        if self._informers.volumes.get(ObjectKey("", volume_name(claim))) is not None:
            return DONE  # it is there already, and only its binding is to come
        return await self._make(claim, chosen, node)

    async def _make(self, claim: Claim, chosen: StorageClass, node: str | None) -> Result:
        if node is not None and self._informers.nodes.get(ObjectKey("", node)) is None:
            self._tell(claim, "Warning", "ProvisioningFailed", f'node "{node}" not found')
            # The scheduler sees that its choice is taken back, and chooses again.
            await self._binding.patch_claim(claim, {"metadata": {"annotations": {SELECTED_NODE: None}}})
            return DONE
        try:
            zone = choose_zone(claim, chosen, self._informers.nodes.values(), selected=node)
        except ZoneProblem as problem:
            why = f'failed to provision volume with StorageClass "{chosen.metadata.name}": {problem}'
            self._tell(claim, "Warning", "ProvisioningFailed", why)
            return Result(_RETRY_S)
        if not self._timers.has_begun(claim.metadata.uid):
            about = f'External provisioner is provisioning volume for claim "{claim.metadata.key}"'
            self._tell(claim, "Normal", "Provisioning", about)
        left_s = self._timers.left_s(claim.metadata.uid, self._pace.create(claim.metadata.uid))
        if left_s > 0:
            return Result(left_s)
        try:
            volume = await self._kube.create(VOLUMES, new_volume(claim, chosen, zone))
        except AlreadyExists:
            volume = await self._kube.get(VOLUMES, volume_name(claim))
        self._timers.forget(claim.metadata.uid)
        self._informers.volumes.fold(volume)
        done = f"Successfully provisioned volume {volume.metadata.name}"
        self._tell(claim, "Normal", "ProvisioningSucceeded", done)
        return DONE

    def _tell(self, claim: Claim, kind: EventType, reason: str, message: str) -> None:  # noqa: PLR0917 - as kubectl shows
        self._recorder.record(ref_to(CLAIMS, claim), kind, reason, message)


class DiskDeleter:
    """Deletes the disks of volumes that are released and were to be deleted then. Keys are names of volumes."""

    name = "sim.ebs.deleter"

    def __init__(self, context: Context, pace: DiskPace) -> None:
        self._kube = context.kube
        self._informers = context.informers
        self._binding = Binding(context)
        self._recorder = context.events.of(EBS)
        self._pace = pace
        self._timers = Timers(context.clock)

    def watch(self, enqueue: Enqueue[str]) -> None:
        """Look at a volume when it changes, or is detached."""

        def volume_changed(event: WatchEvent[Volume]) -> None:
            assert event.object is not None
            if event.type == "DELETED":
                self._timers.forget(event.object.metadata.uid)
            else:
                enqueue(event.object.metadata.name)

        def attachment_changed(event: WatchEvent[Attachment]) -> None:
            assert event.object is not None
            name = event.object.spec.source.persistent_volume_name
            if event.type == "DELETED" and name:
                enqueue(name)

        self._informers.volumes.subscribe(volume_changed)
        self._informers.attachments.subscribe(attachment_changed)

    async def reconcile(self, key: str) -> Result:
        """Delete one volume with its disk if its time has come; a machine keeps it till it is detached."""
        volume = self._informers.volumes.get(ObjectKey("", key))
        if volume is None or not _is_to_be_deleted(volume):
            return DONE
        attached = self._informers.attachments_by_volume.get(key)
        if attached:
            message = f"persistentvolume {key} is still attached to node {attached[0].spec.node_name}"
            self._recorder.record(ref_to(VOLUMES, volume), "Warning", "VolumeFailedDelete", message)
            return DONE
        left_s = self._timers.left_s(volume.metadata.uid, self._pace.delete(volume.metadata.uid))
        if left_s > 0:
            return Result(left_s)
        try:
            await self._kube.delete(VOLUMES, key, uid=volume.metadata.uid)
        except (NotFound, Conflict):
            return DONE
        if DELETER_FINALIZER in volume.metadata.finalizers:
            kept = [one for one in volume.metadata.finalizers if one != DELETER_FINALIZER]
            current = await self._kube.get(VOLUMES, key)  # it has its deletion time by now
            await self._binding.patch_volume(current, {"metadata": {"finalizers": kept or None}})
        return DONE


def _is_to_be_deleted(volume: Volume) -> bool:
    if volume.metadata.is_deleting and DELETER_FINALIZER not in volume.metadata.finalizers:
        return False  # its disk is gone
    return (
        volume.status.phase == "Released"
        and volume.spec.persistent_volume_reclaim_policy == "Delete"
        and (volume.metadata.annotations.get(PROVISIONED_BY) == EBS or _is_of_driver(volume))
    )


def _is_of_driver(volume: Volume) -> bool:
    return volume.spec.csi is not None and volume.spec.csi.driver == EBS


class DiskAttacher:
    """Attaches disks as VolumeAttachments ask for it, and detaches those whose VolumeAttachment is being deleted."""

    name = "sim.ebs.attacher"

    def __init__(self, context: Context, pace: DiskPace) -> None:
        self._kube = context.kube
        self._informers = context.informers
        self._pace = pace
        self._timers = Timers(context.clock)

    def watch(self, enqueue: Enqueue[str]) -> None:
        """Look at an attachment when it changes. Keys are names."""

        def attachment_changed(event: WatchEvent[Attachment]) -> None:
            assert event.object is not None
            if event.object.spec.attacher != EBS:
                return
            if event.type == "DELETED":
                self._timers.forget(_coming(event.object))
                self._timers.forget(_going(event.object))
            else:
                enqueue(event.object.metadata.name)

        self._informers.attachments.subscribe(attachment_changed)

    async def reconcile(self, key: str) -> Result:
        """Take the next step with one attachment."""
        one = self._informers.attachments.get(ObjectKey("", key))
        if one is None:
            return DONE
        return await (self._detach(one) if one.metadata.is_deleting else self._attach(one))

    async def _attach(self, one: Attachment) -> Result:
        if ATTACHER_FINALIZER not in one.metadata.finalizers:
            metadata = {
                "resourceVersion": one.metadata.resource_version,
                "finalizers": [*one.metadata.finalizers, ATTACHER_FINALIZER],
            }
            one = await self._kube.patch(ATTACHMENTS, one.metadata.name, {"metadata": metadata})
            self._informers.attachments.fold(one)
        if one.status.attached:
            return DONE
        left_s = self._timers.left_s(_coming(one), self._pace.attach(one.metadata.name))
        if left_s > 0:
            return Result(left_s)
        status = {"status": {"attached": True, "attachmentMetadata": {"devicePath": "/dev/xvdaa"}}}
        written = await self._kube.patch(ATTACHMENTS, one.metadata.name, status, subresource="status")
        self._informers.attachments.fold(written)
        return DONE

    async def _detach(self, one: Attachment) -> Result:
        if ATTACHER_FINALIZER not in one.metadata.finalizers:
            return DONE
        left_s = self._timers.left_s(_going(one), self._pace.detach(one.metadata.name)) if one.status.attached else 0.0
        if left_s > 0:
            return Result(left_s)
        kept = [finalizer for finalizer in one.metadata.finalizers if finalizer != ATTACHER_FINALIZER]
        metadata = {"resourceVersion": one.metadata.resource_version, "finalizers": kept or None}
        await self._kube.patch(ATTACHMENTS, one.metadata.name, {"metadata": metadata})
        if not kept:
            self._informers.attachments.fold_deleted(one.metadata.key, one.metadata.uid)
        return DONE


def _coming(one: Attachment) -> str:
    return f"attach/{one.metadata.uid}"


def _going(one: Attachment) -> str:
    return f"detach/{one.metadata.uid}"
