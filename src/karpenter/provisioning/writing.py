"""Writes the claims of a plan, many at once, each checked against its pool's limits as they stand now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from karpenter.model.resources import format_resources
from karpenter.model.v1 import encode_nodeclaim
from karpenter.provisioning.claims import claim_for, exceeded_limit, relaxed
from karpenter.provisioning.governor import Governor
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


@dataclass(frozen=True, slots=True)
class Purpose:
    """Why claims are written."""

    reason: str = "provisioned"
    """As the metric of created claims spells it."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Plan name to claim name; the server makes one up for a plan that is not in it."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """For every claim, on top of its pool's."""


PROVISIONING: Final = Purpose()


@dataclass(frozen=True, slots=True)
class Written:
    """What became of plans."""

    names: Mapping[str, str | None]
    """Plan name to claim name; None for one that was refused."""
    refusals: Mapping[str, str]
    """Plan name to why it was refused, in words."""


class ClaimWriter:
    """Turns plans into NodeClaim objects."""

    def __init__(
        self, client: KubeClient, informers: ClusterInformers, *, governor: Governor, metrics: Metrics
    ) -> None:
        self._client = client
        self._informers = informers
        self._governor = governor
        self._metrics = metrics

    async def write(self, snapshot: Snapshot, plans: Iterable[ClaimPlan], purpose: Purpose = PROVISIONING) -> Written:
        """Create a claim for each plan. A refusal leaves its pods pending: they are planned for again."""
        pools = {view.pool.key: view for view in snapshot.pools}
        limit = asyncio.Semaphore(PARALLEL)
        names: dict[str, str | None] = {}
        refusals: dict[str, str] = {}

        async def create(plan: ClaimPlan) -> None:
            async with limit:
                view = pools[plan.pool]
                refusal = exceeded_limit(view) or self._governor.refusal(plan, view, snapshot)
                try:
                    names[plan.name] = None if refusal else await self._create(plan, view, snapshot, purpose=purpose)
                except KubeError as error:
                    log.error("creating nodeclaim failed", pool=str(plan.pool), error=error)
                    refusal, names[plan.name] = str(error), None
                if refusal is not None:
                    refusals[plan.name] = refusal
                    log.info("not launching", pool=str(plan.pool), reason=refusal)

        ordered = tuple(plans)
        await asyncio.gather(*(create(plan) for plan in ordered))
        if ordered:
            planned = sum(len(plan.pods) for plan in ordered)
            log.info("computed new nodeclaim(s) to fit pod(s)", nodeclaims=len(ordered), pods=planned)
        return Written(names, refusals)

    async def _create(self, plan: ClaimPlan, view: PoolView, snapshot: Snapshot, *, purpose: Purpose) -> str:
        claim = claim_for(
            plan,
            view.pool,
            well_known=snapshot.well_known,
            name=purpose.names.get(plan.name, ""),
            annotations=purpose.annotations,
        )
        # Counted before it is written: many are written at once, and each has to see the others.
        number = self._governor.count(plan.price)
        written = self._informers.decode_claim(await self._client.create(NODE_CLAIMS, encode_nodeclaim(claim)))
        self._governor.written(number, written.name)
        self._metrics.nodeclaims_created_total.labels(
            reason=purpose.reason, nodepool=view.pool.name, min_values_relaxed=relaxed(plan)
        ).inc()
        log.info("created nodeclaim", nodeclaim=written.name, pool=str(view.pool.key), **_summary(plan))
        return written.name


def _summary(plan: ClaimPlan) -> dict[str, object]:
    types = ", ".join(plan.instance_types[:SHOWN_TYPES])
    more = f" and {len(plan.instance_types) - SHOWN_TYPES} other(s)" if len(plan.instance_types) > SHOWN_TYPES else ""
    return {
        "requests": format_resources(plan.requests),
        "instance_types": types + more,
        "zone": plan.zone,
        "price_per_hour": plan.price,
        "pods": len(plan.pods),
    }
