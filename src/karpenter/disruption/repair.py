"""Replaces nodes that have been broken for long: controller `node.health`. Source: spec v1 §3.10 (D-35 … D-37)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from karpenter.disruption.context import Context
from karpenter.disruption.health import Sickness, check_up
from karpenter.model import labels
from karpenter.model.instance import RepairPolicy
from karpenter.runtime import logs
from karpenter.runtime.controller import Result

log = logs.get("node.health")

INTERVAL_S: Final = 60.0
"""How soon after a change all nodes are looked at."""
RESYNC_S: Final = 600.0
"""Looked again after this long, whether or not anything changed."""
BLOCKED_S: Final = 300.0


class Repair:
    """Looks at the conditions of all nodes. Whoever runs it has it look again within `INTERVAL_S` of any change."""

    def __init__(self, context: Context, policies: Sequence[RepairPolicy], *, is_synced: Callable[[], bool]) -> None:
        self._context = context
        self._policies = policies
        self._is_synced = is_synced

    async def run_once(self) -> Result:
        """Look once; return when to look again."""
        if not self._is_synced():
            return Result(1.0)
        found = check_up(self._context.snapshot(), self._policies)
        for sick in found.repair:
            await self._replace(sick)
        for sick, why in found.blocked:
            claim = sick.view.claim
            if claim is not None:
                self._context.tell(claim, "NodeRepairBlocked", why, kind="Warning")
        if found.next_due is None:
            return Result(BLOCKED_S if found.blocked else RESYNC_S)
        return Result(max(1.0, min(RESYNC_S, found.next_due - self._context.clock.now())))

    async def _replace(self, sick: Sickness) -> None:
        """Drain without regard to anything: what runs on a broken machine gains nothing by waiting (D-37)."""
        claim = self._context.state.claims.get(sick.view.claim.name) if sick.view.claim else None
        if claim is None or self._context.state.pauses.stops_disruption(claim.pool):
            return
        claim = await self._context.writer.limit_drain(claim, self._context.clock.now())
        log.info("deleting unhealthy node", nodeclaim=claim.name, node=sick.view.name, condition=sick.condition)
        await self._context.writer.disrupt(claim, "unhealthy")
        self._context.metrics.nodeclaims_unhealthy_disrupted_total.labels(
            condition=sick.condition,
            nodepool=claim.pool.name if claim.pool else "",
            capacity_type=claim.labels.get(labels.CAPACITY_TYPE, ""),
            image_id=claim.image_id,
        ).inc()
