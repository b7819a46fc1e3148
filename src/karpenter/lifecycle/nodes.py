"""The end of a node: taint, drain, detach volumes, terminate the instance, let the object go.

Source: spec v1 §3.2 (T-1 … T-12).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpenter.lifecycle.drain import DrainStep, drain_step
from karpenter.lifecycle.evictions import EvictionQueue
from karpenter.lifecycle.instances import Instances, Pace
from karpenter.lifecycle.machine import taint_entry
from karpenter.lifecycle.volumes import blocking_attachments
from karpenter.lifecycle.waiting import waiting_words
from karpenter.lifecycle.writer import Writer, without_finalizer
from karpenter.model import labels
from karpenter.model.core import Node, Pod
from karpenter.model.meta import Condition, changed_condition
from karpenter.model.nodeclaim import DRAINED, INSTANCE_TERMINATING, VOLUMES_DETACHED, NodeClaim, was_our_choice
from karpenter.model.nodes import is_ready
from karpenter.model.pdbs import Pdbs
from karpenter.model.taints import DISRUPTED
from karpenter.model.units import ProviderID, UnixSeconds, from_rfc3339
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import EventRecorder
from karpenter.runtime.kube import PODS, KubeClient, NotFound
from karpenter.runtime.metrics import Metrics
from karpenter.state.cluster import ClusterState
from karpenter.state.informers import ClusterInformers
from karpenter.state.refs import node_ref, pod_ref

log = logs.get("node.termination")
_FINALIZER: Final = labels.TERMINATION_FINALIZER


class NodeTermination:
    """Drains a node that is being deleted and ends its instance: controller `node.termination`."""

    name = "node.termination"

    def __init__(
        self,
        client: KubeClient,
        state: ClusterState,
        informers: ClusterInformers,
        *,
        writer: Writer,
        instances: Instances,
        evictions: EvictionQueue,
        recorder: EventRecorder,
        clock: Clock,
        metrics: Metrics,
        pace: Pace,
    ) -> None:
        self._client = client
        self._state = state
        self._informers = informers
        self._writer = writer
        self._instances = instances
        self._evictions = evictions
        self._recorder = recorder
        self._clock = clock
        self._metrics = metrics
        self._pace = pace

    async def reconcile(self, key: str) -> Result:
        """Bring the deletion of a node, by name, one step further."""
        node = self._state.nodes.get(key)
        if node is None or not node.metadata.is_deleting or _FINALIZER not in node.metadata.finalizers:
            return DONE
        claim = self._state.claim_of(node)
        if claim is None or len(self._state.nodes_of(ProviderID(node.spec.provider_id))) > 1:
            # Nobody's instance, or one that several nodes claim: not ours to end (T-11).
            return await self._release(node, None)
        if self._state.is_draining_paused(claim):
            return Result(self._pace.paused_poll_s)
        await self._writer.delete_claim(claim)
        if not is_ready(node) and not await self._instances.exists(ProviderID(node.spec.provider_id)):
            return await self._release(node, claim)
        node = await self._cordon(node)
        return await self._empty(node, claim)

    async def _empty(self, node: Node, claim: NodeClaim) -> Result:
        """Drain, detach, terminate: each step only once the one before is done."""
        pods, now = self._state.pods_on(node.metadata.name), self._clock.now()
        step = drain_step(pods, now, deadline=_deadline(claim), keeps_protected=was_our_choice(claim))
        words = waiting_words(step, Pdbs(self._state.pdbs.values()), now)
        await self._drain(node, step, words)
        if not step.is_done or self._drained_for_s(claim) < self._pace.min_drain_s:
            await self._set(claim, Condition(DRAINED, "Unknown", "Draining", words))
            return Result(self._pace.drain_poll_s)
        if not claim.is_true(DRAINED):
            self._metrics.nodes_drained_total.labels(nodepool=claim.pool.name if claim.pool else "").inc()
        claim = await self._set(claim, Condition(DRAINED, "True"))
        if not await self._volumes_detached(node, claim, pods):
            return Result(self._pace.drain_poll_s)
        if not await self._instances.terminate(ProviderID(node.spec.provider_id)):
            await self._set(claim, Condition(INSTANCE_TERMINATING, "True"))
            return Result(self._pace.instance_poll_s)
        return await self._release(node, claim)

    async def _cordon(self, node: Node) -> Node:
        """Keep new pods and load balancers away (T-4)."""
        tainted = any(taint.matches(DISRUPTED) for taint in node.spec.taints)
        if tainted and node.metadata.labels.get(labels.EXCLUDE_BALANCERS) == "karpenter":
            return node
        taints = node.spec.taints if tainted else (*node.spec.taints, DISRUPTED)
        patch = {
            "metadata": {
                "resourceVersion": node.metadata.resource_version,
                "labels": {labels.EXCLUDE_BALANCERS: "karpenter"},
            },
            "spec": {"taints": [taint_entry(taint) for taint in taints]},
        }
        written = await self._writer.patch_node(node, patch)
        if not tainted:
            log.info("tainted node", node=node.metadata.name, taint=str(DISRUPTED))
        return written

    async def _drain(self, node: Node, step: DrainStep, words: str) -> None:
        for pod in step.evict:
            self._evictions.add(pod, node.metadata.name)
        for forced in step.delete:
            key = forced.pod.metadata
            self._recorder.record(pod_ref(forced.pod), "Normal", "Disrupted", "deleted by force, its node's time is up")
            try:
                await self._client.delete(
                    PODS, key.name, namespace=key.namespace, uid=key.uid, grace_period_s=forced.grace_s
                )
            except NotFound:
                self._informers.pods.fold_deleted(key.key, key.uid)
            else:
                self._metrics.pods_drained_total.labels(reason="deleted").inc()
        if step.waiting:
            self._recorder.record(node_ref(node), "Warning", "FailedDraining", words, dedupe_key="waiting")

    def _drained_for_s(self, claim: NodeClaim) -> float:
        """Seconds since the drain began; 0 before it did."""
        condition = claim.condition(DRAINED)
        if condition is None or condition.since is None:
            return 0.0
        return self._pace.min_drain_s if condition.is_true else self._clock.now() - condition.since

    async def _volumes_detached(self, node: Node, claim: NodeClaim, pods: Sequence[Pod]) -> bool:
        """Wait until nothing is attached any more, so that volumes can follow their pods (T-10)."""
        blocking = blocking_attachments(
            self._informers.attachments.values(), node.metadata.name, pods, claims=self._state.volume_claims
        )
        if not blocking:
            await self._set(claim, Condition(VOLUMES_DETACHED, "True"))
            return True
        deadline = _deadline(claim)
        if deadline is not None and self._clock.now() >= deadline:
            await self._set(claim, Condition(VOLUMES_DETACHED, "False", "TerminationGracePeriodElapsed"))
            return True
        text = f"waiting for volumes to be detached: {', '.join(blocking)}"
        await self._set(claim, Condition(VOLUMES_DETACHED, "Unknown", "AwaitingVolumeDetachment", text))
        self._recorder.record(node_ref(node), "Normal", "AwaitingVolumeDetachment", text)
        return False

    async def _set(self, claim: NodeClaim, condition: Condition) -> NodeClaim:
        current = self._state.claims.get(claim.name, claim)
        changed = changed_condition(current.conditions, condition, self._clock.now())
        return await self._writer.patch_claim_status(current, (changed,) if changed else ())

    async def _release(self, node: Node, claim: NodeClaim | None) -> Result:
        """Let the node object go."""
        patch = without_finalizer(node.metadata.finalizers, node.metadata.resource_version, _FINALIZER)
        await self._writer.patch_node(node, patch)
        pool = claim.pool.name if claim and claim.pool else ""
        self._metrics.nodes_terminated_total.labels(nodepool=pool, zone=node.metadata.labels.get(labels.ZONE, "")).inc()
        if node.metadata.deleted_at is not None:
            took_s = max(0.0, self._clock.now() - node.metadata.deleted_at)
            self._metrics.nodes_termination_duration_seconds.observe(took_s, nodepool=pool)
        if node.metadata.created_at is not None:
            age_s = max(0.0, self._clock.now() - node.metadata.created_at)
            self._metrics.nodes_lifetime_duration_seconds.labels(nodepool=pool).observe(age_s)
        log.info("deleted node", node=node.metadata.name)
        return DONE


def _deadline(claim: NodeClaim) -> UnixSeconds | None:
    text = claim.metadata.annotations.get(labels.TERMINATION_TIMESTAMP)
    try:
        return from_rfc3339(text) if text else None
    except ValueError:
        # Written by someone else and unreadable: without a deadline nothing is forced.
        return None
