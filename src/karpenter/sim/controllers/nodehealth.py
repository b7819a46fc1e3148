"""Which taints a node's conditions call for, and when a silent node is given up: pure functions.

Source: kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration, Taint based Evictions.
"""

from __future__ import annotations

from typing import Any, Final

from karpenter.model.core import Node, Pod
from karpenter.model.meta import find_condition
from karpenter.model.taints import NO_EXECUTE, NO_SCHEDULE, Taint, Toleration
from karpenter.model.units import UnixSeconds, from_rfc3339, to_rfc3339

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
EVICTION_GRACE_S: Final = 300
"""For how long pods tolerate a node that is not ready or not reachable, unless they say otherwise."""
GRACE_S: Final = 50.0
"""For how long a kubelet may be silent before its node's state counts as unknown."""
STARTUP_GRACE_S: Final = 60.0
"""The same for a kubelet that has never been heard of."""

_BY_CONDITION: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_CORDON: Final = "node.kubernetes.io/unschedulable"
_OURS: Final = frozenset({*_BY_CONDITION.values(), _CORDON})
_SILENT: Final = "Kubelet stopped posting node status."
_NEVER_HEARD: Final = "Kubelet never posted node status."
_WATCHED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


def grace_for(lease_duration_s: int) -> float:
    """Return how long a renewed lease holds: the usual grace, longer when the kubelet promised to beat less often."""
    return max(GRACE_S, 1.25 * lease_duration_s)


def wanted_taints(node: Node, now: UnixSeconds) -> tuple[Taint, ...]:
    """Return a node's taints as its conditions and its cordon call for, all others left as they are."""
    keys = {_BY_CONDITION.get((one.type, one.status)) for one in node.status.conditions} - {None}
    wanted = {(key, NO_SCHEDULE) for key in keys if key is not None}
    if node.spec.unschedulable:
        wanted.add((_CORDON, NO_SCHEDULE))
    wanted |= {(key, NO_EXECUTE) for key in (NOT_READY, UNREACHABLE) if key in keys}
    kept = [one for one in node.spec.taints if one.key not in _OURS or (one.key, one.effect) in wanted]
    known = {(one.key, one.effect) for one in kept}
    added = [
        Taint(key=key, effect=effect, time_added=to_rfc3339(now))
        for key, effect in sorted(wanted)
        if (key, effect) not in known
    ]
    return (*kept, *added)


def unknown_conditions(node: Node, now: UnixSeconds) -> list[dict[str, Any]]:
    """Return the conditions of a node whose kubelet is silent; empty when they say so already."""
    told = []
    for kind in _WATCHED:
        known = find_condition(node.status.conditions, kind)
        if known is not None and known.status == "Unknown":
            continue
        told.append({
            "type": kind,
            "status": "Unknown",
            "reason": "NodeStatusUnknown" if known is not None else "NodeStatusNeverUpdated",
            "message": _SILENT if known is not None else _NEVER_HEARD,
            "lastTransitionTime": to_rfc3339(now),
        })  # fmt: skip
    return told


def evicted_at(pod: Pod, node: Node, now: UnixSeconds) -> UnixSeconds | None:
    """Return when a pod has to leave its node because of `NoExecute` taints; None when it may stay.

    For each taint the first toleration that fits counts, from when the taint came. A pod that does not speak of nodes
    that are not ready or not reachable tolerates them for five minutes, as admission would have written into it.
    """
    moments: list[UnixSeconds] = []
    for taint in node.spec.taints:
        if taint.effect != NO_EXECUTE:
            continue
        toleration = next((one for one in _tolerations(pod) if one.tolerates(taint)), None)
        if toleration is None:
            return now
        if toleration.toleration_seconds is not None:
            since = from_rfc3339(taint.time_added) if taint.time_added else now
            moments.append(UnixSeconds(since + max(0, toleration.toleration_seconds)))
    return min(moments, default=None)


def _tolerations(pod: Pod) -> tuple[Toleration, ...]:
    given = pod.spec.tolerations
    added = tuple(
        Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=EVICTION_GRACE_S)
        for key in (NOT_READY, UNREACHABLE)
        if not any(one.key in {key, ""} and one.effect in {NO_EXECUTE, ""} for one in given)
    )
    return given + added
