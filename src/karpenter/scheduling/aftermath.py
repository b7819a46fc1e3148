"""The cluster as it will be once a solution is carried out; what is asked next is asked of that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType
from karpenter.model.requirements import Requirements
from karpenter.model.resources import NODES, add
from karpenter.model.units import PoolKey
from karpenter.scheduling.snapshot import NodeView, PoolView, Snapshot
from karpenter.scheduling.solution import ClaimPlan, Solution


def aftermath(snapshot: Snapshot, pods: Iterable[Pod], solution: Solution) -> Snapshot:
    """Return the snapshot with the machines of a solution in flight, limits used by them, and its pods in their places.

    `pods` are those that the solution was asked about. Nothing is pending any more.
    """
    arriving: dict[str, list[Pod]] = {}
    for pod in pods:
        place = solution.placements.get(pod.metadata.key)
        if place is not None:
            arriving.setdefault(place, []).append(pod)
    views = {view.pool.key: view for view in snapshot.pools}
    old = (replace(view, pods=(*view.pods, *arriving.get(view.name, ()))) for view in snapshot.nodes)
    new = [_in_flight(plan, views[plan.pool]) for plan in solution.new_claims]
    used: dict[PoolKey, list[NodeView]] = {}
    for view in new:
        if view.pool is not None:
            used.setdefault(view.pool, []).append(view)
    return replace(
        snapshot,
        nodes=tuple(sorted((*old, *new), key=lambda view: view.name)),
        pools=tuple(_with_usage(view, used.get(view.pool.key, ())) for view in snapshot.pools),
        pending=(),
    )


def _with_usage(view: PoolView, more: Iterable[NodeView]) -> PoolView:
    return replace(view, usage=add(view.usage, *(add(node.capacity, {NODES: 1}) for node in more)))


def _in_flight(plan: ClaimPlan, view: PoolView) -> NodeView:
    kind = next(kind for kind in view.instance_types if kind.name == plan.instance_type)
    return NodeView(
        name=plan.name,
        labels=_labels(plan, kind),
        taints=view.pool.template.taints,
        capacity=kind.capacity,
        allocatable=kind.allocatable,
        pods=plan.pods,
        is_initialized=False,
        pool=plan.pool,
        instance_type=plan.instance_type,
        zone=plan.zone,
        capacity_type=plan.capacity_type,
        price=plan.price,
    )


def _labels(plan: ClaimPlan, kind: InstanceType) -> dict[str, str]:
    place = {
        labels.INSTANCE_TYPE: plan.instance_type,
        labels.ZONE: plan.zone,
        labels.CAPACITY_TYPE: plan.capacity_type,
        labels.HOSTNAME: plan.name,
    }
    return {**_settled(kind.requirements), **_settled(plan.requirements), **place}


def _settled(requirements: Requirements) -> dict[str, str]:
    """Return the labels that can have one value only."""
    return {
        key: next(iter(requirement.values))
        for key, requirement in requirements.items()
        if not requirement.complement and len(requirement.values) == 1
    }
