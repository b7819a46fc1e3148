"""Which changes are worth a try for pods with given reasons, the smallest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.labels import canonical
from karpenter.model.resources import CPU, NODES
from karpenter.scheduling.catalog import PLACE_KEYS, table_of
from karpenter.scheduling.classes import Profile, Surroundings, group
from karpenter.scheduling.daemons import daemons_of
from karpenter.scheduling.defaults import Defaults
from karpenter.scheduling.obstacles import shown_port
from karpenter.scheduling.reasons import ABSURD_MILLICORES
from karpenter.scheduling.remedies import pods as pod_changes
from karpenter.scheduling.remedies.change import Candidate, Change, Proposal, Rank, World
from karpenter.scheduling.remedies.nearest import MOST_CHANGES, Need, offers_of, smaller_requests
from karpenter.scheduling.remedies.pools import allow, lower_min_values
from karpenter.scheduling.requests import requests_of
from karpenter.scheduling.rules import NodeRule, required_rule
from karpenter.scheduling.snapshot import PoolView, Snapshot
from karpenter.scheduling.solution import Miss, Reason
from karpenter.scheduling.stores import stores_of

_OF_LABELS = frozenset({"RequirementsConflict", "LabelUndefined", "NoMatchingInstanceType", "ExcludesPools"})
_OF_PLACES = frozenset({"NotOffered", "OfferingUnavailable"})
_OF_PODS = frozenset({"TopologySpread", "PodAffinity", "PodAntiAffinity", "KeptOffByPods"})


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A proposal and what it is sorted by."""

    proposal: Proposal
    pool: int
    """Position of the pool among the reasons, the nearest miss first."""
    price: float
    """USD per hour, or for smaller requests the share that is taken away."""

    @property
    def key(self) -> tuple[int, int, int, float]:
        return len(self.proposal), max(each.rank for each in self.proposal), self.pool, self.price


def proposals(world: World, example: Pod, reasons: Iterable[Reason]) -> list[Proposal]:
    """Return what might help the pods of the world, for which `example` asks most; what is tried first comes first."""
    views = {view.pool.key: view for view in world.snapshot.pools}
    known = [(at, reason, None if reason.pool is None else views[reason.pool]) for at, reason in enumerate(reasons)]
    question = _Question(world, example, _profile(world.snapshot, example))
    weighed = [entry for at, reason, view in known for entry in _of_reason(question, reason, view, at=at)]
    unique: dict[tuple[Change, ...], _Weighed] = {}
    for entry in sorted(weighed, key=lambda entry: entry.key):
        unique.setdefault(tuple(each.change for each in entry.proposal), entry)
    return [entry.proposal for entry in unique.values()]


@dataclass(frozen=True, slots=True)
class _Question:
    """The pods and where they may go."""

    world: World
    example: Pod
    profile: Profile

    @property
    def rule(self) -> NodeRule:
        """What the pods demand of a node with every preference given up; without terms where they contradict."""
        return required_rule(self.profile)

    def need(self) -> Need:
        snapshot = self.world.snapshot
        return Need(self.rule, requests_of(self.example), daemons_of(snapshot), labels.WELL_KNOWN | snapshot.well_known)


def _profile(snapshot: Snapshot, pod: Pod) -> Profile:
    surroundings = Surroundings(stores_of(snapshot, (pod,), ()), Defaults.of(snapshot, ()), {})
    (profile,) = group((pod,), surroundings).profiles
    return profile


def _of_reason(question: _Question, reason: Reason, view: PoolView | None, *, at: int) -> Iterator[_Weighed]:
    if view is not None:
        need = question.need()
        yield from (_Weighed(offer.proposal, at, offer.price) for offer in offers_of(view, need))
        yield from (_Weighed((candidate,), at, share) for share, candidate in smaller_requests(view, need))
    for miss in reason.misses:
        if len(reason.misses) <= MOST_CHANGES:
            yield from (_Weighed((candidate,), at, 0.0) for candidate in _of_miss(question, miss, view))


