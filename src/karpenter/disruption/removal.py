"""Takes nodes that need no replacement: empty ones, and those that go at once whatever is on them.

Taint first, then look at what is really there, then delete: a pod that was bound between the decision and the taint
keeps its node (case DND-RACE). Nothing is written down: a crash in between leaves a taint, which clean-up takes off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable

from karpenter.disruption.context import Context
from karpenter.disruption.emptiness import is_empty
from karpenter.disruption.validation import objection
from karpenter.disruption.verdict import Command
from karpenter.model.nodeclaim import NodeClaim
from karpenter.runtime import logs
from karpenter.scheduling.snapshot import Snapshot

log = logs.get("disruption")


class Removal:
    """Removes nodes, each for itself."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def remove(self, command: Command) -> None:
        """Remove the nodes of a command; one that has pods after all is let go again, unless that does not matter."""
        there = [name for name in command.nodes if self._claim(name) is not None]
        await _each(self._taint(name) for name in there)
        # Ask the API itself, now that no pod can be added any more: what watches have not told us yet counts too.
        snapshot = None if command.is_forceful else await self._context.fresh_snapshot(there)
        await _each(self._settle(name, command, _objection(name, command, snapshot)) for name in there)

    def _claim(self, name: str) -> NodeClaim | None:
        node = self._context.state.nodes.get(name)
        claim = self._context.state.claim_of(node) if node else None
        return None if claim is None or claim.metadata.is_deleting else claim

    async def _taint(self, name: str) -> None:
        await self._context.writer.set_disrupted(self._context.state.nodes[name], is_disrupted=True)

    async def _settle(self, name: str, command: Command, message: str | None) -> None:
        """Let the node go, or let it stay for the reason given."""
        context, claim = self._context, self._claim(name)
        if claim is None:
            return
        if message is not None:
            log.info("node stays after all", node=name, reason=message)
            context.metrics.voluntary_disruption_failed_validations_total.labels(consolidation_type="empty").inc()
            await context.writer.set_disrupted(context.state.nodes[name], is_disrupted=False)
            return
        context.state.mark_for_deletion(name)
        context.tell(claim, "DisruptionTerminating", f"disrupting node: {command.reason}")
        claim = await context.mark_disrupted(claim, command.reason)
        await context.writer.disrupt(claim, command.reason.lower())


def _objection(name: str, command: Command, snapshot: Snapshot | None) -> str | None:
    if snapshot is None:
        return None
    view = next((view for view in snapshot.nodes if view.name == name), None)
    if view is None or not is_empty(view):
        return "it is not empty any more"
    found = objection(snapshot, [name], command.reason)
    return found.message if found else None


async def _each(work: Iterable[Awaitable[None]]) -> None:
    """Do all of it at once; the first failure is raised when everything else has been done."""
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
