"""Writes to claims and nodes: patches of what we own, folded into the state at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from karpenter.lifecycle.machine import taint_entry
from karpenter.model import labels
from karpenter.model.core import Node
from karpenter.model.meta import Condition, changed_condition, merged_conditions
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.taints import DISRUPTED, Taint
from karpenter.model.units import ObjectKey, UnixSeconds, from_rfc3339, to_rfc3339
from karpenter.runtime import logs
from karpenter.runtime.kube import NODE_CLAIMS, NODES, Conflict, KubeClient, NotFound
from karpenter.runtime.metrics import Metrics
from karpenter.state.informers import ClusterInformers

log = logs.get("nodeclaim.lifecycle")

_ATTEMPTS: Final = 4
"""How often a write that somebody else was faster than is computed anew."""


class Writer:
    """Patches claims and nodes. Lists are written whole, so such patches carry the version that was read (Conflict)."""

    def __init__(self, client: KubeClient, informers: ClusterInformers, *, metrics: Metrics) -> None:
        self._client = client
        self._informers = informers
        self._metrics = metrics

    async def patch_claim(self, claim: NodeClaim, patch: Mapping[str, object]) -> NodeClaim:
        """Merge-patch a claim and return it as stored."""
        return self._informers.decode_claim(await self._client.patch(NODE_CLAIMS, claim.name, patch))

    async def patch_claim_status(
        self, claim: NodeClaim, conditions: Iterable[Condition] = (), status: Mapping[str, object] | None = None
    ) -> NodeClaim:
        """Write changed conditions and other status fields; nothing is sent when nothing changed."""
        changed = tuple(conditions)
        if not changed and not status:
            return claim
        body: dict[str, object] = {"status": dict(status or {})}
        if changed:
            body["metadata"] = {"resourceVersion": claim.metadata.resource_version}
            body["status"] = {**(status or {}), "conditions": merged_conditions(claim.conditions, changed)}
        raw = await self._client.patch(NODE_CLAIMS, claim.name, body, subresource="status")
        return self._informers.decode_claim(raw)

    async def drop_claim_conditions(self, claim: NodeClaim, *kinds: str) -> NodeClaim:
        """Remove conditions that no longer hold; nothing is sent when none is there."""
        kept = [condition for condition in claim.conditions if condition.type not in kinds]
        if len(kept) == len(claim.conditions):
            return claim
        body = {
            "metadata": {"resourceVersion": claim.metadata.resource_version},
            "status": {"conditions": merged_conditions(kept, ())},
        }
        raw = await self._client.patch(NODE_CLAIMS, claim.name, body, subresource="status")
        return self._informers.decode_claim(raw)

    async def set_claim_condition(self, claim: NodeClaim, condition: Condition, now: UnixSeconds) -> NodeClaim:
        """Write a condition, whatever others write to the claim meanwhile; nothing is sent when it says so already."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._write_claim_condition(claim, condition, now)
            except Conflict:
                claim = self._informers.decode_claim(await self._client.get(NODE_CLAIMS, claim.name))
        return await self._write_claim_condition(claim, condition, now)

    async def _write_claim_condition(self, claim: NodeClaim, condition: Condition, now: UnixSeconds) -> NodeClaim:
        changed = changed_condition(claim.conditions, condition, now)
        return await self.patch_claim_status(claim, (changed,) if changed else ())

    async def limit_drain(self, claim: NodeClaim, deadline: UnixSeconds) -> NodeClaim:
        """Let the claim's drain end by force at a moment, unless it ends sooner already (T-2)."""
        text = claim.metadata.annotations.get(labels.TERMINATION_TIMESTAMP)
        try:
            ends_at = from_rfc3339(text) if text else None
        except ValueError:
            ends_at = None
        if ends_at is not None and ends_at <= deadline:
            return claim
        ends = {labels.TERMINATION_TIMESTAMP: to_rfc3339(deadline)}
        written = await self.patch_claim(claim, {"metadata": {"annotations": ends}})
        log.info("annotated nodeclaim", nodeclaim=claim.name, annotation=ends)
        return written

    async def delete_claim(self, claim: NodeClaim) -> None:
        """Ask for the end of a claim; one that is being deleted or gone is left alone."""
        if claim.metadata.is_deleting:
            return
        try:
            await self._client.delete(NODE_CLAIMS, claim.name, uid=claim.metadata.uid)
        except NotFound:
            self._informers.claims.fold_deleted(ObjectKey("", claim.name), claim.metadata.uid)

    async def disrupt(self, claim: NodeClaim, reason: str, *, policy: str = "") -> None:
        """Delete a claim because we decided so, and count it.

        `reason` is the metric's (snake case); `policy` the pool's consolidation policy where that is why.
        """
        await self.delete_claim(claim)
        self._metrics.nodeclaims_disrupted_total.labels(
            reason=reason,
            nodepool=claim.pool.name if claim.pool else "",
            capacity_type=claim.labels.get(labels.CAPACITY_TYPE, ""),
            consolidation_policy=policy,
            termination_mode=_termination_mode(claim),
        ).inc()

    async def patch_node(self, node: Node, patch: Mapping[str, object]) -> Node:
        """Merge-patch a node and return it as stored."""
        patched = await self._client.patch(NODES, node.metadata.name, patch)
        self._informers.nodes.fold(patched)
        return patched

    async def set_disrupted(self, node: Node, *, is_disrupted: bool) -> Node:
        """Put the taint that keeps pods away on a node, or take it off; return the node as it is then.

        Kubelets write to nodes all the time, so a version that is stale is read again.
        """
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._write_disrupted(node, is_disrupted=is_disrupted)
            except Conflict:
                node = await self._client.get(NODES, node.metadata.name)
        return await self._write_disrupted(node, is_disrupted=is_disrupted)

    async def _write_disrupted(self, node: Node, *, is_disrupted: bool) -> Node:
        others = [taint for taint in node.spec.taints if not taint.matches(DISRUPTED)]
        if is_disrupted == (len(others) < len(node.spec.taints)):
            self._informers.nodes.fold(node)
            return node
        taints: list[Taint] = [*others, DISRUPTED] if is_disrupted else others
        entries = [taint_entry(taint) for taint in taints]
        version = node.metadata.resource_version
        written = await self.patch_node(node, {"metadata": {"resourceVersion": version}, "spec": {"taints": entries}})
        log.info("tainted node" if is_disrupted else "untainted node", node=node.metadata.name, taint=str(DISRUPTED))
        return written

    async def delete_node(self, node: Node) -> None:
        """Ask for the end of a node; one that is being deleted or gone is left alone."""
        if node.metadata.is_deleting:
            return
        try:
            await self._client.delete(NODES, node.metadata.name, uid=node.metadata.uid)
        except NotFound:
            self._informers.nodes.fold_deleted(node.metadata.key, node.metadata.uid)


def _termination_mode(claim: NodeClaim) -> str:
    """How hard the claim's end may be, from its grace period alone (D-20)."""
    grace_s = claim.termination_grace_period_s
    if grace_s is None:
        return "graceful"
    return "eventual" if grace_s > 0 else "forceful"


def without_finalizer(finalizers: Iterable[str], resource_version: str, finalizer: str) -> dict[str, object]:
    """Return the merge patch that takes one finalizer off."""
    kept = [name for name in finalizers if name != finalizer]
    return {"metadata": {"resourceVersion": resource_version, "finalizers": kept}}
