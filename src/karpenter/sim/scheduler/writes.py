"""What the scheduler writes: bindings, and why a pod has none."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Final

from karpenter.model import core
from karpenter.model.meta import find_condition
from karpenter.model.storage import PersistentVolumeClaim
from karpenter.model.units import ObjectKey, to_rfc3339
from karpenter.runtime import kube as api
from karpenter.runtime import logs
from karpenter.runtime.events import ObjectRef, ref_to
from karpenter.runtime.kube import Conflict, KubeError, NotFound, RawObject
from karpenter.sim.disks import SELECTED_NODE
from karpenter.sim.scheduler.preemption import REASON as PREEMPTED
from karpenter.sim.scheduler.preemption import Candidate, Victim
from karpenter.sim.scheduler.selection import Placement
from karpenter.sim.standins import Context
from karpenter.sim.storagekinds import CLAIMS

SCHEDULER_NAME: Final = "default-scheduler"
VOLUME_WAIT_S: Final = 600.0
"""For how long a chosen pod waits for its volumes to be made."""
_AT_ONCE: Final = 32
_NO_NOMINATION: Final[RawObject] = {"nominatedNodeName": None}
_GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"

log = logs.get("sim.scheduler")


class VolumesNotMade(KubeError):
    """The volumes for a pod do not come as it was decided: its place has to be chosen again."""


class PodWrites:
    """Writes about pods, many at once, but those about one pod in order."""

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(SCHEDULER_NAME)
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._last: dict[str, asyncio.Task[None]] = {}
        self._claims_changed = asyncio.Event()

    def start(self, uid: str, writing: Coroutine[None, None, None], group: asyncio.TaskGroup) -> None:
        """Start a write about a pod after the one before: a binding must not be overtaken by an older verdict."""
        before = self._last.get(uid)

        async def in_turn() -> None:
            if before is not None:
                await asyncio.wait((before,))
            try:
                await writing
            finally:
                if self._last.get(uid) is asyncio.current_task():
                    del self._last[uid]

        self._last[uid] = group.create_task(in_turn())

    def claims_changed(self) -> None:
        """Let those look again who wait for volumes."""
        self._claims_changed.set()
        self._claims_changed = asyncio.Event()

    async def bind(self, key: ObjectKey, uid: str, placement: Placement) -> None:
        """Give a pod its node, once the volumes that it needs there are made.

        Raises:
            TimeoutError: the volumes did not come.
            VolumesNotMade: they cannot be made on that node.
            KubeError: the API refused; NotFound and Conflict mean that the pod is gone or has a node already.
        """
        namespace, name = key
        await self._make_volumes(placement)
        async with self._slots:
            await self._kube.bind(name, namespace=namespace, node=placement.node, uid=uid)
        message = f"Successfully assigned {namespace}/{name} to {placement.node}"
        self._recorder.record(self._reference(key, uid), "Normal", "Scheduled", message)

    async def _make_volumes(self, placement: Placement) -> None:
        """Ask for the volumes that are made where the pod goes, and wait for them."""
        for claim in placement.waiting:
            patch = {"metadata": {"annotations": {SELECTED_NODE: placement.node}}}
            namespace, name = claim.metadata.key
            try:
                async with self._slots:
                    written = await self._kube.patch(CLAIMS, name, patch, namespace=namespace)
            except NotFound as error:
                raise VolumesNotMade(f"persistentvolumeclaim {claim.metadata.key} is gone") from error
            self._informers.claims.fold(written)
        async with asyncio.timeout(VOLUME_WAIT_S):
            while not all(self._is_bound(claim, placement.node) for claim in placement.waiting):
                await self._claims_changed.wait()

    def _is_bound(self, claim: PersistentVolumeClaim, node: str) -> bool:
        now = self._informers.claims.get(claim.metadata.key)
        if now is None:
            raise VolumesNotMade(f"persistentvolumeclaim {claim.metadata.key} is gone")
        if now.metadata.annotations.get(SELECTED_NODE) != node:
            raise VolumesNotMade(f"provisioning failed for persistentvolumeclaim {claim.metadata.key}")
        return bool(now.spec.volume_name) and now.status.phase == "Bound"

    async def say_unschedulable(self, key: ObjectKey, uid: str, message: str, *, nominates: str | None) -> None:
        """Write down why a pod has no node, and record it as an event.

        `nominates` is the node that it waits for from now on, empty for none, None where that stays as it is.
        """
        self._recorder.record(self._reference(key, uid), "Warning", "FailedScheduling", message)
        await self._mark(key, uid, reason="Unschedulable", message=message, nominates=nominates)

    async def displace(self, chosen: Candidate, *, by: str) -> None:
        """Delete the pods that have to go for the pod with the uid `by`. Raises KubeError where the API refuses."""
        await asyncio.gather(*(self._displace_one(victim, chosen.node, by=by) for victim in chosen.victims))

    async def _displace_one(self, victim: Victim, node: str, *, by: str) -> None:
        namespace, name = victim.key
        pod = self._informers.pods.get(victim.key)
        if pod is None or pod.metadata.uid != victim.uid or pod.metadata.is_deleting:
            return
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": PREEMPTED,
            "message": f"{SCHEDULER_NAME}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": to_rfc3339(self._clock.now()),
        }
        body: RawObject = {"metadata": {"uid": victim.uid}, "status": {"conditions": [condition]}}
        try:
            async with self._slots:
                await self._kube.patch(
                    api.PODS, name, body, namespace=namespace, patch_type="strategic", subresource="status"
                )
                await self._kube.delete(api.PODS, name, namespace=namespace, uid=victim.uid)
        except (NotFound, Conflict):
            log.debug("pod that has to go is gone already", namespace=namespace, name=name)
            return
        self._recorder.record(ref_to(api.PODS, pod), "Normal", "Preempted", f"Preempted by pod {by} on node {node}")

    async def withdraw(self, key: ObjectKey, uid: str) -> None:
        """Take a pod's nomination back, if it has one."""
        pod = self._waiting(key, uid)
        if pod is not None and pod.status.nominated_node_name:
            await self._patch_status(key, uid, _NO_NOMINATION)

    async def say_gated(self, key: ObjectKey, uid: str) -> None:
        """Write down that a pod's gates keep it from being looked at."""
        await self._mark(key, uid, reason="SchedulingGated", message=_GATED)

    async def _mark(self, key: ObjectKey, uid: str, *, reason: str, message: str, nominates: str | None = None) -> None:
        pod = self._waiting(key, uid)
        if pod is None:
            return
        status: RawObject = {}
        if nominates is not None and nominates != pod.status.nominated_node_name:
            status["nominatedNodeName"] = nominates or None
        known = find_condition(pod.status.conditions, "PodScheduled")
        if known is None or (known.status, known.reason, known.message) != ("False", reason, message):
            condition: RawObject = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
            if known is None or known.status != "False":
                condition["lastTransitionTime"] = to_rfc3339(self._clock.now())
            status["conditions"] = [condition]
        if status:
            await self._patch_status(key, uid, status)

    async def _patch_status(self, key: ObjectKey, uid: str, status: RawObject) -> None:
        namespace, name = key
        patch = {"metadata": {"uid": uid}, "status": status}
        try:
            async with self._slots:
                written = await self._kube.patch(
                    api.PODS, name, patch, namespace=namespace, patch_type="strategic", subresource="status"
                )
        except KubeError as error:  # gone, or for the next attempt to say
            log.debug("cannot say why a pod has no node", namespace=namespace, name=name, error=error)
            return
        self._informers.pods.fold(written)

    def _waiting(self, key: ObjectKey, uid: str) -> core.Pod | None:
        """Return the pod as it is now while it has no node; None otherwise."""
        pod = self._informers.pods.get(key)
        return None if pod is None or pod.metadata.uid != uid or pod.spec.node_name else pod

    def _reference(self, key: ObjectKey, uid: str) -> ObjectRef:
        pod = self._informers.pods.get(key)
        if pod is not None and pod.metadata.uid == uid:
            return ref_to(api.PODS, pod)
        return ObjectRef(api.PODS.api_version, api.PODS.kind, key.name, key.namespace, uid)
