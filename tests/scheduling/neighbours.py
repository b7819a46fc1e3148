"""Judges what pods say about other pods, strictly: in the finished state every rule of a placed pod has to hold.

Semantics are the scheduler's: a spread counts nodes that pass its policies and have all its keys; affinity wants one
pod that all terms mean; anti-affinity holds both ways. Terminating pods are gone by then.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from karpenter.model.core import Namespace, Pod, PodAffinityTerm, TopologySpreadConstraint
from karpenter.model.labels import canonical
from karpenter.model.meta import LabelSelector, SelectorExpression
from tests.scheduling.homes import Home


@dataclass(frozen=True)
class Meaning:
    """Which pods a rule means."""

    namespaces: LabelSelector | None
    """None means only the listed ones."""
    listed: frozenset[str]
    selector: LabelSelector | None


@dataclass
class Resident:
    """A pod and where it is in the finished state."""

    pod: Pod
    home: Home
    is_new: bool


@dataclass
class Town:
    """Everybody, and answers about them that are asked again and again."""

    homes: Sequence[Home]
    namespaces: Mapping[str, Namespace]
    residents: list[Resident] = field(default_factory=list)
    _meant: dict[str, list[Resident]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for home in self.homes:
            self.residents.extend(Resident(pod, home, is_new=False) for pod in home.staying)
            self.residents.extend(Resident(pod, home, is_new=True) for pod in home.placed)

    def meant(self, meaning: Meaning) -> list[Resident]:
        """Return all pods that a rule means."""
        known = repr(meaning)
        if known not in self._meant:
            self._meant[known] = [who for who in self.residents if self.means(meaning, who.pod)]
        return self._meant[known]

    def means(self, meaning: Meaning, pod: Pod) -> bool:
        name = pod.metadata.namespace
        there = name in meaning.listed
        if meaning.namespaces is not None and not there:
            namespace = self.namespaces.get(name)
            labels = {"kubernetes.io/metadata.name": name, **(namespace.metadata.labels if namespace else {})}
            there = meaning.namespaces.matches(labels)
        return there and meaning.selector is not None and meaning.selector.matches(pod.metadata.labels)


def breaches(homes: Sequence[Home], namespaces: Mapping[str, Namespace]) -> Iterator[str]:
    """Yield every rule about other pods that a placed pod breaks, or that a bound pod has broken for it."""
    town = Town(homes, namespaces)
    yield from _spreads(town)
    yield from _repulsion(town)
    lonely = list(_company(town))
    yield from lonely
    if not lonely:
        yield from _deadlocks(town)


# --- spread -----------------------------------------------------------------------------------------------------------


def hard_constraints(pod: Pod) -> list[TopologySpreadConstraint]:
    return [c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable != "ScheduleAnyway"]


def _spreads(town: Town) -> Iterator[str]:
    judged: set[str] = set()
    for who in town.residents:
        for constraint in hard_constraints(who.pod) if who.is_new else ():
            same = repr((who.home.name, constraint, _spread_meaning(constraint, who.pod), _filter(who.pod)))
            if same not in judged:
                judged.add(same)
                yield from _spread(town, who, constraint)


def _filter(pod: Pod) -> tuple[object, ...]:
    """Return what decides which nodes count for a pod."""
    keys = sorted(c.topology_key for c in hard_constraints(pod))
    node_affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = node_affinity.required if node_affinity else None
    return sorted(pod.spec.node_selector.items()), required, pod.spec.tolerations, keys


def _spread_meaning(constraint: TopologySpreadConstraint, pod: Pod) -> Meaning:
    selector = _with_labels(constraint.label_selector, pod, constraint.match_label_keys, operator="In")
    return Meaning(None, frozenset((pod.metadata.namespace,)), selector)


def _with_labels(
    selector: LabelSelector | None, pod: Pod, keys: Sequence[str], *, operator: str
) -> LabelSelector | None:
    """Return a selector that also demands the pod's own values of some labels (or that others differ in them)."""
    if selector is None:
        return None
    own = pod.metadata.labels
    more = tuple(SelectorExpression(key, operator, (own[key],)) for key in keys if key in own)
    return LabelSelector(selector.match_labels, (*selector.match_expressions, *more))


