"""Choosing a node for one pod: filters, then scores, then a seeded draw among the best.

What one node means for pods of one kind is remembered until the node changes. Binding a pod changes one node, so the
next pod of its kind looks at one node anew; the rest is sums over remembered values.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Final, Protocol

from karpenter.model.core import Pod
from karpenter.model.meta import LabelSelector
from karpenter.model.storage import PersistentVolumeClaim
from karpenter.model.units import ObjectKey, from_rfc3339
from karpenter.sim.kinds import Budget
from karpenter.sim.scheduler import diagnosis
from karpenter.sim.scheduler.diagnosis import Unschedulable
from karpenter.sim.scheduler.interpod import NOTHING, PodRelations, Relations, relations_on
from karpenter.sim.scheduler.nodefilters import Rejection, discouraging_taints, node_preference, rejection_by_node
from karpenter.sim.scheduler.nodeinfo import BoundPod, ClusterCache, NodeInfo, with_pods, without_pods
from karpenter.sim.scheduler.nominations import Nominations
from karpenter.sim.scheduler.podfacts import PodFacts, SpreadRule
from karpenter.sim.scheduler.preemption import Candidate, Victim, best, candidate, enough, is_preempted
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

    def pod(self, key: ObjectKey) -> Pod | None:
        """Return a pod as the API has it; None when it is gone."""
        ...

    def budgets(self) -> Sequence[Budget]:
        """Return all disruption budgets."""
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
    failure: tuple[tuple[int, int, int], Unschedulable] | None = None
    """The last verdict on a pod without a nomination, and what it was given for: cluster, nominations, priority."""


@dataclass(slots=True)
class _Search:
    """All nodes as they are now for one pod, and what speaks against each."""

    kind: _Kind
    uid: str
    priority: int
    nodes: Sequence[NodeInfo]
    records: list[_Record]
    relations: PodRelations | None
    rejections: list[Rejection | None]


class NodeSelection:
    """Chooses nodes for pods; equal histories and equal seeds of `draw` give equal choices."""

    def __init__(
        self, cache: ClusterCache, nominations: Nominations, surroundings: Surroundings, *, draw: Random
    ) -> None:
        self._cache = cache
        self._nominations = nominations
        self._surroundings = surroundings
        self._draw = draw
        self._kinds: OrderedDict[PodFacts, _Kind] = OrderedDict()

    def place(self, pod: PodFacts, *, uid: str, priority: int) -> Placement | Unschedulable:
        """Return the best node for a pod, or why there is none. Changes nothing: the caller assumes the pod there.

        The node that the pod was nominated for is taken if it will do, however good others are.
        """
        kind = self._kind(pod)
        nominated = self._nominations.node_of(uid)
        of = self._cache.stamp, self._nominations.stamp, priority
        if nominated is None and kind.failure is not None and kind.failure[0] == of:
            return kind.failure[1]
        found = self._place(kind, uid=uid, priority=priority, nominated=nominated)
        if isinstance(found, Unschedulable) and nominated is None:
            kind.failure = of, found
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

    def _place(self, kind: _Kind, *, uid: str, priority: int, nominated: str | None) -> Placement | Unschedulable:
        nodes = self._cache.nodes()
        if not nodes:
            return Unschedulable(diagnosis.NO_NODES, frozenset())
        if isinstance(kind.mounts, str):
            return diagnosis.no_pod_fit(len(nodes), kind.mounts, "VolumeBinding")
        search = self._search(kind, nodes, uid=uid, priority=priority)
        chosen = self._nominated(search, nominated)
        if chosen is None:
            self._leave_room(search, range(len(nodes)))
            feasible = [index for index, rejection in enumerate(search.rejections) if rejection is None]
            if not feasible:
                return self._no_fit(search, nominated)
            chosen = self._best(search, feasible) if len(feasible) > 1 else feasible[0]
        return Placement(nodes[chosen].name, kind.mounts.waiting)

    def _search(self, kind: _Kind, nodes: Sequence[NodeInfo], *, uid: str, priority: int) -> _Search:
        records = self._up_to_date(kind, nodes)
        relations = self._relations(kind.pod, nodes, records)
        rejections = _rejections(kind.pod, nodes, records, relations=relations)
        return _Search(kind, uid, priority, nodes, records, relations, rejections)

    def _nominated(self, search: _Search, name: str | None) -> int | None:
        """Return the node that the pod was nominated for; None when there is none, or it will not do."""
        index = next((at for at, node in enumerate(search.nodes) if node.name == name), None) if name else None
        if index is None:
            return None
        self._leave_room(search, (index,))
        return index if search.rejections[index] is None else None

    def _leave_room(self, search: _Search, indices: Iterable[int]) -> None:
        """Note which of these nodes will not do once the pods are there for which they are kept."""
        for index in indices:
            if search.rejections[index] is None:
                name = search.nodes[index].name
                others = self._nominations.before(search.uid, search.priority, name)
                search.rejections[index] = self._rejection_beside(search, index, others) if others else None

    def _rejection_beside(self, search: _Search, index: int, others: Sequence[PodFacts]) -> Rejection | None:
        return self._rejection_as(search, index, with_pods(search.nodes[index], others))

    def _rejection_as(self, search: _Search, index: int, node: NodeInfo) -> Rejection | None:
        """Return why one of the nodes would not do if it were like this."""
        pod, record = search.kind.pod, self._new_record(search.kind, node)
        if record.rejection is not None:
            return record.rejection
        nodes, records = list(search.nodes), list(search.records)
        nodes[index], records[index] = node, record
        relations = self._relations(pod, nodes, records)
        if relations is None and not pod.hard_spread:
            return None
        return _rejections(pod, nodes, records, relations=relations)[index]

    def _best(self, search: _Search, feasible: Sequence[int]) -> int:
        points = self._points(search, feasible)
        best = max(points)
        return self._draw.choice([index for index, score in zip(feasible, points, strict=True) if score == best])

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

    def _points(self, search: _Search, feasible: Sequence[int]) -> list[int]:
        kind, records = search.kind, search.records
        points = [records[index].resource_points for index in feasible]
        taints = scaled([records[index].discouraging for index in feasible], fewer_is_better=True)
        preferences = scaled([records[index].preference for index in feasible])
        _add(points, taints, WEIGHTS["TaintToleration"])
        _add(points, preferences, WEIGHTS["NodeAffinity"])
        candidates = [search.nodes[index] for index in feasible]
        if kind.soft_rules:
            counts = [(node, record.soft) for node, record in zip(search.nodes, records, strict=True)]
            spread = soft_scores(kind.soft_rules, candidates, counts, needs_all_keys=kind.pod.has_spread)
            _add(points, spread, WEIGHTS["PodTopologySpread"])
        company = search.relations.scores(candidates) if search.relations is not None else None
        if company is not None:
            _add(points, company, WEIGHTS["InterPodAffinity"])
        return points

    def _no_fit(self, search: _Search, nominated: str | None) -> Unschedulable:
        rejections = [one for one in search.rejections if one is not None]
        if obstacle := self._may_not_preempt(search, nominated):
            return diagnosis.no_fit(rejections, preemption=obstacle, keeps_nomination=True)
        found = self._candidates(search)
        candidates = [one for one in found if isinstance(one, Candidate)]
        if candidates:
            return diagnosis.makes_room(rejections, best(candidates))
        why_not = [one for one in found if isinstance(one, Rejection)]
        return diagnosis.no_fit(rejections, preemption=diagnosis.preemption_note(len(rejections), why_not))

    def _may_not_preempt(self, search: _Search, nominated: str | None) -> str:
        """Return why a pod may not displace others now; empty when it may."""
        if search.kind.pod.never_preempts:
            return diagnosis.NEVER_PREEMPTS
        for node, rejection in zip(search.nodes, search.rejections, strict=True):
            if node.name == nominated and rejection is not None and rejection.helps_to_remove_pods:
                lower = [pod for pod in node.pods.values() if pod.priority < search.priority]
                if any(is_preempted(self._surroundings.pod(pod.key)) for pod in lower):
                    return diagnosis.WAITS_FOR_VICTIMS
        return ""

    def _candidates(self, search: _Search) -> list[Candidate | Rejection]:
        """Return for each node where other pods stand in the way which of them would have to go, or why none."""
        places = [at for at, one in enumerate(search.rejections) if one is not None and one.helps_to_remove_pods]
        limit = enough(len(places))
        if len(places) > limit:
            first = self._draw.randrange(len(places))
            places = places[first:] + places[:first]
        found: list[Candidate | Rejection] = []
        good = 0
        for index in places:
            one = self._candidate(search, index)
            found.append(one)
            good += isinstance(one, Candidate)
            if good >= limit and any(isinstance(one, Candidate) and not one.broken_budgets for one in found):
                break
        return found

    def _candidate(self, search: _Search, index: int) -> Candidate | Rejection:
        node = search.nodes[index]
        others = self._nominations.before(search.uid, search.priority, node.name)

        def without(uids: Collection[str]) -> Rejection | None:
            emptier = without_pods(node, uids)
            rejection = self._rejection_as(search, index, emptier)
            if rejection is None and others:
                rejection = self._rejection_as(search, index, with_pods(emptier, others))
            return rejection

        lower = [self._victim(uid, pod) for uid, pod in node.pods.items() if pod.priority < search.priority]
        return candidate(node.name, lower, without, budgets=self._surroundings.budgets())

    def _victim(self, uid: str, pod: BoundPod) -> Victim:
        known = self._surroundings.pod(pod.key)
        started = known.status.start_time if known is not None else None
        return Victim(uid, pod.key, pod.facts, pod.priority, from_rfc3339(started) if started else inf)


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
