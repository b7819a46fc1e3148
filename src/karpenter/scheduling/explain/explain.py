"""Explanations of one plan: put its parts together for a pod or a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.labels import normalized
from karpenter.model.resources import CPU, MEMORY, PODS, Resources
from karpenter.model.units import ObjectKey
from karpenter.scheduling.aftermath import aftermath
from karpenter.scheduling.amounts import shown
from karpenter.scheduling.catalog import PLACE_KEYS
from karpenter.scheduling.classes import INVALID, Profile, Surroundings, group
from karpenter.scheduling.daemons import Daemon, daemons_of
from karpenter.scheduling.defaults import Defaults
from karpenter.scheduling.demand import Demand
from karpenter.scheduling.explain.alternatives import Bound, Load, alternatives, cheapest
from karpenter.scheduling.explain.bindings import bindings_of
from karpenter.scheduling.explain.nodes import Rooms, Visitor, other_nodes, rooms_of
from karpenter.scheduling.explain.records import Alternative, Binding, Explanation, Offering, Place
from karpenter.scheduling.policy import Options
from karpenter.scheduling.requests import requests_of, total_requests
from karpenter.scheduling.rules import required_rule
from karpenter.scheduling.snapshot import Snapshot
from karpenter.scheduling.solution import ClaimPlan, Solution
from karpenter.scheduling.stores import stores_of
from karpenter.scheduling.terms import Terms, terms_of


@dataclass(frozen=True)
class Plan:
    """A solution with what it answers; the questions below are asked of it."""

    snapshot: Snapshot
    demand: Demand
    solution: Solution
    options: Options

    @cached_property
    def later(self) -> Snapshot:
        """The cluster once the plan is carried out."""
        return aftermath(self.snapshot, self.demand.pods, self.solution)

    @cached_property
    def claims(self) -> Mapping[str, ClaimPlan]:
        """The machines to launch, by their names in the plan."""
        return {plan.name: plan for plan in self.solution.new_claims}

    @cached_property
    def pods(self) -> Mapping[ObjectKey, Pod]:
        """The pods that the plan was made for."""
        return {pod.metadata.key: pod for pod in self.demand.pods}

    @cached_property
    def running(self) -> Mapping[ObjectKey, tuple[Pod, str]]:
        """The pods that are on nodes already, with these."""
        return {pod.metadata.key: (pod, view.name) for view in self.snapshot.nodes for pod in view.pods}

    @cached_property
    def daemons(self) -> tuple[Daemon, ...]:
        """What every new node will carry."""
        return daemons_of(self.snapshot)

    @property
    def well_known(self) -> frozenset[str]:
        """Labels that pods may ask for although no pool mentions them."""
        return labels.WELL_KNOWN | self.snapshot.well_known

    def profile(self, pod: Pod) -> Profile:
        """Return what a pod demands of its place."""
        defaults = Defaults.of(self.snapshot, self.options.policy.default_spread)
        surroundings = Surroundings(stores_of(self.snapshot, (pod,), ()), defaults, {})
        return group((pod,), surroundings, visible=frozenset(pod.metadata.labels)).profiles[0]

    def terms(self, profile: Profile) -> Terms:
        """Return what a profile says about other pods."""
        return terms_of(profile, self.snapshot.namespaces)

    def load(self, pods: Iterable[Pod]) -> Load:
        """Return what pods that share a machine ask of it."""
        listed = tuple(pods)
        surroundings = Surroundings(stores_of(self.snapshot, listed, ()), Defaults.of(self.snapshot, ()), {})
        rules = tuple(dict.fromkeys(required_rule(profile) for profile in group(listed, surroundings).profiles))
        return Load(rules, total_requests(listed), self.daemons, self.well_known)


def explain_pod(plan: Plan, pod: Pod) -> Explanation:
    """Return why a pod is where it is, or nowhere."""
    key = pod.metadata.key
    if key not in plan.pods and key in plan.running:
        return _explain_running(plan, pod, plan.running[key][1])
    name = plan.solution.placements.get(key)
    reasons = next((each.reasons for each in plan.solution.unschedulable if each.pod.metadata.key == key), ())
    if any(reason.code == INVALID for reason in reasons):
        return Explanation("pod", str(key), None, (), reasons=reasons)
    profile = plan.profile(pod)
    requests = requests_of(pod)
    rooms = rooms_of(plan.snapshot.nodes, plan.later.nodes, plan.daemons, requests=requests)
    bindings = tuple(bindings_of(profile, plan.terms(profile), nodes=plan.later.nodes, place=name))
    out = other_nodes(rooms, _visitor(plan, pod, profile, place=name))
    claim = plan.claims.get(name or "")
    if claim is not None:
        found, why = _other_machines(plan, claim), _why_new(plan, claim, rooms)
    elif name is not None:
        found, why = (), tuple(_why_node(plan, plan.load([pod]), name))
    else:
        found, why = (), ()
    return Explanation(
        "pod",
        str(key),
        _place(plan, name),
        why,
        reasons=reasons,
        other_nodes=out,
        alternatives=found,
        bindings=bindings,
    )


def _visitor(plan: Plan, pod: Pod, profile: Profile, *, place: str | None) -> Visitor:
    required = plan.terms(profile).required
    view = next((view for view in plan.later.nodes if view.name == place), None)
    here = {} if view is None else normalized(dict(view.labels))
    domains = {term.key: (here[term.key], str(term)) for term in required if term.key in here and not term.is_by_host}
    by_host = any(term.is_by_host for term in required)
    bound = by_host or bool(profile.ports or pod.spec.volumes)
    return Visitor(required_rule(profile), requests_of(pod), place, domains, bound)


def _explain_running(plan: Plan, pod: Pod, name: str) -> Explanation:
    why = "it runs there already, and a plan for pending pods moves nobody"
    return Explanation(
        "pod", str(pod.metadata.key), _place(plan, name), (why,), bindings=tuple(_bound(plan, pod, name))
    )


def explain_node(plan: Plan, name: str) -> Explanation:
    """Return why a planned machine is what it is, or what the plan does with a node that is there.

    Raises:
        KeyError: the plan knows no such node.
    """
    place = _place(plan, name)
    if place is None:
        raise KeyError(name)
    claim = plan.claims.get(name)
    rooms = rooms_of(plan.later.nodes, plan.later.nodes, plan.daemons)
    if claim is None:
        return Explanation("node", name, place, tuple(_why_kept(place)), left=rooms.left(name))
    bindings = dict.fromkeys(binding for pod in _one_of_each(claim.pods) for binding in _bound(plan, pod, name))
    return Explanation(
        "node",
        name,
        place,
        _why_new(plan, claim, rooms_of(plan.snapshot.nodes, plan.later.nodes, plan.daemons)),
        alternatives=_other_machines(plan, claim),
        bindings=tuple(bindings),
        left=rooms.left(name),
    )


def _bound(plan: Plan, pod: Pod, place: str) -> Iterator[Binding]:
    profile = plan.profile(pod)
    yield from bindings_of(profile, plan.terms(profile), nodes=plan.later.nodes, place=place)


def _one_of_each(pods: Iterable[Pod]) -> list[Pod]:
    """Return one pod of every workload."""
    return list({workload(pod): pod for pod in pods}.values())


# --- places -----------------------------------------------------------------------------------------------------------


def _place(plan: Plan, name: str | None) -> Place | None:
    claim = plan.claims.get(name or "")
    if claim is not None:
        return Place(
            claim.name,
            True,
            claim.pool,
            claim.instance_type,
            claim.zone,
            claim.capacity_type,
            claim.price,
            len(claim.instance_types),
            _workloads(claim.pods),
            claim.requests,
        )
    view = next((view for view in plan.snapshot.nodes if view.name == name), None)
    if view is None:
        return None
    coming = [plan.pods[key] for key, place in plan.solution.placements.items() if place == name]
    return Place(
        view.name,
        False,
        view.pool,
        view.instance_type,
        view.zone,
        view.capacity_type,
        view.price,
        0,
        _workloads(coming),
        total_requests(coming),
    )


def _workloads(pods: Iterable[Pod]) -> dict[str, int]:
    return dict(sorted(Counter(map(workload, pods)).items()))


def workload(pod: Pod) -> str:
    """Return what a pod belongs to, in words; its own name for a bare one."""
    owner = pod.metadata.controller()
    if owner is None:
        return f"Pod {pod.metadata.key}"
    return f"{owner.kind} {ObjectKey(pod.metadata.namespace, owner.name)}"


# --- why --------------------------------------------------------------------------------------------------------------


def _why_new(plan: Plan, claim: ClaimPlan, rooms: Rooms) -> tuple[str, ...]:
    together = "one pod" if len(claim.pods) == 1 else f"{len(claim.pods)} pods together"
    total = _total(claim.requests)
    if not rooms.views:
        first = "there is no other node yet"
    else:
        first = "the nodes that are there have no place for all pods of the plan, and these are among the rest"
    views = {view.pool.key: view.pool for view in plan.snapshot.pools}
    heavier = [pool for pool in views.values() if pool.weight > views[claim.pool].weight]
    lines = [first]
    if heavier:
        lines.append(f"pools of more weight ({', '.join(str(pool.key) for pool in heavier)}) do not serve them")
    lines.append(
        f"of what {claim.pool} may launch, {claim.instance_type} is the cheapest that holds {together}: {total}"
    )
    if len(claim.instance_types) > 1:
        dearest = f"for ${claim.worst_price:.4f} an hour at most"
        lines.append(f"{len(claim.instance_types)} types would do and the cloud may give any of them, {dearest}")
    return tuple(lines)


def _why_node(plan: Plan, load: Load, name: str) -> Iterator[str]:
    view = next(view for view in plan.snapshot.nodes if view.name == name)
    state = "it is there" if view.is_initialized else "it is on its way"
    yield f"{state} and has room: that costs nothing more"
    alone = cheapest(plan.snapshot.pools, load)
    if alone is not None:
        kind = f"{alone.instance_type} {alone.capacity_type} in {alone.zone}"
        yield f"a new node for this pod alone would be {kind} of {alone.pool}, ${alone.price:.4f} an hour"


def _why_kept(place: Place) -> Iterator[str]:
    count = sum(place.pods.values())
    if count:
        yield f"the plan puts {count} pod{'' if count == 1 else 's'} there: room that is there costs nothing more"
    else:
        yield "the plan puts no pod there"


def _total(requests: Resources) -> str:
    named = [f"{shown(name, requests[name])} {name}" for name in (CPU, MEMORY) if requests.get(name)]
    named += [f"{shown(name, requests[name])} {name}" for name in sorted(requests) if name not in {CPU, MEMORY, PODS}]
    return ", ".join(named) or "nothing but a place"


def _other_machines(plan: Plan, claim: ClaimPlan) -> tuple[Alternative, ...]:
    chosen = Offering(claim.pool, claim.instance_type, claim.zone, claim.capacity_type, claim.price)
    bound = {
        key: Bound(claim.requirements[key].values, rule)
        for pod in _one_of_each(claim.pods)
        for key, rule in _narrowing(plan, pod)
        if key in claim.requirements
    }
    return tuple(alternatives(plan.snapshot.pools, plan.load(claim.pods), chosen, bound=bound))


def _narrowing(plan: Plan, pod: Pod) -> Iterator[tuple[str, str]]:
    """Yield what may keep a pod to some zones or capacity types beside its demands, the strongest last."""
    profile = plan.profile(pod)
    terms = plan.terms(profile)
    for wanted in profile.preferred:
        yield from ((key, f"preferred node affinity {wanted[key]}") for key in PLACE_KEYS & set(wanted))
    soft = (*terms.soft_spread, *terms.preferred_anti_affinity, *terms.preferred_affinity)
    yield from ((term.key, f"preferred {term}") for term in soft if term.key in PLACE_KEYS)
    yield from ((term.key, str(term)) for term in terms.required if term.key in PLACE_KEYS)
