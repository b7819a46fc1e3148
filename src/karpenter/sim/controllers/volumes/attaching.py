"""Attach and detach: a VolumeAttachment for each disk that pods of a node mount, for as long as they do.

Source: kube-controller-manager's attach-detach controller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpenter.model.core import Node, Pod
from karpenter.model.meta import find_condition
from karpenter.model.pods import is_terminal
from karpenter.model.storage import VolumeAttachment
from karpenter.model.units import ObjectKey, UnixSeconds
from karpenter.runtime import kube as api
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventType, ref_to
from karpenter.runtime.kube import AlreadyExists, Conflict, NotFound, WatchEvent
from karpenter.sim.controllers.volumes.disk import attachment_name
from karpenter.sim.disks import EBS, PodDisks, handle_of, unique_name
from karpenter.sim.standins import Context, Enqueue
from karpenter.sim.storagekinds import ATTACHMENTS, Attachment, Claim, Volume

COMPONENT: Final = "attachdetach-controller"
PATIENCE_S: Final = 360.0
"""For how long the kubelet of a node that is not well is given to say that it let go of a disk."""
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_SHARED: Final = frozenset({"ReadWriteMany", "ReadOnlyMany"})


class AttachDetach:
    """Attaches what pods mount and detaches what nobody on a node mounts any more. Keys are names of nodes."""

    name = "sim.volumes.attachdetach"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)
        self._disks = PodDisks(context.informers.claims, context.informers.volumes)
        self._last_in_use: dict[str, tuple[str, ...]] = {}
        """What the kubelets of nodes that are gone used last."""
        self._unwanted_since: dict[str, UnixSeconds] = {}
        """By uid of the attachment."""
        self._announced: set[str] = set()
        """Uids of attachments that events told of, or will not any more."""

    def watch(self, enqueue: Enqueue[str]) -> None:
        """Look at a node when it, a pod on it, an attachment of its disks or a claim of its pods changes."""

        def node_changed(event: WatchEvent[Node]) -> None:
            node = event.object
            assert node is not None
            name = node.metadata.name
            if event.type == "DELETED":
                self._last_in_use[name] = node.status.volumes_in_use
            else:
                self._last_in_use.pop(name, None)
            if self._informers.attachments_by_node.get(name):
                enqueue(name)

        def pod_changed(event: WatchEvent[Pod]) -> None:
            pod = event.object
            assert pod is not None
            if pod.spec.node_name and pod.spec.volumes:
                enqueue(pod.spec.node_name)

        def attachment_changed(event: WatchEvent[Attachment]) -> None:
            assert event.object is not None
            enqueue(event.object.spec.node_name)
            if event.type == "DELETED":
                self._unwanted_since.pop(event.object.metadata.uid, None)
                self._announced.discard(event.object.metadata.uid)
                for node in self._nodes_that_want(event.object.spec.source.persistent_volume_name or ""):
                    enqueue(node)

        def claim_changed(event: WatchEvent[Claim]) -> None:
            assert event.object is not None
            for pod in self._informers.pods_by_claim.get(str(event.object.metadata.key)):
                if pod.spec.node_name:
                    enqueue(pod.spec.node_name)

        for one in self._informers.attachments.values():
            if one.status.attached:
                self._announced.add(one.metadata.uid)
        self._informers.nodes.subscribe(node_changed)
        self._informers.pods.subscribe(pod_changed)
        self._informers.attachments.subscribe(attachment_changed)
        self._informers.claims.subscribe(claim_changed)

    def _nodes_that_want(self, volume: str) -> set[str]:
        found = self._informers.volumes.get(ObjectKey("", volume))
        reference = found.spec.claim_ref if found is not None else None
        if reference is None:
            return set()
        pods = self._informers.pods_by_claim.get(str(ObjectKey(reference.namespace, reference.name)))
        return {pod.spec.node_name for pod in pods if pod.spec.node_name}

    async def reconcile(self, key: str) -> Result:
        """Attach to one node what its pods mount, and detach the rest."""
        pods = [pod for pod in self._informers.pods_by_node.get(key) if not is_terminal(pod)]
        wanted = self._disks.of_all(pods)
        present = [one for one in self._informers.attachments_by_node.get(key) if one.spec.attacher == EBS]
        waits = [await self._let_go(one) for one in present if _volume_name(one) not in wanted]
        there = {_volume_name(one): one for one in present}
        for name, (volume, users) in wanted.items():
            if name not in there:
                await self._attach(key, volume, users)
            elif there[name].status.attached:
                self._announce(there[name], volume, users)
        left = [wait_s for wait_s in waits if wait_s is not None]
        return Result(min(left)) if left else DONE

    # attaching --------------------------------------------------------------------------------------------------------

    async def _attach(self, node: str, volume: Volume, users: Sequence[Pod]) -> None:
        if self._informers.nodes.get(ObjectKey("", node)) is None:
            return
        elsewhere = self._informers.attachments_by_volume.get(volume.metadata.name)
        if elsewhere and not _SHARED & set(volume.spec.access_modes):
            message = f'Multi-Attach error for volume "{volume.metadata.name}" {self._why_elsewhere(volume, elsewhere)}'
            self._tell(users, "Warning", "FailedAttachVolume", message)
            return
        handle = handle_of(volume)
        assert handle is not None
        body = {
            "apiVersion": ATTACHMENTS.api_version,
            "kind": ATTACHMENTS.kind,
            "metadata": {"name": attachment_name(handle, node)},
            "spec": {"attacher": EBS, "nodeName": node, "source": {"persistentVolumeName": volume.metadata.name}},
        }
        try:
            written = await self._kube.create(ATTACHMENTS, body)
        except AlreadyExists:
            return  # its news are on their way
        self._informers.attachments.fold(written)

    def _why_elsewhere(self, volume: Volume, elsewhere: Sequence[Attachment]) -> str:
        nodes = {one.spec.node_name for one in elsewhere}
        reference = volume.spec.claim_ref
        pods = (
            self._informers.pods_by_claim.get(str(ObjectKey(reference.namespace, reference.name))) if reference else ()
        )
        names = sorted(pod.metadata.name for pod in pods if pod.spec.node_name in nodes and not is_terminal(pod))
        if names:
            return f"Volume is already used by pod(s) {', '.join(names)}"
        return "Volume is already exclusively attached to one node and can't be attached to another"

    def _announce(self, one: Attachment, volume: Volume, users: Sequence[Pod]) -> None:
        if one.metadata.uid not in self._announced:
            self._announced.add(one.metadata.uid)
            message = f'AttachVolume.Attach succeeded for volume "{volume.metadata.name}" '
            self._tell(users, "Normal", "SuccessfulAttachVolume", message)

    def _tell(self, pods: Sequence[Pod], kind: EventType, reason: str, message: str) -> None:  # noqa: PLR0917 - as kubectl shows
        for pod in pods:
            self._recorder.record(ref_to(api.PODS, pod), kind, reason, message)

    # detaching --------------------------------------------------------------------------------------------------------

    async def _let_go(self, one: Attachment) -> float | None:
        """Delete an attachment that nobody wants; return in how many seconds to try again if it is too early."""
        if one.metadata.is_deleting:
            return None
        now = self._clock.now()
        since = self._unwanted_since.setdefault(one.metadata.uid, now)
        if self._is_mounted(one):
            node = self._informers.nodes.get(ObjectKey("", one.spec.node_name))
            if node is not None and _is_well(node):
                return None  # its kubelet will say
            if not _is_out_of_service(node) and now < since + PATIENCE_S:
                return since + PATIENCE_S - now
        try:
            await self._kube.delete(ATTACHMENTS, one.metadata.name, uid=one.metadata.uid)
        except (NotFound, Conflict):
            self._informers.attachments.fold_deleted(one.metadata.key, one.metadata.uid)
        return None

    def _is_mounted(self, one: Attachment) -> bool:
        """Return whether the node's kubelet says that it uses a disk, or said so last."""
        volume = self._informers.volumes.get(ObjectKey("", _volume_name(one)))
        if volume is None:
            return False
        name = one.spec.node_name
        node = self._informers.nodes.get(ObjectKey("", name))
        in_use = node.status.volumes_in_use if node is not None else self._last_in_use.get(name, ())
        return unique_name(volume) in in_use


def _volume_name(one: VolumeAttachment) -> str:
    return one.spec.source.persistent_volume_name or ""


def _is_well(node: Node) -> bool:
    ready = find_condition(node.status.conditions, "Ready")
    return ready is not None and ready.is_true


def _is_out_of_service(node: Node | None) -> bool:
    return node is not None and any(taint.key == _OUT_OF_SERVICE for taint in node.spec.taints)
