"""Deletes pods that do not tolerate, or no longer tolerate, the `NoExecute` taints of their node."""

from __future__ import annotations

from typing import Final

from karpenter.model.core import Node, Pod
from karpenter.model.pods import is_terminal
from karpenter.model.taints import NO_EXECUTE
from karpenter.model.units import ObjectKey, to_rfc3339
from karpenter.runtime import kube as api
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import ref_to
from karpenter.runtime.kube import Conflict, NotFound, WatchEvent
from karpenter.sim.controllers.nodehealth import evicted_at
from karpenter.sim.standins import Context, Enqueue

COMPONENT: Final = "taint-eviction-controller"


class TaintEviction:
    """Evicts by taints. Unlike an eviction through the API this asks no budget."""

    name = "sim.tainteviction"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)
        self._evicting: set[str] = set()
        """Names of nodes that have, or just had, a `NoExecute` taint."""

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at all pods of a node whose taints drive out, and at pods that come there."""

        def node_changed(event: WatchEvent[Node]) -> None:
            node = event.object
            assert node is not None
            name = node.metadata.name
            evicts = event.type != "DELETED" and any(taint.effect == NO_EXECUTE for taint in node.spec.taints)
            if evicts or name in self._evicting:
                for pod in self._informers.pods_by_node.get(name):
                    enqueue(pod.metadata.key)
            (self._evicting.add if evicts else self._evicting.discard)(name)

        def pod_changed(event: WatchEvent[Pod]) -> None:
            pod = event.object
            if pod is not None and pod.spec.node_name in self._evicting and event.type != "DELETED":
                enqueue(pod.metadata.key)

        self._informers.nodes.subscribe(node_changed)
        self._informers.pods.subscribe(pod_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Delete one pod if its time on its node is over."""
        pod = self._informers.pods.get(key)
        node = self._informers.nodes.get(ObjectKey("", pod.spec.node_name)) if pod is not None else None
        if pod is None or node is None or pod.metadata.is_deleting or is_terminal(pod):
            return DONE
        now = self._clock.now()
        moment = evicted_at(pod, node, now)
        if moment is None:
            return DONE
        if moment > now:
            return Result(moment - now)
        await self._evict(pod)
        return DONE

    async def _evict(self, pod: Pod) -> None:
        namespace, name = pod.metadata.key
        message = f"Marking for deletion Pod {namespace}/{name}"
        self._recorder.record(ref_to(api.PODS, pod), "Normal", "TaintManagerEviction", message)
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": to_rfc3339(self._clock.now()),
        }
        try:
            await self._kube.patch(
                api.PODS,
                name,
                {"status": {"conditions": [condition]}},
                namespace=namespace,
                patch_type="strategic",
                subresource="status",
            )
            await self._kube.delete(api.PODS, name, namespace=namespace, uid=pod.metadata.uid)
        except (NotFound, Conflict):
            self._informers.pods.fold_deleted(pod.metadata.key, pod.metadata.uid)
