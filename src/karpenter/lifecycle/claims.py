"""Each NodeClaim from birth to death: controller `nodeclaim.lifecycle`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpenter.lifecycle.breakers import Breakers
from karpenter.lifecycle.launch import Launcher
from karpenter.lifecycle.machine import (
    REGISTRATION_TIMEOUT,
    GiveUp,
    Initialize,
    Launch,
    Register,
    Step,
    Timeouts,
    is_closed_until_registered,
    next_step,
    registration_patch,
)
from karpenter.lifecycle.registration import RegistrationHealth
from karpenter.lifecycle.termination import ClaimTermination
from karpenter.lifecycle.writer import Writer
from karpenter.model import labels
from karpenter.model.core import Node
from karpenter.model.nodeclaim import LAUNCHED, NodeClaim
from karpenter.model.pods import is_reschedulable
from karpenter.model.resources import format_resources, parse_resources
from karpenter.model.taints import UNREGISTERED
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventRecorder
from karpenter.runtime.metrics import Metrics
from karpenter.state.allocatable import FoundAllocatable
from karpenter.state.cluster import ClusterState
from karpenter.state.refs import claim_ref

log = logs.get("nodeclaim.lifecycle")
_FINALIZER: Final = labels.TERMINATION_FINALIZER
PAUSED_S: Final = 2.0
"""How soon the end of a pause is noticed."""


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
        breakers: Breakers,
        health: RegistrationHealth,
        found: FoundAllocatable,
        recorder: EventRecorder,
    ) -> None:
        self._state = state
        self._writer = writer
        self._launcher = launcher
        self._termination = termination
        self._clock = clock
        self._metrics = metrics
        self._timeouts = timeouts
        self._breakers = breakers
        self._health = health
        self._found = found
        self._recorder = recorder

    async def reconcile(self, key: str) -> Result:
        """Look at one claim, by name."""
        claim = self._state.claims.get(key)
        if claim is None:
            return DONE
        if self._state.pauses.stops_everything(claim.pool):
            return Result(PAUSED_S)
        if claim.metadata.is_deleting:
            return await self._termination.reconcile(claim)
        if _FINALIZER not in claim.metadata.finalizers:
            finalizers = [*claim.metadata.finalizers, _FINALIZER]
            patch = {"metadata": {"resourceVersion": claim.metadata.resource_version, "finalizers": finalizers}}
            claim = await self._writer.patch_claim(claim, patch)
        nodes = self._state.nodes_of(claim.provider_id) if claim.provider_id else ()
        step = next_step(claim, nodes, self._clock.now(), timeouts=self._timeouts, holds_pods=self._holds_pods(nodes))
        return await self._apply(claim, step)

    async def _apply(self, claim: NodeClaim, step: Step) -> Result:
        match step.action:
            case None:
                await self._writer.patch_claim_status(claim, step.conditions)
            case GiveUp(reason):
                log.info("deleting nodeclaim that made no progress", nodeclaim=claim.name, reason=reason)
                self._give_up(claim, reason)
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

    def _give_up(self, claim: NodeClaim, reason: str) -> None:
        """Remember that nothing came of a claim (L-3)."""
        if reason == REGISTRATION_TIMEOUT:
            self._breakers.failed(claim.node_class_ref)
            self._health.failed(claim.pool)
            return
        launched = claim.condition(LAUNCHED)
        if launched is not None:
            self._health.failed(claim.pool, reason=launched.reason, message=launched.message)

    async def _register(self, claim: NodeClaim, action: Register, step: Step) -> None:
        self._breakers.succeeded(claim.node_class_ref)
        self._health.succeeded(claim.pool)
        self._miss_taint(claim, action.node)
        node = await self._writer.patch_node(action.node, registration_patch(claim, action.node))
        await self._writer.patch_claim_status(claim, step.conditions, {"nodeName": node.metadata.name})
        pool, zone = (claim.pool.name if claim.pool else ""), claim.labels.get(labels.ZONE, "")
        self._metrics.nodes_created_total.labels(nodepool=pool, zone=zone).inc()
        log.info(
            "registered nodeclaim",
            nodeclaim=claim.name,
            node=node.metadata.name,
            provider_id=claim.provider_id,
            allocatable=format_resources(claim.allocatable),
        )

    def _miss_taint(self, claim: NodeClaim, node: Node) -> None:
        """Say that a node was open to pods before it was ready for them (L-5)."""
        if is_closed_until_registered(node):
            return
        message = (
            f"node {node.metadata.name} joined without the taint {UNREGISTERED}: pods may have come before its labels "
            "and taints; have the kubelet register with it (--register-with-taints)"
        )
        log.error("node joined without the unregistered taint", nodeclaim=claim.name, node=node.metadata.name)
        self._recorder.record(claim_ref(claim), "Warning", "UnregisteredTaintMissing", message)

    async def _initialize(self, claim: NodeClaim, action: Initialize, step: Step) -> None:
        node = await self._writer.patch_node(action.node, {"metadata": {"labels": {labels.INITIALIZED: "true"}}})
        await self._writer.patch_claim_status(claim, step.conditions)
        self._learn(claim, node)
        allocatable = format_resources(claim.allocatable)
        log.info("initialized nodeclaim", nodeclaim=claim.name, node=node.metadata.name, allocatable=allocatable)

    def _holds_pods(self, nodes: Sequence[Node]) -> bool:
        return any(is_reschedulable(pod) for node in nodes for pod in self._state.pods_on(node.metadata.name))

    def _learn(self, claim: NodeClaim, node: Node) -> None:
        """Remember what the type really offers, if that is less than it promised (case ALLOC-GUESS)."""
        pool = self._state.pools.get(claim.pool) if claim.pool else None
        instance_type = claim.labels.get(labels.INSTANCE_TYPE)
        if pool is None or instance_type is None:
            return
        reported = parse_resources(node.status.allocatable)
        less = self._found.take_in(pool, instance_type, promised=claim.allocatable, found=reported)
        if less is not None:
            log.warning("a node offers less than its type promised", nodeclaim=claim.name, found=less)
            self._recorder.record(claim_ref(claim), "Warning", "LessAllocatable", less)
