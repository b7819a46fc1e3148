"""What a NodeClaim needs next, as one table: launched → registered → initialized, each with its time limit. Pure.

Source: spec v1 §3.1 (L-1 … L-6), §1.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec

from karpenter.model import labels
from karpenter.model.core import Node
from karpenter.model.meta import Condition, changed_condition
from karpenter.model.nodeclaim import INITIALIZED, LAUNCHED, READY, REGISTERED, NodeClaim
from karpenter.model.nodes import is_ready
from karpenter.model.resources import parse_resources
from karpenter.model.taints import UNREGISTERED, Taint, is_ephemeral
from karpenter.model.units import UnixSeconds

REGISTRATION_TIMEOUT: Final = "registration_timeout"
INITIALIZATION_TIMEOUT: Final = "initialization_timeout"
LIFE: Final = (LAUNCHED, REGISTERED, INITIALIZED)
"""The conditions of a claim's life, in order; `Ready` is all of them."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a claim may take, in seconds."""

    launch_s: float = 300.0
    registration_s: float = 900.0
    initialization_s: float = 3600.0
    """For a node without pods; one that has some stays, whatever keeps it from being initialized."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Ask the cloud for the machine."""


@dataclass(frozen=True, slots=True)
class Register:
    """Make the node that joined ours: labels, annotations, taints, finalizer, owner."""

    node: Node