def _spread(town: Town, who: Resident, constraint: TopologySpreadConstraint) -> Iterator[str]:
    key = canonical(constraint.topology_key)
    keys = [canonical(c.topology_key) for c in hard_constraints(who.pod)]
    if not all(who.home.has_surely(one) for one in keys):
        yield f"{who.pod.metadata.key} on {who.home.name}: may lack a label of its spread ({', '.join(keys)})"
        return
    meant: dict[str, int] = {}
    for other in town.meant(_spread_meaning(constraint, who.pod)):
        meant[other.home.name] = meant.get(other.home.name, 0) + 1
    counted = [
        (home, meant.get(home.name, 0), surely)
        for home in town.homes
        for maybe, surely in [_takes_part(home, who.pod, constraint, keys=keys)]
        if maybe
    ]
    for domain in sorted(who.home.values(key)):
        yield from _skew(who, constraint, domain, counted=counted)


def _takes_part(
    home: Home, pod: Pod, constraint: TopologySpreadConstraint, *, keys: Sequence[str]
) -> tuple[bool, bool]:
    """Return whether a home may count for a spread, and whether it surely does."""
    if not all(home.values(key) for key in keys):
        return False, False
    if constraint.node_taints_policy == "Honor" and any(
        taint.effect != "PreferNoSchedule"
        and not any(toleration.tolerates(taint) for toleration in pod.spec.tolerations)
        for taint in home.taints
    ):
        return False, False
    certain = all(home.has_surely(key) for key in keys)
    if constraint.node_affinity_policy == "Ignore":
        return True, certain
    node_affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    maybe, surely = home.matches(node_affinity.required if node_affinity else None, pod.spec.node_selector)
    return maybe, surely and certain


def _skew(
    who: Resident, constraint: TopologySpreadConstraint, domain: str, *, counted: Sequence[tuple[Home, int, bool]]
) -> Iterator[str]:
    """Yield a breach if the pod's machine turns out to be in this domain and the others as unluckily as they may."""
    key = canonical(constraint.topology_key)
    most, least = 0, dict[str, int]()
    for home, count, surely in counted:
        values = frozenset((domain,)) if home is who.home else _domains(home, who.pod, constraint)
        for value in values:
            least.setdefault(value, 0)
        if domain in values:
            most += count
        if len(values) == 1 and surely:
            least[next(iter(values))] += count
    # The pods that make a domain full by bad luck are in it in that case.
    least[domain] = most
    certain = {
        value
        for home, _, surely in counted
        for value in _domains(home, who.pod, constraint)
        if len(_domains(home, who.pod, constraint)) == 1 and surely
    }
    few = len(certain | {domain}) < (constraint.min_domains or 0)
    floor = 0 if few else min(least.values())
    if most - floor > constraint.max_skew:
        yield (
            f"{who.pod.metadata.key} on {who.home.name}: spread over {key}: {most} in {domain}, {floor} at least, "
            f"skew {constraint.max_skew} ({least})"
        )


def _domains(home: Home, pod: Pod, constraint: TopologySpreadConstraint) -> frozenset[str]:
    """Return the domains in which a home may be while it takes part in a pod's spread."""
    key = canonical(constraint.topology_key)
    if constraint.node_affinity_policy == "Ignore":
        return home.values(key)
    node_affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    return home.values_for(key, node_affinity.required if node_affinity else None, pod.spec.node_selector)


# --- anti-affinity ----------------------------------------------------------------------------------------------------


def _required(pod: Pod, side: str) -> Sequence[PodAffinityTerm]:
    part = getattr(pod.spec.affinity, side) if pod.spec.affinity else None
    return part.required if part else ()


def _meaning(term: PodAffinityTerm, pod: Pod) -> Meaning:
    selector = _with_labels(term.label_selector, pod, term.match_label_keys, operator="In")
    selector = _with_labels(selector, pod, term.mismatch_label_keys, operator="NotIn")
    own = not term.namespaces and term.namespace_selector is None
    return Meaning(term.namespace_selector, frozenset((pod.metadata.namespace,) if own else term.namespaces), selector)


