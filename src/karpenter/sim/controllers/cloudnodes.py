"""The cloud's side of nodes: vouches for new ones, and deletes those whose machine is gone.

Source: kubernetes.io/docs/concepts/architecture/cloud-controller, Node controller.
"""

from __future__ import annotations

from typing import Final

import msgspec

from karpenter.model.core import Node
from karpenter.model.meta import find_condition
from karpenter.model.units import ObjectKey
from karpenter.runtime import kube as api
from karpenter.runtime.controller import DONE, Result, Singleton
from karpenter.runtime.events import ref_to
from karpenter.runtime.kube import Conflict, NotFound, WatchEvent
from karpenter.sim.kubelet.boot import MachineSource
from karpenter.sim.standins import Context, Enqueue

COMPONENT: Final = "cloud-node-lifecycle-controller"
MONITOR_S: Final = 5.0
_UNINITIALIZED: Final = "node.cloudprovider.kubernetes.io/uninitialized"


class CloudNodes:
    """Takes the taint off that a kubelet registers with until its cloud has seen it."""

    name = "sim.cloudnode"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._nodes = context.informers.nodes

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a node when it changes."""

        def node_changed(event: WatchEvent[Node]) -> None:
            if event.object is not None and event.type != "DELETED":
                enqueue(event.object.metadata.key)

        self._nodes.subscribe(node_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Initialize one node."""
        node = self._nodes.get(key)
        if node is None:
            return DONE
        kept = [taint for taint in node.spec.taints if taint.key != _UNINITIALIZED]
        if len(kept) != len(node.spec.taints):
            patch = {
                "metadata": {"resourceVersion": node.metadata.resource_version},
                "spec": {"taints": [msgspec.to_builtins(taint) for taint in kept] or None},
            }
            self._nodes.fold(await self._kube.patch(api.NODES, key.name, patch))
        return DONE


class CloudNodeLifecycle:
    """Deletes nodes that are not ready and whose machine does not exist any more."""

    def __init__(self, context: Context, source: MachineSource, *, monitor_s: float = MONITOR_S) -> None:
        self._kube = context.kube
        self._informers = context.informers
        self._source = source
        self._recorder = context.events.of(COMPONENT)
        self._loop = Singleton("sim.cloudnodes", self.look, monitor_s, clock=context.clock, metrics=context.metrics)

    async def run(self) -> None:
        """Look again and again until cancelled."""
        await self._informers.wait_synced()
        await self._loop.run()

    async def look(self) -> None:
        """Look at all nodes once."""
        for node in self._informers.nodes.values():
            ready = find_condition(node.status.conditions, "Ready")
            is_ready = ready is not None and ready.is_true
            if not is_ready and not node.metadata.is_deleting and self._source.exists(node.spec.provider_id) is False:
                await self._delete(node)

    async def _delete(self, node: Node) -> None:
        name = node.metadata.name
        message = f"Deleting node {name} because it does not exist in the cloud provider"
        self._recorder.record(ref_to(api.NODES, node), "Normal", "DeletingNode", message)
        try:
            await self._kube.delete(api.NODES, name, uid=node.metadata.uid)
        except (NotFound, Conflict):
            self._informers.nodes.fold_deleted(node.metadata.key, node.metadata.uid)
