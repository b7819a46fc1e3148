"""Each NodeClaim from birth to death: controller `nodeclaim.lifecycle`."""

from __future__ import annotations

from typing import Final

from karpenter.lifecycle.launch import Launcher
from karpenter.lifecycle.machine import (
    GiveUp,
    Initialize,
    Launch,
    Register,
    Step,
    Timeouts,
    next_step,
    registration_patch,
)
from karpenter.lifecycle.termination import ClaimTermination
from karpenter.lifecycle.writer import Writer
from karpenter.model import labels
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.resources import format_resources
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.metrics import Metrics
from karpenter.state.cluster import ClusterState

log = logs.get("nodeclaim.lifecycle")
_FINALIZER: Final = labels.TERMINATION_FINALIZER


class ClaimLifecycle:
    """Brings a claim one step further: finalizer, launch, registration, initialization, time limits, or its end."""

    name = "nodeclaim.lifecycle"

    def __init__(
        self,
        state: ClusterState,
        writer: Writer,
        *,
        launcher: Launcher,
        termination: ClaimTermination,
        clock: Clock,
        metrics: Metrics,
        timeouts: Timeouts,
    ) -> None:
        self._state = state
        self._writer = writer
        self._launcher = launcher
        self._termination = termination
        self._clock = clock
        self._metrics = metrics
        self._timeouts = timeouts

    async def reconcile(self, key: str) -> Result:
        """Look at one claim, by name."""
        claim = self._state.claims.get(key)
        if claim is None:
            return DONE
        if claim.metadata.is_deleting:
            return await self._termination.reconcile(claim)
        if _FINALIZER not in claim.metadata.finalizers:
            finalizers = [*claim.metadata.finalizers, _FINALIZER]
            patch = {"metadata": {"resourceVersion": claim.metadata.resource_version, "finalizers": finalizers}}
            claim = await self._writer.patch_claim(claim, patch)
        nodes = self._state.nodes_of(claim.provider_id) if claim.provider_id else ()
        step = next_step(claim, nodes, self._clock.now(), timeouts=self._timeouts)
        return await self._apply(claim, step)

    async def _apply(self, claim: NodeClaim, step: Step) -> Result:
        match step.action:
            case None:
                await self._writer.patch_claim_status(claim, step.conditions)
            case GiveUp(reason):
                log.info("deleting nodeclaim that made no progress", nodeclaim=claim.name, reason=reason)
                await self._writer.disrupt(claim, reason)
                return DONE
            case Launch():
                # The conditions first: their times are what the launch's time limit counts from.
                claim = await self._writer.patch_claim_status(claim, step.conditions)
                failure = await self._launcher.launch(claim)
                if failure is not None:
                    await self._writer.disrupt(claim, failure)
                    return DONE
            case Register():
                await self._register(claim, step.action, step)
            case Initialize():
                await self._initialize(claim, step.action, step)
        return Result(step.requeue_after_s)

    async def _register(self, claim: NodeClaim, action: Register, step: Step) -> None:
        node = await self._writer.patch_node(action.node, registration_patch(claim, action.node))
        await self._writer.patch_claim_status(claim, step.conditions, {"nodeName": node.metadata.name})
        pool, zone = (claim.pool.name if claim.pool else ""), claim.labels.get(labels.ZONE, "")
        self._metrics.nodes_created_total.labels(nodepool=pool, zone=zone).inc()
        log.info("registered nodeclaim", nodeclaim=claim.name, node=node.metadata.name, provider_id=claim.provider_id)

    async def _initialize(self, claim: NodeClaim, action: Initialize, step: Step) -> None:
        node = await self._writer.patch_node(action.node, {"metadata": {"labels": {labels.INITIALIZED: "true"}}})
        await self._writer.patch_claim_status(claim, step.conditions)
        allocatable = format_resources(claim.allocatable)
        log.info("initialized nodeclaim", nodeclaim=claim.name, node=node.metadata.name, allocatable=allocatable)