def _of_miss(question: _Question, miss: Miss, view: PoolView | None) -> Iterator[Candidate]:
    if miss.code == "VolumeConflict":
        yield from _of_labels(question, {key for place in question.profile.volumes for key in place})
    elif miss.code in _OF_LABELS:
        yield from _of_labels(question, {miss.subject})
    elif miss.code in _OF_PLACES:
        yield from _of_labels(question, PLACE_KEYS)
    elif miss.code in _OF_PODS:
        yield from _of_pods(question, miss, view)
    elif miss.code == "InsufficientResources" and requests_of(question.example).get(CPU, 0) >= ABSURD_MILLICORES:
        yield pod_changes.mend_millions(requests_of(question.example)[CPU])
    elif miss.code == "HostPortTaken":
        yield from _of_ports(question, miss)
    elif miss.code == "MinValuesUnmet" and view is not None:
        yield from _of_min_values(miss, view)
    elif miss.code == "PriorityTooLow":
        least = question.world.options.policy.expendable_priority or 0
        yield pod_changes.raise_priority(question.example.spec.priority or 0, least)


def _of_labels(question: _Question, keys: Iterable[str]) -> Iterator[Candidate]:
    for term in question.profile.terms:
        for key in sorted(keys):
            if key in term:
                yield pod_changes.drop_label(term[key])


def _of_pods(question: _Question, miss: Miss, view: PoolView | None) -> Iterator[Candidate]:
    """Yield what eases a rule about other pods: more domains for the pool, or a softer rule."""
    spec, key = question.example.spec, miss.subject
    if view is not None and key in view.pool.template.requirements:
        yield from _more_domains(view, key)
    if miss.code == "TopologySpread":
        mine = [each for each in spec.topology_spread_constraints if canonical(each.topology_key) == key]
        asked = max((each.min_domains or 0 for each in mine), default=0)
        if asked:
            yield pod_changes.drop_min_domains(key, asked)
        if mine:
            yield pod_changes.relax_spread(key)
    elif miss.code == "PodAffinity":
        yield pod_changes.prefer_only("affinity", key)
    elif miss.code == "PodAntiAffinity":
        yield pod_changes.prefer_only("anti", key)


def _more_domains(view: PoolView, key: str) -> Iterator[Candidate]:
    now, table = view.pool.template.requirements[key], table_of(view.instance_types)
    possible = {labels.ZONE: table.zones, labels.CAPACITY_TYPE: table.capacity_types}.get(key, ())
    yield from (allow(view.pool.key, now, value) for value in possible if not now.allows(value))


def _of_ports(question: _Question, miss: Miss) -> Iterator[Candidate]:
    spec = question.example.spec
    for container in (*spec.containers, *spec.init_containers):
        for port in container.ports:
            named = shown_port((port.host_ip or "0.0.0.0", port.host_port, port.protocol or "TCP"))  # noqa: S104
            if port.host_port and named == miss.subject:
                yield pod_changes.free_port(port.host_port, named)


def _of_min_values(miss: Miss, view: PoolView) -> Iterator[Candidate]:
    now = view.pool.node_requirements()[miss.subject]
    if now.min_values is not None:
        yield from (lower_min_values(view.pool.key, now, least) for least in range(now.min_values - 1, 0, -1))


def more_nodes(world: World, planned: int, count: int) -> Candidate:
    """Return the change by which one plan may launch more new nodes; `planned` of them are planned already."""
    most = planned + (world.options.max_nodes or 0)
    message = f"let {planned + count} new nodes be launched instead of {most}"
    change = Change("settings", "RaiseMaxNodes", NODES, str(most), str(planned + count), message)
    return Candidate(change, Rank.POOL, lambda world: world.with_options(replace(world.options, max_nodes=count)))
