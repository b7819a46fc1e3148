"""One node, one claim, or both, seen as a place for pods. Pure.

Source: spec v1alpha5 SCH-4 … SCH-7, spec v1 S-16, S-17.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from karpenter.model import labels
from karpenter.model.core import Node, Pod
from karpenter.model.meta import find_condition
from karpenter.model.nodeclaim import EMPTY, INITIALIZED, NodeClaim
from karpenter.model.pods import is_terminal
from karpenter.model.resources import Resources, parse_resources
from karpenter.model.storage import CSINode
from karpenter.model.taints import NO_SCHEDULE, Taint, is_ephemeral
from karpenter.model.units import PoolKey, UnixSeconds
from karpenter.scheduling.snapshot import NodeView

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


@dataclass(frozen=True, slots=True)
class Marks:
    """What the operator itself knows about a node beside the API objects."""

    nominated_until: UnixSeconds | None = None
    is_marked_for_deletion: bool = False
    held_until: UnixSeconds | None = None
    """Not to be disrupted by choice before then."""

    def joined(self, other: Marks) -> Marks:
        """Return what both say together: a node's marks, and those of its claim."""
        return Marks(
            _later(self.nominated_until, other.nominated_until),
            self.is_marked_for_deletion or other.is_marked_for_deletion,
            _later(self.held_until, other.held_until),
        )


def _later(first: UnixSeconds | None, second: UnixSeconds | None) -> UnixSeconds | None:
    if first is None or second is None:
        return first if second is None else second
    return max(first, second)


def node_view(
    node: Node | None,
    claim: NodeClaim | None,
    pods: Iterable[Pod] = (),
    *,
    now: UnixSeconds,
    marks: Marks = Marks(),
    csi: CSINode | None = None,
    price: float | None = None,
) -> NodeView:
    """Return the view of a node and its claim; at least one of them is given.

    `pods` are those bound to the node; terminal ones are left out here. `price` is in USD per hour, None when unknown.
    """
    node_labels = _labels(node, claim)
    initialized = _is_initialized(node, claim)
    deleting = marks.is_marked_for_deletion or _is_deleting(node, claim)
    return NodeView(
        name=_name(node, claim),
        labels=node_labels,
        taints=_taints(node, claim, initialized),
        capacity=_amounts(node.status.capacity if node else {}, claim.capacity if claim else {}, initialized),
        allocatable=_amounts(node.status.allocatable if node else {}, claim.allocatable if claim else {}, initialized),
        pods=tuple(sorted((pod for pod in pods if not is_terminal(pod)), key=lambda pod: pod.metadata.key)),
        is_initialized=initialized,
        is_managed=claim is not None or pool_of(node_labels) is not None,
        is_deleting=deleting,
        is_nominated=marks.nominated_until is not None and now < marks.nominated_until,
        pool=claim.pool if claim and claim.pool else pool_of(node_labels),
        instance_type=node_labels.get(labels.INSTANCE_TYPE),
        zone=node_labels.get(labels.ZONE),
        capacity_type=node_labels.get(labels.CAPACITY_TYPE),
        price=price,
        node=node,
        claim=claim,
        csi=csi,
        initialized_at=_since(claim, INITIALIZED),
        empty_since=_since(claim, EMPTY),
        held_until=marks.held_until,
    )


def pool_of(node_labels: Mapping[str, str]) -> PoolKey | None:
    """Return the pool that labels tie an object to; None when they name none."""
    if labels.NODEPOOL in node_labels:
        return PoolKey("NodePool", node_labels[labels.NODEPOOL])
    if labels.PROVISIONER in node_labels:
        return PoolKey("Provisioner", node_labels[labels.PROVISIONER])
    return None


def _name(node: Node | None, claim: NodeClaim | None) -> str:
    if node is not None:
        return node.metadata.name
    assert claim is not None
    return claim.name


def _labels(node: Node | None, claim: NodeClaim | None) -> dict[str, str]:
    """The node's own labels win; until it registers, the claim says what they will be."""
    promised: dict[str, str] = {}
    if claim is not None:
        single = {key: req.values for key, req in claim.requirements.items() if not req.complement}
        promised = {key: next(iter(values)) for key, values in single.items() if len(values) == 1}
        promised |= claim.labels
    if node is None:
        return labels.normalized(promised)
    return labels.normalized({labels.HOSTNAME: node.metadata.name, **promised, **node.metadata.labels})


def _is_initialized(node: Node | None, claim: NodeClaim | None) -> bool:
    if node is None:
        return False
    if node.metadata.labels.get(labels.INITIALIZED) == "true":
        return True
    if claim is not None:
        return claim.is_true(INITIALIZED)
    # A foreign node, or one from a dump without conditions, counts unless it says that it is not ready.
    ready = find_condition(node.status.conditions, "Ready")
    return ready is None or ready.is_true


def _taints(node: Node | None, claim: NodeClaim | None, initialized: bool) -> tuple[Taint, ...]:
    if node is None:
        return claim.taints if claim else ()
    taints = node.spec.taints
    if node.spec.unschedulable and not any(taint.matches(UNSCHEDULABLE) for taint in taints):
        taints = (*taints, UNSCHEDULABLE)
    if initialized:
        return taints
    startup = claim.startup_taints if claim else ()
    return tuple(
        taint for taint in taints if not is_ephemeral(taint) and not any(taint.matches(known) for known in startup)
    )


def _amounts(raw: Mapping[str, str | int | float], promised: Resources, initialized: bool) -> dict[str, int]:
    reported = parse_resources(raw)
    if initialized:
        return reported
    missing = {name: amount for name, amount in promised.items() if not reported.get(name)}
    return {**reported, **missing}


def _is_deleting(node: Node | None, claim: NodeClaim | None) -> bool:
    return (node is not None and node.metadata.is_deleting) or (claim is not None and claim.metadata.is_deleting)


def _since(claim: NodeClaim | None, kind: str) -> UnixSeconds | None:
    condition = claim.condition(kind) if claim else None
    return condition.since if condition and condition.is_true else None