def _share(one: Home, other: Home, key: str) -> bool:
    return one is other or bool(one.values(key) & other.values(key))


def _repulsion(town: Town) -> Iterator[str]:
    for who in town.residents:
        for term in _required(who.pod, "pod_anti_affinity"):
            key = canonical(term.topology_key)
            if not who.home.values(key):
                continue
            for other in town.meant(_meaning(term, who.pod)):
                if other is not who and (who.is_new or other.is_new) and _share(who.home, other.home, key):
                    yield (
                        f"{who.pod.metadata.key} on {who.home.name} keeps away from {other.pod.metadata.key} on "
                        f"{other.home.name} by {key}"
                    )


# --- affinity ---------------------------------------------------------------------------------------------------------


def _companions(town: Town, pod: Pod) -> list[Resident]:
    """Return the pods that all terms of a pod's affinity mean."""
    meanings = [_meaning(term, pod) for term in _required(pod, "pod_affinity")]
    return [who for who in town.meant(meanings[0]) if all(town.means(meaning, who.pod) for meaning in meanings[1:])]


def _others(town: Town, who: Resident) -> list[Resident]:
    """Return a pod's companions; pods on nodes without any label of its affinity are nobody's company."""
    keys = [canonical(term.topology_key) for term in _required(who.pod, "pod_affinity")]
    return [
        other
        for other in _companions(town, who.pod)
        if other is not who and any(other.home.values(key) for key in keys)
    ]


def _is_company_for_itself(town: Town, pod: Pod) -> bool:
    return all(town.means(_meaning(term, pod), pod) for term in _required(pod, "pod_affinity"))


def _surely_near(who: Resident, other: Resident, key: str) -> bool:
    if who.home is other.home:
        return True
    values = who.home.values(key)
    return len(values) == 1 and other.home.values(key) == values and other.home.has_surely(key)


def _company(town: Town) -> Iterator[str]:
    """Yield pods without the company they want; one may be alone only if there is none it could have joined."""
    for who in town.residents:
        terms = _required(who.pod, "pod_affinity") if who.is_new else ()
        if not terms:
            continue
        others = _others(town, who)
        for key in (canonical(term.topology_key) for term in terms):
            if not who.home.has_surely(key):
                yield f"{who.pod.metadata.key} on {who.home.name}: may lack {key}, the key of its affinity"
            elif any(other.home is who.home for other in others) or all(
                any(other.home.values(key) == {value} and other.home.has_surely(key) for other in others)
                for value in who.home.values(key)
            ):
                continue
            elif others or not _is_company_for_itself(town, who.pod):
                yield f"{who.pod.metadata.key} on {who.home.name}: no company by {key} ({len(others)} elsewhere)"


def _deadlocks(town: Town) -> Iterator[str]:
    """Yield pods that wait for each other, so that none of them could ever be the first to be bound."""
    waiting = [who for who in town.residents if who.is_new and _required(who.pod, "pod_affinity")]
    there = {id(who) for who in town.residents} - {id(who) for who in waiting}
    companions = {id(who): _others(town, who) for who in waiting}
    while waiting:
        late = [who for who in waiting if not _may_be_bound(town, who, companions[id(who)], there)]
        if len(late) == len(waiting):
            yield from (
                f"{who.pod.metadata.key} on {who.home.name}: waits for company that waits itself" for who in late
            )
            return
        there.update(id(who) for who in waiting if who not in late)
        waiting = late


def _may_be_bound(town: Town, who: Resident, others: Sequence[Resident], there: set[int]) -> bool:
    present = [other for other in others if id(other) in there]
    if not present:
        return _is_company_for_itself(town, who.pod)
    keys = [canonical(term.topology_key) for term in _required(who.pod, "pod_affinity")]
    return all(
        any(other.home is who.home for other in present)
        or all(
            any(other.home.values(key) == {v} and other.home.has_surely(key) for other in present)
            for v in who.home.values(key)
        )
        for key in keys
    )
