"""Why nodes that are there do not take a pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from karpenter.model.labels import HOSTNAME, normalized
from karpenter.model.resources import CPU, MEMORY, PODS, Resources
from karpenter.scheduling.amounts import shown
from karpenter.scheduling.catalog import Floats
from karpenter.scheduling.daemons import Daemon
from karpenter.scheduling.explain.records import OtherNodes
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


@dataclass(frozen=True, slots=True)
class Visitor:
    """A pod on its way past the nodes that are there."""

    rule: NodeRule
    requests: Resources
    place: str | None
    """Where it ends."""
    domains: Mapping[str, tuple[str, str]]
    """For labels over which rules about other pods settle its place: the value there, and the rule in words."""
    has_neighbours: bool
    """Whether rules about single hosts, ports or volumes bind it as well."""


def other_nodes(rooms: Rooms, pod: Visitor) -> tuple[OtherNodes, ...]:
    """Return the nodes that a pod did not go to, the most with one reason first."""
    asked = np.array([pod.requests.get(name, 0) for name in rooms.resources], dtype=np.float64)
    found: dict[tuple[str, str], list[tuple[float, str, str]]] = {}
    for at, view in enumerate(rooms.views):
        if view.name != pod.place:
            code, message, distance = _on_labels(pod, view) or _on_room(rooms, at, asked) or _on_others(pod, view)
            same = code if code in {"InsufficientResources", "RoomTaken"} else message
            found.setdefault((code, same), []).append((distance, view.name, message))
    groups = [
        OtherNodes(tuple(name for _, name, _ in sorted(entries)), code, min(entries)[2])
        for (code, _), entries in found.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group.nodes), group.nodes)))


_Miss: TypeAlias = tuple[str, str, float]
"""Code, message and distance of what keeps a pod off a node."""


def _on_labels(pod: Visitor, view: NodeView) -> _Miss | None:
    taints = pod.rule.untolerated(view.taints)
    if taints:
        return "TaintNotTolerated", f"does not tolerate {', '.join(map(str, taints))}", 0.0
    if view.node is not None and view.node.spec.unschedulable:
        return "Cordoned", "is cordoned", 0.0
    mismatch = _mismatch(pod.rule, _labels(view))
    return None if mismatch is None else ("LabelMismatch", mismatch, 0.0)


def _on_room(rooms: Rooms, at: int, asked: Floats) -> _Miss | None:
    """Return what is short before the plan, or only because of the plan."""
    name = rooms.views[at].name
    for code, room in (("InsufficientResources", rooms.before[at]), ("RoomTaken", rooms.after[at])):
        short = (asked - room) / np.maximum(asked, 1)
        worst = int(short.argmax())
        if short[worst] > 0:
            resource = rooms.resources[worst]
            had, wanted = shown(resource, max(0, int(room[worst]))), shown(resource, int(asked[worst]))
            words = f"{had} {resource} left on {name}, {wanted} asked for"
            taken = f"other pods of the plan take its room: {words}"
            return code, taken if code == "RoomTaken" else words, float(short[worst])
    return None


def _on_others(pod: Visitor, view: NodeView) -> _Miss:
    """Return why a pod did not go to a node that has room for it."""
    labels = _labels(view)
    for key, (domain, rule) in pod.domains.items():
        if labels.get(key) != domain:
            return "OtherDomain", f"{rule} has it in {domain}", 0.0
    if pod.has_neighbours:
        return "OtherPods", "has room, but other pods, ports or volumes there may speak against it", 0.0
    return "AlsoRoom", "has room as well", 0.0


def _labels(view: NodeView) -> dict[str, str]:
    return {HOSTNAME: view.name, **normalized(dict(view.labels))}


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
