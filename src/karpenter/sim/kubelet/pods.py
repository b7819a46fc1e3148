"""The pod side of a kubelet: pods that were given to a node start there, run, and stop when told to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from karpenter.model.core import Pod
from karpenter.model.pods import is_terminal
from karpenter.model.units import ObjectKey, UnixSeconds, from_rfc3339
from karpenter.runtime import kube as api
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import ref_to
from karpenter.runtime.kube import Conflict, NotFound, WatchEvent
from karpenter.sim.kubelet import podstatus
from karpenter.sim.kubelet.boot import Machine, Power
from karpenter.sim.kubelet.endings import may_end
from karpenter.sim.kubelet.machines import Machines
from karpenter.sim.kubelet.nodes import COMPONENT
from karpenter.sim.kubelet.podstatus import Manifest, Pace
from karpenter.sim.kubelet.running import Courses
from karpenter.sim.kubelet.volumes import Mounts
from karpenter.sim.standins import Context, Enqueue
from karpenter.sim.storagekinds import Attachment, Claim


@dataclass(frozen=True, slots=True)
class _Sandbox:
    """What a kubelet remembers of a pod, to the fraction of a second that the API does not keep."""

    uid: str
    started_at: UnixSeconds | None = None
    mounted_at: UnixSeconds | None = None
    stopping_at: UnixSeconds | None = None


class PodAgent:
    """Brings each bound pod to running, and each deleted one to its end."""

    name = "sim.kubelet.pod"

    def __init__(self, context: Context, machines: Machines, pace: Pace) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)
        self._machines = machines
        self._pace = pace
        self._mounts = Mounts(context.informers)
        self._courses = Courses(context.kube)
        self._sandboxes: dict[ObjectKey, _Sandbox] = {}

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a pod when it or a volume of it changes, and at all pods of a node when its machine does."""

        def pod_changed(event: WatchEvent[Pod]) -> None:
            assert event.object is not None
            if event.object.spec.node_name or event.type == "DELETED":
                enqueue(event.object.metadata.key)

        def machine_changed(node: str) -> None:
            for pod in self._informers.pods_by_node.get(node):
                enqueue(pod.metadata.key)

        def attachment_changed(event: WatchEvent[Attachment]) -> None:
            assert event.object is not None
            for pod in self._informers.pods_by_node.get(event.object.spec.node_name):
                if pod.spec.volumes:
                    enqueue(pod.metadata.key)

        def claim_changed(event: WatchEvent[Claim]) -> None:
            assert event.object is not None
            for pod in self._informers.pods_by_claim.get(str(event.object.metadata.key)):
                if pod.spec.node_name:
                    enqueue(pod.metadata.key)

        self._informers.pods.subscribe(pod_changed)
        self._informers.attachments.subscribe(attachment_changed)
        self._informers.claims.subscribe(claim_changed)
        self._machines.subscribe(machine_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Take the next step with one pod."""
        pod = self._informers.pods.get(key)
        if pod is None:
            gone = self._sandboxes.pop(key, None)
            if gone is not None:
                self._courses.forget(gone.uid)
            return DONE
        if self._sandboxes.get(key, _Sandbox("")).uid != pod.metadata.uid:
            self._sandboxes[key] = _Sandbox(pod.metadata.uid)
        node = pod.spec.node_name
        machine = self._machines.on(node)
        if machine is None:
            if self._machines.power(node) is not Power.STOPPING:
                return DONE
            if not pod.metadata.is_deleting:
                await self._end_with_machine(pod)
                return DONE
        if pod.metadata.is_deleting:
            return await self._stop(pod)
        assert machine is not None
        if is_terminal(pod):
            return DONE
        if pod.status.phase == "Running":
            return await self._go_on(pod, machine)
        return await self._start(pod, machine)

    # starting ---------------------------------------------------------------------------------------------------------

    async def _start(self, pod: Pod, machine: Machine) -> Result:
        now = self._clock.now()
        if now < machine.ready_at and not pod.spec.host_network:
            return Result(machine.ready_at - now)
        started_at = self._started_at(pod)
        if started_at is None:
            await self._write_status(pod, podstatus.creating(pod, now, host_ip=machine.address))
            started_at = now
            self._remember(pod, started_at=now)
        mounted_at = self._mounted_at(pod, started_at)
        if mounted_at is None:
            return DONE  # its volumes will wake us
        runs_at = mounted_at + self._pace.start(pod) + self._pace.init(pod)
        if now < runs_at:
            return Result(runs_at - now)
        await self._write_status(pod, podstatus.running(pod, now, host_ip=machine.address))
        for container in pod.spec.containers:
            self._recorder.record(ref_to(api.PODS, pod), "Normal", "Started", f"Started container {container.name}")
        return DONE

    def _started_at(self, pod: Pod) -> UnixSeconds | None:
        remembered = self._sandboxes[pod.metadata.key].started_at
        if remembered is not None or pod.status.start_time is None:
            return remembered
        return from_rfc3339(pod.status.start_time)

    def _mounted_at(self, pod: Pod, started_at: UnixSeconds) -> UnixSeconds | None:
        """Return since when a pod has its volumes; None while it waits for them."""
        if not pod.spec.volumes:
            return started_at
        if not self._mounts.are_ready(pod):
            return None
        if self._sandboxes[pod.metadata.key].mounted_at is None:
            self._remember(pod, mounted_at=self._clock.now())
        return self._sandboxes[pod.metadata.key].mounted_at

    async def _go_on(self, pod: Pod, machine: Machine) -> Result:
        """Let a pod run, until its containers end by themselves."""
        found = await self._courses.follow(pod, self._clock.now(), host_ip=machine.address)
        if isinstance(found, dict):
            await self._write_status(pod, found)
            return DONE
        return DONE if found is None else Result(found)

    # stopping ---------------------------------------------------------------------------------------------------------

    async def _stop(self, pod: Pod) -> Result:
        now = self._clock.now()
        stopping_at = self._sandboxes[pod.metadata.key].stopping_at
        if stopping_at is None:
            stopping_at = now
            self._remember(pod, stopping_at=now)
        grace_s = pod.metadata.deletion_grace_period_seconds or 0
        gone_at = stopping_at if is_terminal(pod) else stopping_at + min(grace_s, self._pace.stop(pod))
        if now < gone_at:
            return Result(gone_at - now)
        if pod.metadata.finalizers and not is_terminal(pod):
            # Somebody waits to see how it ended; without finalizers nobody could look any more.
            # What was to end by itself had not done its work yet.
            phase = "Failed" if may_end(pod) else "Succeeded"
            await self._write_status(pod, podstatus.stopped(pod, now, phase=phase))
        if grace_s or not pod.metadata.finalizers:
            await self._delete(pod)
        return DONE

    async def _delete(self, pod: Pod) -> None:
        metadata = pod.metadata
        try:
            await self._kube.delete(
                api.PODS, metadata.name, namespace=metadata.namespace, uid=metadata.uid, grace_period_s=0
            )
        except (NotFound, Conflict):  # gone, or another pod has its name by now
            return
        if not metadata.finalizers:
            self._informers.pods.fold_deleted(metadata.key, metadata.uid)

    async def _end_with_machine(self, pod: Pod) -> None:
        if is_terminal(pod):
            return
        status = podstatus.stopped(
            pod,
            self._clock.now(),
            phase="Failed",
            reason="Terminated",
            message="Pod was terminated in response to imminent node shutdown.",
        )
        await self._write_status(pod, status)

    # both -------------------------------------------------------------------------------------------------------------

    def _remember(
        self,
        pod: Pod,
        *,
        started_at: UnixSeconds | None = None,
        mounted_at: UnixSeconds | None = None,
        stopping_at: UnixSeconds | None = None,
    ) -> None:
        key = pod.metadata.key
        known = self._sandboxes[key]
        self._sandboxes[key] = replace(
            known,
            started_at=started_at or known.started_at,
            mounted_at=mounted_at or known.mounted_at,
            stopping_at=stopping_at or known.stopping_at,
        )

    async def _write_status(self, pod: Pod, status: Manifest) -> None:
        metadata = pod.metadata
        try:
            written = await self._kube.patch(
                api.PODS,
                metadata.name,
                {"metadata": {"uid": metadata.uid}, "status": status},
                namespace=metadata.namespace,
                patch_type="strategic",
                subresource="status",
            )
        except (NotFound, Conflict):  # gone, or another pod has its name by now
            return
        self._informers.pods.fold(written)
