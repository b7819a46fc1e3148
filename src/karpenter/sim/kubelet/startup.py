"""Takes off startup taints a few seconds after a node is ready, as the agents do that such taints wait for.

Only with `--startup-taints auto`; which taints they are is read from the node's claim.
"""

from __future__ import annotations

from typing import Final

import msgspec

from karpenter.model import labels
from karpenter.model.core import Node
from karpenter.model.meta import find_condition
from karpenter.model.taints import Taint
from karpenter.model.units import ObjectKey
from karpenter.runtime import kube as api
from karpenter.runtime import logs
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import WatchEvent
from karpenter.sim.kinds import StartingClaim
from karpenter.sim.standins import Context, Enqueue

AGENT_S: Final = 3.0
"""How long after a node became ready its agents have started; divided by the speed of the simulation."""

log = logs.get("sim.kubelet")


class StartupAgents:
    """Everything that a startup taint can wait for."""

    name = "sim.startup"

    def __init__(self, context: Context, *, delay_s: float) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._nodes = context.informers.nodes
        self._claims = context.informers.node_claims
        self._delay_s = delay_s
        self._ready_since: dict[str, float] = {}
        """By uid of the node, to the fraction of a second that the API does not keep."""

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a node when it or a claim with its name changes."""

        def node_changed(event: WatchEvent[Node]) -> None:
            assert event.object is not None
            if event.type == "DELETED":
                self._ready_since.pop(event.object.metadata.uid, None)
            enqueue(event.object.metadata.key)

        def claim_changed(event: WatchEvent[StartingClaim]) -> None:
            if event.object is not None and event.object.status.node_name:
                enqueue(ObjectKey("", event.object.status.node_name))

        self._nodes.subscribe(node_changed)
        self._claims.subscribe(claim_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Take the startup taints off a node that has been ready for long enough."""
        node = self._nodes.get(key)
        if node is None or node.metadata.labels.get(labels.INITIALIZED) == "true":
            return DONE
        ready = find_condition(node.status.conditions, "Ready")
        if ready is None or not ready.is_true:
            self._ready_since.pop(node.metadata.uid, None)
            return DONE
        now = self._clock.now()
        due = self._ready_since.setdefault(node.metadata.uid, now) + self._delay_s
        if now < due:
            return Result(due - now)
        await self._take_off(node, self._startup_taints(node))
        return DONE

    def _startup_taints(self, node: Node) -> tuple[Taint, ...]:
        claim = next((one for one in self._claims.values() if _is_of(one, node)), None)
        return claim.spec.startup_taints if claim is not None else ()

    async def _take_off(self, node: Node, startup: tuple[Taint, ...]) -> None:
        kept = tuple(taint for taint in node.spec.taints if not any(taint.matches(one) for one in startup))
        if kept == node.spec.taints:
            return
        patch = {
            "metadata": {"resourceVersion": node.metadata.resource_version},
            "spec": {"taints": [msgspec.to_builtins(taint) for taint in kept] or None},
        }
        self._nodes.fold(await self._kube.patch(api.NODES, node.metadata.name, patch))
        log.debug("took off startup taints", name=node.metadata.name)


def _is_of(claim: StartingClaim, node: Node) -> bool:
    return bool(claim.status.provider_id) and claim.status.provider_id == node.spec.provider_id
