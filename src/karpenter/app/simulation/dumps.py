"""What a dump leaves out and disruption asks for, filled in as the issue's readers expect it.

A dump without conditions counts its nodes as initialized and consolidatable, empty ones as empty for long. A budget
without a status gets the one that its controller would give it. A claim whose pool was edited after the dump has
drifted. Source: issue 6, point 11; spec v1 D-27.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from karpenter.disruption.drift import drifted
from karpenter.disruption.emptiness import is_empty
from karpenter.disruption.settling import ready_claim
from karpenter.model.core import Pod, PodDisruptionBudget, PodDisruptionBudgetStatus
from karpenter.model.meta import Condition, ObjectMeta, find_condition
from karpenter.model.nodeclaim import DRIFTED, NodeClaim
from karpenter.model.units import ProviderID, UnixSeconds, to_rfc3339
from karpenter.scheduling.snapshot import NodeView, PoolView, Snapshot
from karpenter.sim.controllers.amounts import resolve


def completed(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot of a dump with everything that disruption looks at."""
    pools = {view.pool.key: view for view in snapshot.pools}
    pods = [pod for view in snapshot.nodes for pod in view.pods]
    return replace(
        snapshot,
        nodes=tuple(
            _completed(view, pools[view.pool], snapshot.taken_at) if view.pool in pools else view
            for view in snapshot.nodes
        ),
        pdbs=tuple(_judged(pdb, pods) for pdb in snapshot.pdbs),
    )


def _completed(view: NodeView, pool: PoolView, now: UnixSeconds) -> NodeView:
    node, claim = view.node, view.claim
    if node is None:
        return view
    if claim is not None and claim.conditions:
        return replace(view, claim=_with_drift(claim, pool, now))
    ready = find_condition(node.status.conditions, "Ready")
    if ready is not None and not ready.is_true:
        return view
    provider_id = ProviderID(node.spec.provider_id)
    return replace(
        view,
        is_initialized=True,
        taints=node.spec.taints,
        claim=ready_claim(claim or _claim_of(view, pool), provider_id, node.metadata.labels),
        empty_since=node.metadata.created_at or UnixSeconds(0.0) if is_empty(view) else None,
    )


def _claim_of(view: NodeView, pool: PoolView) -> NodeClaim:
    """Return a claim for a node of one of our pools that has none in the input; it is as old as the node."""
    assert view.node is not None
    template = pool.pool.template
    return NodeClaim(
        metadata=ObjectMeta(name=view.name, creation_timestamp=view.node.metadata.creation_timestamp),
        node_class_ref=template.node_class_ref,
        taints=template.taints,
        expire_after_s=template.expire_after_s,
        termination_grace_period_s=template.termination_grace_period_s,
        pool=view.pool,
        node_name=view.name,
    )


def _with_drift(claim: NodeClaim, pool: PoolView, now: UnixSeconds) -> NodeClaim:
    found = (
        None
        if claim.is_true(DRIFTED)
        else drifted(claim, pool.pool, {found.name: found for found in pool.instance_types}, now=now)
    )
    if found is None:
        return claim
    condition = Condition(DRIFTED, "True", found.reason, found.message, to_rfc3339(now))
    return replace(claim, conditions=(*(one for one in claim.conditions if one.type != DRIFTED), condition))


def _judged(pdb: PodDisruptionBudget, pods: Sequence[Pod]) -> PodDisruptionBudget:
    """Return a budget with a status: as a manifest has none, of the pods that are bound; one of a server stays."""
    if pdb.status != PodDisruptionBudgetStatus() or pdb.spec.selector is None:
        return pdb
    spec, selector = pdb.spec, pdb.spec.selector
    covered = [
        pod
        for pod in pods
        if pod.metadata.namespace == pdb.metadata.namespace and selector.matches(pod.metadata.labels)
    ]
    total, healthy = len(covered), sum(_is_healthy(pod) for pod in covered)
    if spec.max_unavailable is not None:
        wanted = total - resolve(spec.max_unavailable, total, round_up=True)
    else:
        wanted = resolve(1 if spec.min_available is None else spec.min_available, total, round_up=True)
    status = PodDisruptionBudgetStatus(
        disruptions_allowed=max(0, healthy - wanted),
        current_healthy=healthy,
        desired_healthy=max(0, wanted),
        expected_pods=total,
        observed_generation=pdb.metadata.generation,
    )
    return msgspec.structs.replace(pdb, status=status)


def _is_healthy(pod: Pod) -> bool:
    ready = find_condition(pod.status.conditions, "Ready")
    return ready is None or ready.is_true
