"""Writes the claims of a plan, many at once, each checked against its pool's limits as they stand now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from karpenter.model.v1 import encode_nodeclaim
from karpenter.provisioning.claims import claim_for, exceeded_limit
from karpenter.runtime import logs
from karpenter.runtime.kube import NODE_CLAIMS, KubeClient, KubeError
from karpenter.runtime.metrics import Metrics
from karpenter.scheduling.snapshot import PoolView, Snapshot
from karpenter.scheduling.solution import ClaimPlan
from karpenter.state.informers import ClusterInformers

log = logs.get("provisioner")

PARALLEL: Final = 50
"""Creations under way at once: enough to hide the API server's latency, few enough not to flood it."""
SHOWN_TYPES: Final = 5


class ClaimWriter:
    """Turns plans into NodeClaim objects."""

    def __init__(self, client: KubeClient, informers: ClusterInformers, *, metrics: Metrics) -> None:
        self._client = client
        self._informers = informers
        self._metrics = metrics

    async def write(self, snapshot: Snapshot, plans: Iterable[ClaimPlan]) -> dict[str, str | None]:
        """Create a claim for each plan; return plan name to claim name, None for one that was refused.

        A refusal leaves its pods pending: they are planned for again.
        """
        pools = {view.pool.key: view for view in snapshot.pools}
        limit = asyncio.Semaphore(PARALLEL)
        ordered = tuple(plans)

        async def create(plan: ClaimPlan) -> str | None:
            async with limit:
                return await self._create(plan, pools[plan.pool], snapshot.well_known)

        names = await asyncio.gather(*(create(plan) for plan in ordered))
        if ordered:
            planned = sum(len(plan.pods) for plan in ordered)
            log.info("computed new nodeclaim(s) to fit pod(s)", nodeclaims=len(ordered), pods=planned)
        return {plan.name: name for plan, name in zip(ordered, names, strict=True)}

    async def _create(self, plan: ClaimPlan, view: PoolView, well_known: frozenset[str]) -> str | None:
        over = exceeded_limit(view)
        if over is not None:
            log.info("not launching, limit exceeded", pool=str(view.pool.key), limit=over)
            return None
        body = encode_nodeclaim(claim_for(plan, view.pool, well_known=well_known))
        try:
            raw = await self._client.create(NODE_CLAIMS, body)
        except KubeError as error:
            log.error("creating nodeclaim failed, its pods are planned again", pool=str(view.pool.key), error=error)
            return None
        claim = self._informers.decode_claim(raw)
        self._metrics.nodeclaims_created_total.labels(
            reason="provisioned", nodepool=view.pool.name, min_values_relaxed="false"
        ).inc()
        log.info("created nodeclaim", nodeclaim=claim.name, pool=str(view.pool.key), **_summary(plan))
        return claim.name


def _summary(plan: ClaimPlan) -> dict[str, object]:
    types = ", ".join(plan.instance_types[:SHOWN_TYPES])
    more = f" and {len(plan.instance_types) - SHOWN_TYPES} other(s)" if len(plan.instance_types) > SHOWN_TYPES else ""
    return {"instance_types": types + more, "zone": plan.zone, "price_per_hour": plan.price, "pods": len(plan.pods)}
