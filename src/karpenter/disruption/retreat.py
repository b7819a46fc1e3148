"""Takes back what was begun: nodes that stay after all, and what a crash left behind. Source: spec v1 D-2, D-33."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karpenter.disruption.context import Context
from karpenter.disruption.progress import candidates_under_way, progress_of
from karpenter.disruption.records import CommandRecord
from karpenter.model import labels
from karpenter.model.core import Node
from karpenter.model.nodeclaim import DISRUPTION_REASON, INITIALIZED, NodeClaim
from karpenter.model.taints import DISRUPTED
from karpenter.model.units import UnixSeconds
from karpenter.runtime import logs
from karpenter.runtime.kube import NODE_CLAIMS, KubeClient, NotFound

log = logs.get("disruption.queue")

FIRST_HOLD_S: Final = 60.0
LONGEST_HOLD_S: Final = 600.0
"""How long a node is left alone after a failed attempt; twice as long after each one in a row (D-29's proposal)."""


class Retreat:
    """Gives commands up. All of it can be done twice, and is, when it was interrupted."""

    def __init__(self, context: Context, client: KubeClient) -> None:
        self._context = context
        self._client = client
        self._failures: dict[str, int] = {}

    async def give_up(self, record: CommandRecord, why: str, *, is_failure: bool = False, hold: bool = True) -> None:
        """End a command: its nodes take pods again, replacements that are not ready yet go.

        Replacements that did come up stay, as ordinary capacity. The record goes last, so that a crash in between
        leaves one that is broken and given up again.
        """
        log.info("giving a disruption up", command=record.id, reason=record.reason, why=why)
        self._count(record, is_failure=is_failure)
        for name in record.replacements:
            await self._drop_replacement(name)
        progress = progress_of(record, self._context.state)
        await self.let_go(progress.nodes, why, hold=hold)
        for claim in progress.remaining:
            self._context.tell(claim, "DisruptionBlocked", f"not disrupted after all: {why}")
            await self._forget(claim)

    async def let_go(self, nodes: Iterable[str], why: str, *, hold: bool = True) -> None:
        """Let nodes take pods again, and leave them alone for a while if `hold` says so."""
        state = self._context.state
        for name in nodes:
            log.info("node stays after all", node=name, reason=why)
            state.unmark(name)
            if hold:
                self._hold(name)
            node = state.nodes.get(name)
            if node is not None and not node.metadata.is_deleting:
                await self._context.writer.set_disrupted(node, is_disrupted=False)

    async def clean_up(self) -> None:
        """Take off what nobody stands behind any more: taints and conditions of commands that do not exist (D-2)."""
        state = self._context.state
        known = candidates_under_way(state)
        for node in tuple(state.nodes.values()):
            claim = state.claim_of(node)
            if claim is None or _is_leaving(node, claim) or claim.name in known:
                continue
            if labels.INTERRUPTION in claim.metadata.annotations:
                continue
            if any(taint.matches(DISRUPTED) for taint in node.spec.taints):
                await self._context.writer.set_disrupted(node, is_disrupted=False)
                state.unmark(node.metadata.name)
            await self._forget(claim)

    async def _forget(self, claim: NodeClaim) -> None:
        writer = self._context.writer
        claim = await writer.drop_claim_conditions(self._context.state.claims.get(claim.name, claim), DISRUPTION_REASON)
        if labels.DISRUPTION_COMMAND in claim.metadata.annotations:
            await writer.patch_claim(claim, {"metadata": {"annotations": {labels.DISRUPTION_COMMAND: None}}})

    async def _drop_replacement(self, name: str) -> None:
        """Delete a replacement that is not ready; also one whose creation was never answered."""
        claim = self._context.state.claims.get(name)
        if claim is not None and (claim.is_true(INITIALIZED) or claim.metadata.is_deleting):
            return
        try:
            await self._client.delete(NODE_CLAIMS, name)
        except NotFound:
            log.debug("replacement was never there", nodeclaim=name)

    def _hold(self, name: str) -> None:
        failures = self._failures.get(name, 0)
        self._failures[name] = failures + 1
        hold_s = min(FIRST_HOLD_S * 2**failures, LONGEST_HOLD_S)
        self._context.state.hold(name, UnixSeconds(self._context.clock.now() + hold_s))

    def _count(self, record: CommandRecord, *, is_failure: bool) -> None:
        if not is_failure:
            return
        claims = self._context.state.claims
        late = sum(1 for name in record.replacements if name in claims and not claims[name].is_true(INITIALIZED))
        decision = "replace" if record.replacements else "delete"
        self._context.metrics.voluntary_disruption_queue_failures_total.labels(
            decision=decision, reason=record.reason.lower(), consolidation_type=""
        ).inc(late)


def _is_leaving(node: Node, claim: NodeClaim) -> bool:
    return node.metadata.is_deleting or claim.metadata.is_deleting
