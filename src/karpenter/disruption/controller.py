"""Carries out what the disruption methods decide: controller `disruption`.

Taint first, then look again at what is really there, then delete: a pod that was bound between the decision and the
taint keeps its node (case DND-RACE).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from karpenter.disruption.emptiness import emptiness
from karpenter.disruption.verdict import Command, Verdict
from karpenter.lifecycle.machine import taint_entry
from karpenter.lifecycle.writer import Writer
from karpenter.model.core import Node
from karpenter.model.pods import is_reschedulable
from karpenter.model.taints import DISRUPTED
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import Result
from karpenter.runtime.events import EventRecorder
from karpenter.runtime.kube import PODS, KubeClient
from karpenter.runtime.metrics import Metrics
from karpenter.state.cluster import ClusterState
from karpenter.state.refs import claim_ref, node_ref

log = logs.get("disruption")

INTERVAL_S: Final = 10.0
UNSYNCED_S: Final = 1.0


class Disruption:
    """One pass: snapshot, decide, act."""

    def __init__(
        self,
        client: KubeClient,
        state: ClusterState,
        writer: Writer,
        *,
        is_synced: Callable[[], bool],
        recorder: EventRecorder,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._client = client
        self._state = state
        self._writer = writer
        self._is_synced = is_synced
        self._recorder = recorder
        self._clock = clock
        self._metrics = metrics

    async def run_once(self) -> Result:
        """Look once; return when to look again: at the latest after the interval, sooner when a timer ends."""
        if not self._is_synced():
            return Result(UNSYNCED_S)
        await self._clean_up()
        snapshot = self._state.snapshot(self._clock.now())
        verdict = emptiness(snapshot)
        for command in verdict.commands:
            await self._execute(command)
        return Result(self._next_look(verdict))

    def _next_look(self, verdict: Verdict) -> float:
        if verdict.commands:
            return UNSYNCED_S
        now = self._clock.now()
        timers = [blocked.until - now for blocked in verdict.blocked if blocked.until is not None]
        return max(0.0, min([INTERVAL_S, *timers]))

    async def _clean_up(self) -> None:
        """Take taints off nodes that nobody is disrupting: what a crash in the middle left behind (D-2)."""
        for node in tuple(self._state.nodes.values()):
            claim = self._state.claim_of(node)
            if claim is None or node.metadata.is_deleting or claim.metadata.is_deleting:
                continue
            if any(taint.matches(DISRUPTED) for taint in node.spec.taints):
                await self._untaint(node)

    async def _execute(self, command: Command) -> None:
        """Disrupt the nodes of a command; one that is not empty after all is let go again."""
        log.info("disrupting nodes", reason=command.reason, nodes=list(command.nodes), savings_per_hour=command.savings)
        self._metrics.voluntary_disruption_decisions_total.labels(
            decision="delete", reason=command.reason.lower(), consolidation_type="empty"
        ).inc()
        for name in command.nodes:
            node = self._state.nodes.get(name)
            if node is not None:
                await self._remove_empty(node, command)

    async def _remove_empty(self, node: Node, command: Command) -> None:
        claim = self._state.claim_of(node)
        if claim is None or claim.metadata.is_deleting:
            return
        node = await self._taint(node)
        # What watches have not told us yet counts too: ask the API itself, now that no pod can be added any more.
        here = await self._client.list(PODS, field_selector=f"spec.nodeName={node.metadata.name}")
        arrived = [pod for pod in here.items if is_reschedulable(pod)]
        if arrived:
            names = ", ".join(sorted(str(pod.metadata.key) for pod in arrived))
            log.info("node is not empty any more", node=node.metadata.name, pods=names)
            await self._untaint(node)
            return
        self._state.mark_for_deletion(node.metadata.name)
        for reference in (node_ref(node), claim_ref(claim)):
            self._recorder.record(reference, "Normal", "DisruptionTerminating", f"disrupting node: {command.reason}")
        await self._writer.disrupt(claim, command.reason.lower())

    async def _taint(self, node: Node) -> Node:
        if any(taint.matches(DISRUPTED) for taint in node.spec.taints):
            return node
        return await self._write_taints(node, [*map(taint_entry, node.spec.taints), taint_entry(DISRUPTED)])

    async def _untaint(self, node: Node) -> None:
        kept = [taint_entry(taint) for taint in node.spec.taints if not taint.matches(DISRUPTED)]
        await self._write_taints(node, kept)

    async def _write_taints(self, node: Node, taints: list[dict[str, object]]) -> Node:
        version = node.metadata.resource_version
        return await self._writer.patch_node(
            node, {"metadata": {"resourceVersion": version}, "spec": {"taints": taints}}
        )
