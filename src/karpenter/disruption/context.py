"""What carrying out disruptions takes: handed to everyone here who acts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from karpenter.disruption.freshness import Freshness
from karpenter.disruption.options import DisruptionOptions
from karpenter.lifecycle.writer import Writer
from karpenter.model.meta import Condition
from karpenter.model.nodeclaim import DISRUPTION_REASON, NodeClaim
from karpenter.model.nodepool import DisruptionReason
from karpenter.provisioning.writing import ClaimWriter
from karpenter.runtime.clock import Clock
from karpenter.runtime.events import DEDUPE_S, EventRecorder, EventType
from karpenter.runtime.metrics import Metrics
from karpenter.scheduling.snapshot import Snapshot
from karpenter.state.cluster import ClusterState
from karpenter.state.refs import claim_ref, node_ref


@dataclass(frozen=True, slots=True)
class Context:
    """The cluster as it is known, and every way to act on it."""

    state: ClusterState
    writer: Writer
    claims: ClaimWriter
    freshness: Freshness
    recorder: EventRecorder
    clock: Clock
    metrics: Metrics
    options: DisruptionOptions

    def snapshot(self) -> Snapshot:
        """Return the cluster as of now."""
        return self.state.snapshot(self.clock.now())

    async def fresh_snapshot(self, nodes: Iterable[str]) -> Snapshot:
        """Return the cluster as of now, with pods of these nodes and all budgets just read from the API."""
        await self.freshness.refresh(nodes)
        return self.snapshot()

    async def mark_disrupted(self, claim: NodeClaim, reason: DisruptionReason) -> NodeClaim:
        """Say on a claim that we chose to disrupt it, and why."""
        condition = Condition(DISRUPTION_REASON, "True", reason)
        return await self.writer.set_claim_condition(claim, condition, self.clock.now())

    def tell(
        self, claim: NodeClaim, reason: str, message: str, *, kind: EventType = "Normal", dedupe_s: float = DEDUPE_S
    ) -> None:
        """Record an event on a claim and on its node."""
        self.recorder.record(claim_ref(claim), kind, reason, message, dedupe_s=dedupe_s)
        node = self.state.node_of(claim)
        if node is not None:
            self.recorder.record(node_ref(node), kind, reason, message, dedupe_s=dedupe_s)
