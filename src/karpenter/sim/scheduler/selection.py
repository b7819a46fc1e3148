"""Choosing a node for one pod: filters, then scores, then a seeded draw among the best.

What one node means for pods of one kind is remembered until the node changes. Binding a pod changes one node, so the
next pod of its kind looks at one node anew; the rest is sums over remembered values.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, Protocol

from karpenter.model.core import PersistentVolumeClaim
from karpenter.model.meta import LabelSelector
from karpenter.sim.scheduler import diagnosis
from karpenter.sim.scheduler.diagnosis import Unschedulable
from karpenter.sim.scheduler.interpod import NOTHING, PodRelations, Relations, relations_on
from karpenter.sim.scheduler.nodefilters import Rejection, discouraging_taints, node_preference, rejection_by_node
from karpenter.sim.scheduler.nodeinfo import ClusterCache, NodeInfo
from karpenter.sim.scheduler.podfacts import PodFacts, SpreadRule
from karpenter.sim.scheduler.scores import WEIGHTS, resource_score, scaled
from karpenter.sim.scheduler.spread import HardSpread, NodeCounts, counts_on, default_rules, soft_scores
from karpenter.sim.scheduler.volumes import Mounts, Storage, rejection_by_volumes, resolve

_REMEMBERED_KINDS: Final = 128


class Surroundings(Storage, Protocol):
    """What else of the cluster decides about a pod: namespaces, services, workloads, volumes."""

    @property
    def stamp(self) -> int:
        """Another number after each change of anything here."""
        ...

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """Return a namespace's labels; empty for one that is not there."""
        ...

    def default_selectors(self, pod: PodFacts) -> tuple[LabelSelector, ...]:
        """Return the selectors of the services and the workload of a pod; it is spread with the pods that match all."""
        ...


@dataclass(frozen=True, slots=True)
class Placement:
    """A node for a pod."""

    node: str
    waiting: tuple[PersistentVolumeClaim, ...] = ()
    """Claims whose volumes have to be made on that node first."""


@dataclass(frozen=True, slots=True)
class _Record:
    """What one node means for pods of one kind, as of a stamp."""

    stamp: int
    rejection: Rejection | None
    resource_points: int = 0
    discouraging: int = 0
    preference: int = 0
    hard: NodeCounts = ()
    soft: NodeCounts = ()
    relations: Relations = NOTHING


@dataclass(slots=True)
class _Kind:
    """Pods of one kind and what is remembered for them."""

    pod: PodFacts
    stamp: int
    """Of the surroundings."""
    mounts: Mounts | str
    soft_rules: tuple[SpreadRule, ...]
    records: dict[str, _Record] = field(default_factory=dict)
    failure: tuple[int, Unschedulable] | None = None
    """The last verdict and the stamp of the cluster it was given for."""


