"""Nodes as scheduling sees them: what is left on each, kept up to date pod by pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from karpenter.model import core
from karpenter.model.resources import parse_resources
from karpenter.model.taints import Taint
from karpenter.model.units import ObjectKey
from karpenter.sim.scheduler.podfacts import PodFacts


@dataclass(slots=True)
class NodeInfo:
    """One node and the sum of its pods. Changed only by `ClusterCache`, which gives it a new stamp each time."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    allocatable: Mapping[str, int] = field(default_factory=dict)
    is_known: bool = False
    """False while pods are bound to a node that we have not seen, or no longer see."""
    stamp: int = 0
    """Another number after each change that matters: what was computed for an older stamp is stale."""
    requested: dict[str, int] = field(default_factory=dict)
    scored_cpu: int = 0
    scored_memory: int = 0
    ports: list[tuple[str, int, str]] = field(default_factory=list)
    pods: dict[str, BoundPod] = field(default_factory=dict)
    """By uid."""
    classes: dict[PodFacts, int] = field(default_factory=dict)
    """How many pods of each kind, terminating ones included."""
    staying: dict[PodFacts, int] = field(default_factory=dict)
    """How many pods of each kind that are not being deleted: only these count for spread."""


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod on a node."""

    facts: PodFacts
    priority: int
    is_terminating: bool
    name: str = ""

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.facts.namespace, self.name)


class ClusterCache:
    """All nodes with their pods, bound or assumed to be.

    A pod chosen for a node is *assumed* there at once, so that the next pod sees less room; the API's confirmation
    changes nothing, a refusal takes it back.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, NodeInfo] = {}
        self._places: dict[str, str] = {}
        self._assumed: set[str] = set()
        self._listed: tuple[NodeInfo, ...] | None = None
        self._stamps = count(1)
        self.stamp = 0
        """Another number after each change to any node."""

    def nodes(self) -> tuple[NodeInfo, ...]:
        """Return the known nodes by name."""
        if self._listed is None:
            known = (info for info in self._nodes.values() if info.is_known)
            self._listed = tuple(sorted(known, key=lambda info: info.name))
        return self._listed

    def node(self, name: str) -> NodeInfo | None:
        """Return a known node; None for any other."""
        info = self._nodes.get(name)
        return info if info is not None and info.is_known else None

    def set_node(self, node: core.Node) -> bool:
        """Take over a node's state and return whether anything that matters to scheduling changed.

        Raises:
            ValueError: an allocatable amount is not a quantity.
        """
        name = node.metadata.name
        allocatable = parse_resources(node.status.allocatable or node.status.capacity)
        facts = (node.metadata.labels, node.spec.taints, node.spec.unschedulable, allocatable)
        info = self._info(name)
        if info.is_known and facts == (info.labels, info.taints, info.unschedulable, info.allocatable):
            return False
        info.labels, info.taints, info.unschedulable, info.allocatable = facts
        if not info.is_known:
            info.is_known, self._listed = True, None
        self._touch(info)
        return True

    def remove_node(self, name: str) -> None:
        """Forget a node. Its pods stay counted until they go, in case it comes back."""
        info = self._nodes.get(name)
        if info is None or not info.is_known:
            return
        info.is_known, self._listed = False, None
        self._touch(info)
        self._drop_if_unused(info)

    def assume(self, uid: str, facts: PodFacts, node: str, *, priority: int, name: str = "") -> None:
        """Count a pod on a node before the API confirms it."""
        self._assumed.add(uid)
        self._place(uid, BoundPod(facts, priority, is_terminating=False, name=name), node)

    def is_assumed(self, uid: str) -> bool:
        """Return whether a pod has been given a node and the API has not confirmed that yet."""
        return uid in self._assumed

    def set_pod(
        self, uid: str, facts: PodFacts, node: str, *, priority: int, is_terminating: bool, name: str = ""
    ) -> None:
        """Count a bound pod where the API says it is."""
        self._assumed.discard(uid)
        self._place(uid, BoundPod(facts, priority, is_terminating, name), node)

    def remove_pod(self, uid: str) -> str | None:
        """Stop counting a pod and return its node; None when it was not counted."""
        self._assumed.discard(uid)
        node = self._places.pop(uid, None)
        if node is None:
            return None
        info = self._nodes[node]
        _subtract(info, info.pods.pop(uid))
        self._touch(info)
        self._drop_if_unused(info)
        return node

    def _place(self, uid: str, pod: BoundPod, node: str) -> None:
        present = self._places.get(uid)
        if present == node and self._nodes[node].pods[uid] == pod:
            return
        if present is not None:
            info = self._nodes[present]
            _subtract(info, info.pods.pop(uid))
            self._touch(info)
        info = self._info(node)
        info.pods[uid] = pod
        self._places[uid] = node
        _add(info, pod)
        self._touch(info)

    def _info(self, name: str) -> NodeInfo:
        info = self._nodes.get(name)
        if info is None:
            info = self._nodes[name] = NodeInfo(name)
        return info

    def _touch(self, info: NodeInfo) -> None:
        info.stamp = self.stamp = next(self._stamps)

    def _drop_if_unused(self, info: NodeInfo) -> None:
        if not info.is_known and not info.pods:
            del self._nodes[info.name]


def _add(info: NodeInfo, pod: BoundPod) -> None:
    facts = pod.facts
    for name, amount in facts.requests.items():
        info.requested[name] = info.requested.get(name, 0) + amount
    info.scored_cpu += facts.scored_cpu
    info.scored_memory += facts.scored_memory
    info.ports.extend(facts.ports)
    _count(info.classes, facts, 1)
    if not pod.is_terminating:
        _count(info.staying, facts, 1)


def _subtract(info: NodeInfo, pod: BoundPod) -> None:
    facts = pod.facts
    for name, amount in facts.requests.items():
        info.requested[name] -= amount
    info.scored_cpu -= facts.scored_cpu
    info.scored_memory -= facts.scored_memory
    for port in facts.ports:
        info.ports.remove(port)
    _count(info.classes, facts, -1)
    if not pod.is_terminating:
        _count(info.staying, facts, -1)


def with_pods(info: NodeInfo, more: Iterable[PodFacts]) -> NodeInfo:
    """Return a node as it would be with more pods on it."""
    fuller = _copy(info)
    for number, facts in enumerate(more):
        pod = BoundPod(facts, priority=0, is_terminating=False)
        fuller.pods[f"nominated {number}"] = pod
        _add(fuller, pod)
    return fuller


def without_pods(info: NodeInfo, uids: Iterable[str]) -> NodeInfo:
    """Return a node as it would be once these pods have left it."""
    emptier = _copy(info)
    for uid in uids:
        _subtract(emptier, emptier.pods.pop(uid))
    return emptier


def _copy(info: NodeInfo) -> NodeInfo:
    return replace(
        info,
        requested=dict(info.requested),
        ports=list(info.ports),
        pods=dict(info.pods),
        classes=dict(info.classes),
        staying=dict(info.staying),
    )


def _count(counts: dict[PodFacts, int], facts: PodFacts, change: int) -> None:
    after = counts.get(facts, 0) + change
    if after:
        counts[facts] = after
    else:
        del counts[facts]


def pods_with_terms(info: NodeInfo) -> Iterator[tuple[PodFacts, int]]:
    """Yield the kinds of pods on a node that say something about other pods, with their number."""
    return ((facts, number) for facts, number in info.classes.items() if facts.has_pod_terms)
