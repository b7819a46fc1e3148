"""The end of a claim: its nodes go first, then its instance, then the object.

Deleting a node or its claim ends both (T-1); see `nodes` for the drain. Source: spec v1 §3.2.
"""

from __future__ import annotations

from typing import Final

from karpenter.lifecycle.instances import Instances, Pace
from karpenter.lifecycle.writer import Writer, without_finalizer
from karpenter.model import labels
from karpenter.model.meta import Condition, changed_condition
from karpenter.model.nodeclaim import INSTANCE_TERMINATING, NodeClaim
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventRecorder
from karpenter.runtime.metrics import Metrics
from karpenter.state.cluster import ClusterState
from karpenter.state.refs import claim_ref

log = logs.get("nodeclaim.lifecycle")
_FINALIZER: Final = labels.TERMINATION_FINALIZER
_PLACE: Final = {"capacity_type": labels.CAPACITY_TYPE, "zone": labels.ZONE}


class ClaimTermination:
    """What a claim that is being deleted still needs; part of controller `nodeclaim.lifecycle`."""

    def __init__(
        self,
        state: ClusterState,
        writer: Writer,
        instances: Instances,
        *,
        recorder: EventRecorder,
        clock: Clock,
        metrics: Metrics,
        pace: Pace,
    ) -> None:
        self._state = state
        self._writer = writer
        self._instances = instances
        self._recorder = recorder
        self._clock = clock
        self._metrics = metrics
        self._pace = pace

    async def reconcile(self, claim: NodeClaim) -> Result:
        """Bring the deletion of a claim one step further."""
        if _FINALIZER not in claim.metadata.finalizers:
            return DONE
        claim = await self._set_deadline(claim)
        nodes = self._state.nodes_of(claim.provider_id) if claim.provider_id else ()
        if nodes:
            for node in nodes:
                await self._writer.delete_node(node)
            # The node's own events bring us back; the poll is for those that get lost.
            return Result(self._pace.instance_poll_s)
        still_there = [
            provider_id
            for provider_id in await self._instances.launched_for(claim)
            if not await self._instances.terminate(provider_id)
        ]
        if still_there:
            await self._mark_terminating(claim)
            return Result(self._pace.instance_poll_s)
        await self._writer.patch_claim(
            claim, without_finalizer(claim.metadata.finalizers, claim.metadata.resource_version, _FINALIZER)
        )
        self._observe(claim)
        return DONE

    async def _set_deadline(self, claim: NodeClaim) -> NodeClaim:
        """Write down when the drain ends by force; a deadline that is there is never moved (T-2)."""
        deleted_at = claim.metadata.deleted_at
        grace_s = claim.termination_grace_period_s
        if grace_s is None or deleted_at is None or labels.TERMINATION_TIMESTAMP in claim.metadata.annotations:
            return claim
        deadline = to_rfc3339(UnixSeconds(deleted_at + grace_s))
        text = f"all pods will be deleted by {deadline}"
        self._recorder.record(claim_ref(claim), "Warning", "TerminationGracePeriodExpiring", text)
        patch = {"metadata": {"annotations": {labels.TERMINATION_TIMESTAMP: deadline}}}
        return await self._writer.patch_claim(claim, patch)

    async def _mark_terminating(self, claim: NodeClaim) -> None:
        changed = changed_condition(claim.conditions, Condition(INSTANCE_TERMINATING, "True"), self._clock.now())
        await self._writer.patch_claim_status(claim, (changed,) if changed else ())

    def _observe(self, claim: NodeClaim) -> None:
        pool = claim.pool.name if claim.pool else ""
        place = {kind: claim.labels.get(key, "") for kind, key in _PLACE.items()}
        self._metrics.nodeclaims_terminated_total.labels(nodepool=pool, **place).inc()
        if claim.metadata.deleted_at is not None:
            took_s = max(0.0, self._clock.now() - claim.metadata.deleted_at)
            self._metrics.nodeclaims_termination_duration_seconds.labels(nodepool=pool).observe(took_s)
        ending = claim.condition(INSTANCE_TERMINATING)
        if ending is not None and ending.since is not None:
            took_s = max(0.0, self._clock.now() - ending.since)
            self._metrics.nodeclaims_instance_termination_duration_seconds.labels(nodepool=pool).observe(took_s)
        log.info("deleted nodeclaim", nodeclaim=claim.name, provider_id=claim.provider_id)