@dataclass(frozen=True, slots=True)
class Initialize:
    """Say on the node that it is ready for pods."""

    node: Node


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Delete the claim."""

    reason: str
    """As the metric of disrupted claims spells it."""


Action: TypeAlias = Launch | Register | Initialize | GiveUp


@dataclass(frozen=True, slots=True)
class Step:
    """What to do for a claim now, and when to look again."""

    action: Action | None = None
    conditions: tuple[Condition, ...] = ()
    """Conditions that differ from what the claim says, to be written after the action went well."""
    requeue_after_s: float | None = None
    """Seconds until a time limit ends; None when only an event can change anything."""


def next_step(
    claim: NodeClaim,
    nodes: Sequence[Node],
    now: UnixSeconds,
    *,
    timeouts: Timeouts = Timeouts(),
    holds_pods: bool = False,
) -> Step:
    """Return the next step in the life of a claim that is not being deleted.

    `nodes` are all nodes that report the claim's provider id; `holds_pods` says whether pods run there that would have
    to move.
    """
    if not claim.is_true(LAUNCHED):
        return _launch(claim, now, timeouts)
    if not claim.is_true(REGISTERED):
        return _register(claim, nodes, now=now, timeouts=timeouts)
    if not claim.is_true(INITIALIZED):
        return _initialize(claim, nodes, now=now, timeouts=timeouts, holds_pods=holds_pods)
    return Step(conditions=_changed(claim, (), now))


def _launch(claim: NodeClaim, now: UnixSeconds, timeouts: Timeouts) -> Step:
    left = _time_left(claim, LAUNCHED, now=now, limit_s=timeouts.launch_s)
    if left <= 0:
        return Step(GiveUp("launch_timeout"))
    return Step(Launch(), _changed(claim, (), now), requeue_after_s=left)


def _register(claim: NodeClaim, nodes: Sequence[Node], *, now: UnixSeconds, timeouts: Timeouts) -> Step:
    if len(nodes) > 1:
        names = ", ".join(sorted(node.metadata.name for node in nodes))
        message = f"nodes {names} share provider id {claim.provider_id}"
        return Step(conditions=_changed(claim, (Condition(REGISTERED, "False", "MultipleNodesFound", message),), now))
    left = _time_left(claim, REGISTERED, now=now, limit_s=timeouts.registration_s)
    if not nodes:
        if left <= 0:
            return Step(GiveUp(REGISTRATION_TIMEOUT))
        waiting = Condition(REGISTERED, "Unknown", "NodeNotFound", "the node has not joined the cluster yet")
        return Step(conditions=_changed(claim, (waiting,), now), requeue_after_s=left)
    return Step(Register(nodes[0]), _changed(claim, (Condition(REGISTERED, "True"),), now))


def _initialize(
    claim: NodeClaim, nodes: Sequence[Node], *, now: UnixSeconds, timeouts: Timeouts, holds_pods: bool
) -> Step:
    waiting = _not_initialized_because(claim, nodes)
    if waiting is None:
        return Step(Initialize(nodes[0]), _changed(claim, (Condition(INITIALIZED, "True"),), now))
    conditions = _changed(claim, (Condition(INITIALIZED, "Unknown", *waiting),), now)
    left = _time_left(claim, INITIALIZED, now=now, limit_s=timeouts.initialization_s)
    if holds_pods:
        return Step(conditions=conditions)
    return Step(GiveUp(INITIALIZATION_TIMEOUT)) if left <= 0 else Step(conditions=conditions, requeue_after_s=left)


def _not_initialized_because(claim: NodeClaim, nodes: Sequence[Node]) -> tuple[str, str] | None:
    """Return reason and message of the first thing that is missing (LIF-20, LIF-21); None when nothing is."""
    if not nodes:
        return "NodeNotFound", f"no node with provider id {claim.provider_id}"
    node = nodes[0]
    if not is_ready(node):
        return "NodeNotReady", f"node {node.metadata.name} is not ready"
    startup = _present(node.spec.taints, claim.startup_taints)
    if startup:
        return "StartupTaintsExist", f"startup taint {startup[0]} is still on the node; something else must remove it"
    ephemeral = [taint for taint in node.spec.taints if is_ephemeral(taint)]
    if ephemeral:
        return "KnownEphemeralTaintsExist", f"taint {ephemeral[0]} is still on the node"
    allocatable = parse_resources(node.status.allocatable)
    missing = sorted(name for name, amount in claim.requests.items() if amount and not allocatable.get(name))
    if missing:
        return "ResourceNotRegistered", f"node {node.metadata.name} does not offer {missing[0]} yet"
    return None


def _present(taints: Sequence[Taint], wanted: Sequence[Taint]) -> list[Taint]:
    return [taint for taint in taints if any(taint.matches(other) for other in wanted)]


def _time_left(claim: NodeClaim, kind: str, *, now: UnixSeconds, limit_s: float) -> float:
    """Seconds until the limit, counted from when the condition first appeared."""
    condition = claim.condition(kind)
    since = condition.since if condition else None
    return limit_s if since is None else since + limit_s - now


def _changed(claim: NodeClaim, new: Sequence[Condition], now: UnixSeconds) -> tuple[Condition, ...]:
    """Return the conditions to write: the new ones, those of the life that are missing, and `Ready` from all three."""
    missing = (kind for kind in LIFE if claim.condition(kind) is None)
    wanted = {kind: Condition(kind, "Unknown", "AwaitingReconciliation", "not looked at yet") for kind in missing}
    wanted |= {condition.type: condition for condition in new}
    status = {kind: wanted[kind].status if kind in wanted else _status(claim, kind) for kind in LIFE}
    wanted[READY] = _ready(status)
    updates = (changed_condition(claim.conditions, condition, now) for condition in wanted.values())
    return tuple(update for update in updates if update is not None)


def _status(claim: NodeClaim, kind: str) -> str:
    condition = claim.condition(kind)
    return condition.status if condition else "Unknown"


def _ready(status: Mapping[str, str]) -> Condition:
    missing = [kind for kind in LIFE if status[kind] != "True"]
    if not missing:
        return Condition(READY, "True")
    worst = "False" if "False" in status.values() else "Unknown"
    return Condition(READY, worst, "ReconcilingDependents", f"waiting for {', '.join(missing)}")


def is_closed_until_registered(node: Node) -> bool:
    """Return whether a node keeps pods off until it is registered, or was registered before (L-5)."""
    return labels.REGISTERED in node.metadata.labels or bool(_present(node.spec.taints, (UNREGISTERED,)))


def registration_patch(claim: NodeClaim, node: Node) -> dict[str, object]:
    """Return the merge patch that makes a node ours (L-5).

    Labels and annotations of the claim go over the node's. Taints and startup taints are copied once, unless the node
    says that it brought its own; the unregistered taint goes. List fields make the patch depend on the version read.
    """
    synced = node.metadata.labels.get(labels.DO_NOT_SYNC_TAINTS) == "true"
    wanted = () if synced else (*claim.taints, *claim.startup_taints)
    kept = [taint for taint in node.spec.taints if not taint.matches(UNREGISTERED)]
    added = [taint for taint in wanted if not _present(kept, (taint,))]
    owner = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "name": claim.name,
        "uid": claim.metadata.uid,
        "blockOwnerDeletion": True,
    }
    others = [_owner(reference) for reference in node.metadata.owner_references if reference.uid != claim.metadata.uid]
    finalizers = dict.fromkeys((*node.metadata.finalizers, labels.TERMINATION_FINALIZER))
    return {
        "metadata": {
            "resourceVersion": node.metadata.resource_version,
            "labels": {**claim.labels, labels.REGISTERED: "true"},
            "annotations": dict(claim.metadata.annotations),
            "finalizers": list(finalizers),
            "ownerReferences": [*others, owner],
        },
        "spec": {"taints": [taint_entry(taint) for taint in (*kept, *added)]},
    }


def _owner(reference: object) -> dict[str, object]:
    raw: dict[str, object] = msgspec.to_builtins(reference)
    return {key: value for key, value in raw.items() if value is not None}


def taint_entry(taint: Taint) -> dict[str, object]:
    """Return a taint as a manifest has it."""
    entry: dict[str, object] = msgspec.to_builtins(taint)
    return {**entry, "effect": taint.effect}
