"""Node lifecycle: taints follow conditions, and nodes whose kubelet is silent become unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from karpenter.model.core import Node, Pod
from karpenter.model.meta import find_condition
from karpenter.model.units import ObjectKey, to_rfc3339
from karpenter.runtime import kube as api
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result, Singleton
from karpenter.runtime.events import ref_to
from karpenter.runtime.kube import KubeError, NotFound, WatchEvent
from karpenter.sim.controllers.nodehealth import STARTUP_GRACE_S, grace_for, unknown_conditions, wanted_taints
from karpenter.sim.standins import Context, Enqueue

COMPONENT: Final = "node-controller"
MONITOR_S: Final = 5.0
"""How often silence is looked for."""


class NodeTaints:
    """Keeps the taints that follow from conditions, and marks the pods of a node that is not ready as not ready."""

    name = "sim.nodetaints"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a node when it changes."""

        def node_changed(event: WatchEvent[Node]) -> None:
            if event.object is not None and event.type != "DELETED":
                enqueue(event.object.metadata.key)

        self._informers.nodes.subscribe(node_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Bring the taints of one node in line with its conditions."""
        node = self._informers.nodes.get(key)
        if node is None:
            return DONE
        taints = wanted_taints(node, self._clock.now())
        if taints != node.spec.taints:
            patch = {
                "metadata": {"resourceVersion": node.metadata.resource_version},
                "spec": {"taints": [msgspec.to_builtins(taint) for taint in taints] or None},
            }
            node = await self._kube.patch(api.NODES, key.name, patch)
            self._informers.nodes.fold(node)
        ready = find_condition(node.status.conditions, "Ready")
        if ready is not None and not ready.is_true:
            await self._mark_pods(node)
        return DONE

    async def _mark_pods(self, node: Node) -> None:
        """Nobody can vouch any more for pods on a node that is not ready: endpoints and budgets have to know."""
        for pod in self._informers.pods_by_node.get(node.metadata.name):
            ready = find_condition(pod.status.conditions, "Ready")
            if ready is None or not ready.is_true:
                continue
            await self._mark_pod(pod)

    async def _mark_pod(self, pod: Pod) -> None:
        condition = {"type": "Ready", "status": "False", "lastTransitionTime": to_rfc3339(self._clock.now())}
        metadata = pod.metadata
        try:
            written = await self._kube.patch(
                api.PODS,
                metadata.name,
                {"status": {"conditions": [condition]}},
                namespace=metadata.namespace,
                patch_type="strategic",
                subresource="status",
            )
        except NotFound:
            return
        self._informers.pods.fold(written)
        self._recorder.record(ref_to(api.PODS, pod), "Warning", "NodeNotReady", "Node is not ready")


@dataclass(frozen=True, slots=True)
class _Sign:
    """The last sign of life of a kubelet."""

    renewal: str | None
    """What its lease says, whatever that is: only that it changes counts, so clocks may differ."""
    at: float
    """When we saw it."""
    grace_s: float
    """How long it holds."""


class NodeMonitor:
    """Gives up nodes whose kubelet shows no sign of life."""

    def __init__(self, context: Context, *, monitor_s: float = MONITOR_S) -> None:
        self._kube = context.kube
        self._clock: Clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)
        self._signs: dict[str, _Sign] = {}
        self._loop = Singleton("sim.nodemonitor", self.look, monitor_s, clock=context.clock, metrics=context.metrics)

    async def run(self) -> None:
        """Watch over the nodes until cancelled."""
        await self._informers.wait_synced()
        await self._loop.run()

    async def look(self) -> None:
        """Look at all nodes once."""
        nodes = self._informers.nodes.values()
        uids = {node.metadata.uid for node in nodes}
        self._signs = {uid: sign for uid, sign in self._signs.items() if uid in uids}
        for node in nodes:
            sign = self._sign(node)
            if self._clock.now() - sign.at > sign.grace_s:
                await self._give_up(node)

    def _sign(self, node: Node) -> _Sign:
        lease = self._informers.leases.get(ObjectKey("kube-node-lease", node.metadata.name))
        if lease is None:
            renewal, grace_s = None, STARTUP_GRACE_S
        else:
            renewal, grace_s = lease.spec.renew_time, grace_for(lease.spec.lease_duration_seconds)
        known = self._signs.get(node.metadata.uid)
        if known is None or known.renewal != renewal:
            known = self._signs[node.metadata.uid] = _Sign(renewal, self._clock.now(), grace_s)
        return known

    async def _give_up(self, node: Node) -> None:
        conditions = unknown_conditions(node, self._clock.now())
        if not conditions:
            return
        name = node.metadata.name
        try:
            written = await self._kube.patch(
                api.NODES, name, {"status": {"conditions": conditions}}, patch_type="strategic", subresource="status"
            )
        except KubeError:
            return  # the next look comes in seconds
        self._informers.nodes.fold(written)
        message = f"Node {name} status is now: NodeNotReady"
        self._recorder.record(ref_to(api.NODES, node), "Normal", "NodeNotReady", message)