class NodeSelection:
    """Chooses nodes for pods; equal histories and equal seeds of `draw` give equal choices."""

    def __init__(self, cache: ClusterCache, surroundings: Surroundings, *, draw: Random) -> None:
        self._cache = cache
        self._surroundings = surroundings
        self._draw = draw
        self._kinds: OrderedDict[PodFacts, _Kind] = OrderedDict()

    def place(self, pod: PodFacts, *, priority: int) -> Placement | Unschedulable:
        """Return the best node for a pod, or why there is none. Changes nothing: the caller assumes the pod there."""
        kind = self._kind(pod)
        if kind.failure is not None and kind.failure[0] == self._cache.stamp:
            return kind.failure[1]
        found = self._place(kind, priority)
        if isinstance(found, Unschedulable):
            kind.failure = self._cache.stamp, found
        return found

    def room_for(self, pod: PodFacts, node: str) -> int:
        """Return how many pods of a kind a node has room for by itself; 0 when it takes none."""
        info = self._cache.node(node)
        if info is None or rejection_by_node(pod, info) is not None:
            return 0
        return min(
            (info.allocatable.get(name, 0) - info.requested.get(name, 0)) // amount
            for name, amount in pod.requests.items()
            if amount
        )

    def _place(self, kind: _Kind, priority: int) -> Placement | Unschedulable:
        nodes = self._cache.nodes()
        if not nodes:
            return Unschedulable(diagnosis.NO_NODES, frozenset())
        if isinstance(kind.mounts, str):
            return diagnosis.no_pod_fit(len(nodes), kind.mounts, "VolumeBinding")
        records = self._up_to_date(kind, nodes)
        relations = self._relations(kind.pod, nodes, records)
        rejections = _rejections(kind.pod, nodes, records, relations=relations)
        feasible = [index for index, rejection in enumerate(rejections) if rejection is None]
        if not feasible:
            return self._no_fit(kind.pod, nodes, [one for one in rejections if one is not None], priority=priority)
        chosen = feasible[0]
        if len(feasible) > 1:
            points = self._points(kind, nodes, records, feasible=feasible, relations=relations)
            best = max(points)
            chosen = self._draw.choice([index for index, score in zip(feasible, points, strict=True) if score == best])
        return Placement(nodes[chosen].name, kind.mounts.waiting)

    def _kind(self, pod: PodFacts) -> _Kind:
        kind = self._kinds.get(pod)
        if kind is None or kind.stamp != self._surroundings.stamp:
            rules = pod.soft_spread if pod.has_spread else default_rules(self._surroundings.default_selectors(pod))
            kind = _Kind(pod, self._surroundings.stamp, resolve(pod, self._surroundings), rules)
            self._kinds[pod] = kind
            if len(self._kinds) > _REMEMBERED_KINDS:
                self._kinds.popitem(last=False)
        self._kinds.move_to_end(pod)
        return kind

    def _up_to_date(self, kind: _Kind, nodes: Sequence[NodeInfo]) -> list[_Record]:
        known = kind.records
        records = []
        for node in nodes:
            record = known.get(node.name)
            if record is None or record.stamp != node.stamp:
                record = known[node.name] = self._new_record(kind, node)
            records.append(record)
        if len(known) > 2 * len(nodes):
            kind.records = {node.name: record for node, record in zip(nodes, records, strict=True)}
        return records

    def _new_record(self, kind: _Kind, node: NodeInfo) -> _Record:
        pod = kind.pod
        rejection = rejection_by_node(pod, node)
        if rejection is None and pod.claims and isinstance(kind.mounts, Mounts):
            rejection = rejection_by_volumes(kind.mounts, node, self._surroundings)
        return _Record(
            stamp=node.stamp,
            rejection=rejection,
            resource_points=resource_score(pod, node) if rejection is None else 0,
            discouraging=discouraging_taints(pod, node) if rejection is None else 0,
            preference=node_preference(pod, node) if rejection is None else 0,
            hard=counts_on(pod, pod.hard_spread, node, needs_all_keys=True) if pod.hard_spread else (),
            soft=counts_on(pod, kind.soft_rules, node, needs_all_keys=pod.has_spread) if kind.soft_rules else (),
            relations=relations_on(pod, node, self._surroundings.namespace_labels),
        )

    def _relations(self, pod: PodFacts, nodes: Sequence[NodeInfo], records: Sequence[_Record]) -> PodRelations | None:
        if not pod.has_pod_terms and all(record.relations is NOTHING for record in records):
            return None
        related = [(node, record.relations) for node, record in zip(nodes, records, strict=True)]
        return PodRelations(pod, related, self._surroundings.namespace_labels)

    def _points(
        self,
        kind: _Kind,
        nodes: Sequence[NodeInfo],
        records: Sequence[_Record],
        *,
        feasible: Sequence[int],
        relations: PodRelations | None,
    ) -> list[int]:
        points = [records[index].resource_points for index in feasible]
        taints = scaled([records[index].discouraging for index in feasible], fewer_is_better=True)
        preferences = scaled([records[index].preference for index in feasible])
        _add(points, taints, WEIGHTS["TaintToleration"])
        _add(points, preferences, WEIGHTS["NodeAffinity"])
        candidates = [nodes[index] for index in feasible]
        if kind.soft_rules:
            counts = [(node, record.soft) for node, record in zip(nodes, records, strict=True)]
            spread = soft_scores(kind.soft_rules, candidates, counts, needs_all_keys=kind.pod.has_spread)
            _add(points, spread, WEIGHTS["PodTopologySpread"])
        company = relations.scores(candidates) if relations is not None else None
        if company is not None:
            _add(points, company, WEIGHTS["InterPodAffinity"])
        return points

    def _no_fit(
        self, pod: PodFacts, nodes: Sequence[NodeInfo], rejections: Sequence[Rejection], *, priority: int
    ) -> Unschedulable:
        victims = [any(other.priority < priority for other in node.pods.values()) for node in nodes]
        note = diagnosis.preemption_note(rejections, has_victims=victims, never=pod.never_preempts)
        return diagnosis.no_fit(rejections, preemption=note)


def _rejections(
    pod: PodFacts, nodes: Sequence[NodeInfo], records: Sequence[_Record], *, relations: PodRelations | None
) -> list[Rejection | None]:
    """Return each node's first rejection: its own, then spread, then other pods."""
    spread = None
    if pod.hard_spread:
        spread = HardSpread(pod, [(node, record.hard) for node, record in zip(nodes, records, strict=True)])
    found: list[Rejection | None] = []
    for node, record in zip(nodes, records, strict=True):
        rejection = record.rejection
        if rejection is None and spread is not None:
            rejection = spread.rejection(node)
        if rejection is None and relations is not None:
            rejection = relations.rejection(node)
        found.append(rejection)
    return found


def _add(points: list[int], more: Sequence[int], weight: int) -> None:
    for index, score in enumerate(more):
        points[index] += weight * score
