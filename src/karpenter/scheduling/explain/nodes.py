"""Why nodes that are there do not take a pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from karpenter.model.labels import HOSTNAME, normalized
from karpenter.model.resources import CPU, MEMORY, PODS, Resources
from karpenter.scheduling.amounts import shown
from karpenter.scheduling.catalog import Floats
from karpenter.scheduling.daemons import Daemon
from karpenter.scheduling.explain.records import NodesOut
from karpenter.scheduling.nodes import nodes_of
from karpenter.scheduling.rules import NodeRule
from karpenter.scheduling.snapshot import NodeView

NOTHING: Final[Resources] = {}


@dataclass(frozen=True, slots=True)
class Rooms:
    """What is left on nodes before a plan, and once it is carried out."""

    views: tuple[NodeView, ...]
    resources: tuple[str, ...]
    before: Floats
    after: Floats
    """Both B×R."""

    def left(self, name: str) -> dict[str, int]:
        """Return what is left on one node in the end; empty for a node that takes nothing."""
        for at, view in enumerate(self.views):
            if view.name == name:
                amounts = zip(self.resources, self.after[at].tolist(), strict=True)
                return {resource: max(0, int(amount)) for resource, amount in amounts}
        return {}


def rooms_of(
    before: Iterable[NodeView], after: Iterable[NodeView], daemons: tuple[Daemon, ...], *, requests: Resources = NOTHING
) -> Rooms:
    """Return the room of the nodes of `before`, for the usual resources and those asked for."""
    resources = tuple(dict.fromkeys((CPU, MEMORY, PODS, *sorted(requests))))
    then, now = nodes_of(tuple(before)), {view.name: view for view in after}
    later = nodes_of(tuple(now[view.name] for view in then.views))
    return Rooms(then.views, resources, then.room(resources, daemons), later.room(resources, daemons))


def nodes_out(rooms: Rooms, rule: NodeRule, requests: Resources) -> tuple[NodesOut, ...]:
    """Return the nodes that do not take a pod with this rule and these requests, the most with one reason first."""
    asked = np.array([requests.get(name, 0) for name in rooms.resources], dtype=np.float64)
    found: dict[str, list[tuple[float, str, str]]] = {}
    for at, view in enumerate(rooms.views):
        code, message, distance = _miss(rooms, at, view, rule=rule, asked=asked)
        key = message if code in {"TaintNotTolerated", "LabelMismatch"} else code
        found.setdefault(f"{code} {key}", []).append((distance, view.name, message))
    groups = [
        NodesOut(tuple(name for _, name, _ in sorted(entries)), key.split()[0], min(entries)[2])
        for key, entries in found.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group.nodes), group.nodes)))


def _miss(rooms: Rooms, at: int, view: NodeView, *, rule: NodeRule, asked: Floats) -> tuple[str, str, float]:
    """Return code, message and distance of what keeps a pod off a node."""
    taints = rule.untolerated(view.taints)
    if taints:
        return "TaintNotTolerated", f"does not tolerate {', '.join(map(str, taints))}", 0.0
    if view.node is not None and view.node.spec.unschedulable:
        return "TaintNotTolerated", "is cordoned", 0.0
    mismatch = _mismatch(rule, {HOSTNAME: view.name, **normalized(dict(view.labels))})
    if mismatch is not None:
        return "LabelMismatch", mismatch, 0.0
    for code, room in (("InsufficientResources", rooms.before[at]), ("RoomTaken", rooms.after[at])):
        short = (asked - room) / np.maximum(asked, 1)
        worst = int(short.argmax())
        if short[worst] > 0:
            resource, had = rooms.resources[worst], max(0, int(room[worst]))
            words = (
                f"{shown(resource, had)} {resource} left on {view.name}, {shown(resource, int(asked[worst]))} asked for"
            )
            return (
                code,
                words if code != "RoomTaken" else f"other pods of the plan take its room: {words}",
                short[worst],
            )
    return (
        "OtherPods",
        "has room, but rules about other pods, ports or volumes, or the price of the whole, speak against it",
        0.0,
    )


def _mismatch(rule: NodeRule, labels: Mapping[str, str]) -> str | None:
    """Return which label demand a node does not meet; None when it meets all of one alternative."""
    first: str | None = "no node could match"
    for at, term in enumerate(rule.terms):
        missed = [
            requirement
            for key, requirement in term.items()
            if not (requirement.allows(labels[key]) if key in labels else requirement.allows_absence)
        ]
        if not missed:
            return None
        if at == 0:
            has = labels.get(missed[0].key)
            first = (
                f"asks for {missed[0]}, has {has}" if has is not None else f"asks for {missed[0]}, has no such label"
            )
    return first
