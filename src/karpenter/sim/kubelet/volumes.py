"""What kubelets do about volumes: a pod starts once its disks are attached, and the node says which ones are in use."""

from __future__ import annotations

from typing import Any

from karpenter.model.core import Pod
from karpenter.model.pods import is_terminal
from karpenter.model.units import ObjectKey
from karpenter.runtime import kube as api
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import NotFound, WatchEvent
from karpenter.sim.disks import PodDisks, unique_name
from karpenter.sim.informers import SharedInformers
from karpenter.sim.kubelet.machines import Machines
from karpenter.sim.standins import Context, Enqueue


class Mounts:
    """Which pods have all that they mount."""

    def __init__(self, informers: SharedInformers) -> None:
        self._informers = informers
        self._disks = PodDisks(informers.claims, informers.volumes)

    def are_ready(self, pod: Pod) -> bool:
        """Return whether each claim of a pod is bound and each disk attached to the pod's node."""
        if not self._disks.are_bound(pod):
            return False
        attached = {
            one.spec.source.persistent_volume_name
            for one in self._informers.attachments_by_node.get(pod.spec.node_name)
            if one.status.attached and not one.metadata.is_deleting
        }
        return all(volume.metadata.name in attached for volume in self._disks.of(pod))


class VolumeAgent:
    """Keeps true what nodes say about the disks that their pods mount: no disk is detached before."""

    name = "sim.kubelet.volume"

    def __init__(self, context: Context, machines: Machines) -> None:
        self._kube = context.kube
        self._informers = context.informers
        self._machines = machines
        self._disks = PodDisks(context.informers.claims, context.informers.volumes)

    def watch(self, enqueue: Enqueue[str]) -> None:
        """Look at a node when a pod with volumes comes, ends or goes, and when a claim is bound."""

        def pod_changed(event: WatchEvent[Pod]) -> None:
            pod = event.object
            assert pod is not None
            if pod.spec.node_name and pod.spec.volumes:
                enqueue(pod.spec.node_name)

        def claim_changed(event: WatchEvent[Any]) -> None:
            assert event.object is not None
            for pod in self._informers.pods_by_claim.get(str(event.object.metadata.key)):
                if pod.spec.node_name:
                    enqueue(pod.spec.node_name)

        self._informers.pods.subscribe(pod_changed)
        self._informers.claims.subscribe(claim_changed)
        self._machines.subscribe(enqueue)

    async def reconcile(self, key: str) -> Result:
        """Write down which disks one node's pods mount, if its kubelet still runs."""
        node = self._informers.nodes.get(ObjectKey("", key))
        if node is None or self._machines.power(key) is None:
            return DONE
        pods = [pod for pod in self._informers.pods_by_node.get(key) if not is_terminal(pod)]
        in_use = tuple(sorted(unique_name(volume) for volume, _ in self._disks.of_all(pods).values()))
        if in_use == node.status.volumes_in_use:
            return DONE
        status = {"status": {"volumesInUse": list(in_use) or None}}
        try:
            written = await self._kube.patch(api.NODES, key, status, subresource="status")
        except NotFound:
            return DONE
        self._informers.nodes.fold(written)
        return DONE
