"""Pod collector: pods of nodes that are gone, pods that were deleted before they got a node, and too many ended ones.

Source: kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle, Garbage collection of Pods.
"""

from __future__ import annotations

from typing import Final

from karpenter.model.core import Node, Pod
from karpenter.model.pods import is_terminal
from karpenter.model.units import ObjectKey, to_rfc3339
from karpenter.runtime import kube as api
from karpenter.runtime import logs
from karpenter.runtime.controller import Result, Singleton
from karpenter.runtime.kube import Conflict, NotFound, WatchEvent
from karpenter.sim.standins import Context

INTERVAL_S: Final = 20.0
"""How soon a node that went, or a pod that ended, is looked at; and how often while a node is missing."""
RESYNC_S: Final = 600.0
QUARANTINE_S: Final = 40.0
"""How long a node has to be missing before its pods are given up: it may only be registering anew."""
KEPT_ENDED: Final = 12_500

log = logs.get("sim.podgc")


class PodCollector:
    """Looks at all pods within 20 seconds of whatever may leave one to collect."""

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._missing_since: dict[str, float] = {}
        self._loop = Singleton("sim.podgc", self.look, RESYNC_S, clock=context.clock, metrics=context.metrics)

    async def run(self) -> None:
        """Look again and again until cancelled."""
        await self._informers.wait_synced()
        self._informers.nodes.subscribe(self._on_node)
        self._informers.pods.subscribe(self._on_pod)
        await self._loop.run()

    def _on_node(self, event: WatchEvent[Node]) -> None:
        if event.type == "DELETED":
            self._loop.trigger_after(INTERVAL_S)

    def _on_pod(self, event: WatchEvent[Pod]) -> None:
        pod = event.object
        if pod is not None and (is_terminal(pod) or pod.metadata.is_deleting or self._is_stray(pod)):
            self._loop.trigger_after(INTERVAL_S)

    def _is_stray(self, pod: Pod) -> bool:
        return bool(pod.spec.node_name) and self._informers.nodes.get(ObjectKey("", pod.spec.node_name)) is None

    async def look(self) -> Result:
        """Look at all pods once; return when to look again if nothing changes."""
        for name in await self._nodes_gone():
            for pod in self._informers.pods_by_node.get(name):
                await self._give_up(pod)
        for pod in self._informers.pods.values():
            if pod.metadata.is_deleting and not pod.spec.node_name:
                await self._delete(pod)
        ended = [pod for pod in self._informers.pods.values() if is_terminal(pod)]
        surplus = len(ended) - KEPT_ENDED
        for pod in sorted(ended, key=_age)[: max(0, surplus)]:
            await self._delete(pod)
        return Result(INTERVAL_S if self._missing_since else None)

    async def _nodes_gone(self) -> list[str]:
        """Return the nodes that pods are bound to and that have been missing long enough, asking the API at last."""
        now, nodes = self._clock.now(), self._informers.nodes
        missing = [name for name in self._informers.pods_by_node.values() if nodes.get(ObjectKey("", name)) is None]
        self._missing_since = {name: self._missing_since.get(name, now) for name in missing}
        gone = []
        for name, since in self._missing_since.items():
            if now - since >= QUARANTINE_S and not await self._exists(name):
                gone.append(name)
        return gone

    async def _exists(self, node: str) -> bool:
        try:
            await self._kube.get(api.NODES, node)
        except NotFound:
            return False
        return True

    async def _give_up(self, pod: Pod) -> None:
        namespace, name = pod.metadata.key
        log.debug("deleting pod of a node that is gone", namespace=namespace, name=name, node=pod.spec.node_name)
        if not is_terminal(pod):
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "DeletionByPodGC",
                "message": "PodGC: node no longer exists",
                "lastTransitionTime": to_rfc3339(self._clock.now()),
            }
            try:
                await self._kube.patch(
                    api.PODS,
                    name,
                    {"status": {"phase": "Failed", "conditions": [condition]}},
                    namespace=namespace,
                    patch_type="strategic",
                    subresource="status",
                )
            except NotFound:
                return
        await self._delete(pod)

    async def _delete(self, pod: Pod) -> None:
        namespace, name = pod.metadata.key
        try:
            await self._kube.delete(api.PODS, name, namespace=namespace, uid=pod.metadata.uid, grace_period_s=0)
        except (NotFound, Conflict):
            self._informers.pods.fold_deleted(pod.metadata.key, pod.metadata.uid)


def _age(pod: Pod) -> tuple[str, ObjectKey]:
    return pod.metadata.creation_timestamp or "", pod.metadata.key
