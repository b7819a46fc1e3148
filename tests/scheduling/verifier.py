"""Judges a solution without any of the solver's code: every rule a plan has to keep, stated once more and plainly.

`breaches` is strict: it looks at the finished state, in which every pod is where the plan puts it, and at every machine
the cloud may give for a claim, not only the planned one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from karpenter.model import labels
from karpenter.model.core import NodeSelectorTerm, Pod
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.labels import canonical
from karpenter.model.pods import is_terminating, pod_requests
from karpenter.model.requirements import Requirement
from karpenter.model.resources import NODES, parse_amount
from karpenter.model.taints import Taint
from karpenter.model.units import ObjectKey
from karpenter.scheduling import ClaimPlan, Demand, NodeView, Options, PoolView, Snapshot, Solution
from tests.scheduling import neighbours, storage
from tests.scheduling.homes import Home, Shape, expression_holds

COMES_UP = {labels.REGISTERED: "true", labels.INITIALIZED: "true"}


@dataclass
class Place:
    """A node in the finished state: its labels, and the pods on it."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    open_labels: Mapping[str, Requirement] = field(default_factory=dict)
    """Labels of a machine to launch that its claim leaves open."""
    bound: tuple[Pod, ...] = ()
    placed: list[Pod] = field(default_factory=list)

    @cached_property
    def hostname(self) -> str:
        return self.labels.get(labels.HOSTNAME, self.name)

    def label(self, key: str) -> str | None:
        return self.hostname if key == labels.HOSTNAME else self.labels.get(key)


def breaches(snapshot: Snapshot, demand: Demand, solution: Solution, options: Options | None = None) -> list[str]:
    """Return everything that is wrong with the solution, in words; empty when it is sound."""
    options = options or Options()
    places = finished(snapshot, solution)
    return [
        *_every_pod_once(demand, solution, places),
        *(breach for view in snapshot.nodes for breach in _node(snapshot, view, places)),
        *(breach for plan in solution.new_claims for breach in _claim(snapshot, plan, options)),
        *_limits(snapshot, solution),
        *neighbours.breaches(homes := _homes(snapshot, solution, places), snapshot.namespaces),
        *storage.breaches(homes, snapshot.volumes),
    ]


def finished(snapshot: Snapshot, solution: Solution) -> dict[str, Place]:
    """Return every place by name, with the pods that were there and those that the solution puts there."""
    places = {
        view.name: Place(view.name, view.labels, _node_taints(view), bound=view.pods)
        for view in snapshot.nodes
        if not view.is_deleting
    }
    pools = {view.pool.key: view for view in snapshot.pools}
    for plan in solution.new_claims:
        assert plan.name not in places, f"{plan.name} is the name of a node"
        view = pools[plan.pool]
        types = {kind.name: kind for kind in view.instance_types}
        given = _given_labels(view, plan, types[plan.instance_type], place=(plan.zone, plan.capacity_type))
        places[plan.name] = Place(
            plan.name, given, view.pool.template.taints, _open_labels(view, plan, types[plan.instance_type]),
            placed=list(plan.pods),
        )  # fmt: skip
    for plan in solution.new_claims:
        for pod in plan.pods:
            assert solution.placements[pod.metadata.key] == plan.name
    return places


def _homes(snapshot: Snapshot, solution: Solution, places: Mapping[str, Place]) -> list[Home]:
    """Return the finished state with every machine that a claim may turn out to be."""
    homes = []
    for view in snapshot.nodes:
        if not view.is_deleting:
            place = places[view.name]
            daemons = tuple(_daemons_without_a_pod(snapshot, view))
            homes.append(
                Home(view.name, place.taints, [Shape(view.labels, daemons=daemons)], view.pods, place.placed, view)
            )
    pools = {view.pool.key: view for view in snapshot.pools}
    homes.extend(
        Home(plan.name, view.pool.template.taints, _shapes(snapshot, view, plan), placed=plan.pods)
        for plan in solution.new_claims
        for view in [pools[plan.pool]]
    )
    return homes


def _shapes(snapshot: Snapshot, view: PoolView, plan: ClaimPlan) -> list[Shape]:
    types = {kind.name: kind for kind in view.instance_types}
    shapes = []
    for kind in (types[name] for name in plan.instance_types):
        opened = _open_labels(view, plan, kind)
        for offering in _possible(kind, plan):
            given = _given_labels(view, plan, kind, place=(offering.zone, offering.capacity_type))
            daemons = tuple(
                pod for pod in snapshot.daemons if _runs_on(pod, {**given, **COMES_UP}, view.pool.template.taints)
            )
            shapes.append(Shape(given, opened, kind, daemons))
    return shapes


def _daemons_without_a_pod(snapshot: Snapshot, view: NodeView) -> Iterator[Pod]:
    """Yield the DaemonSet pods that a node still has to get."""
    node = {**view.labels, **(COMES_UP if view.is_managed and not view.is_initialized else {})}
    present = [pod.spec.containers for pod in view.pods if pod.metadata.is_owned_by("DaemonSet")]
    for daemon in snapshot.daemons:
        if daemon.spec.containers not in present and _runs_on(daemon, node, _node_taints(view)):
            yield daemon


def _every_pod_once(demand: Demand, solution: Solution, places: dict[str, Place]) -> Iterator[str]:
    planned = {plan.name for plan in solution.new_claims}
    refused = [entry.pod.metadata.key for entry in solution.unschedulable]
    seen: set[ObjectKey] = set(refused)
    if len(seen) != len(refused):
        yield "a pod is refused twice"
    for pod in demand.pods:
        key = pod.metadata.key
        name = solution.placements.get(key)
        if name is None:
            if key not in seen and solution.complete:
                yield f"{key} is neither placed nor refused"
            continue
        if key in seen:
            yield f"{key} is placed and refused"
        if name not in places:
            yield f"{key} is placed on {name}, which is no place"
        elif name not in planned:
            places[name].placed.append(pod)
        elif pod not in places[name].placed:
            yield f"{key} is placed on {name}, whose plan does not hold it"
    extra = set(solution.placements) - {pod.metadata.key for pod in demand.pods}
    if extra:
        yield f"pods nobody asked for are placed: {sorted(extra)}"
    if len({pod.metadata.key for plan in solution.new_claims for pod in plan.pods}) != sum(
        len(plan.pods) for plan in solution.new_claims
    ):
        yield "a pod is on two machines"


# --- nodes ------------------------------------------------------------------------------------------------------------


def _node_taints(view: NodeView) -> tuple[Taint, ...]:
    cordoned = view.node is not None and view.node.spec.unschedulable
    return (
        (*view.taints, Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")) if cordoned else view.taints
    )


def _node(snapshot: Snapshot, view: NodeView, places: dict[str, Place]) -> Iterator[str]:
    place = places.get(view.name)
    if place is None or not place.placed:
        return
    for pod in place.placed:
        yield from (
            f"{pod.metadata.key} on {view.name}: {why}" for why in _unwelcome(pod, place.labels, place.taints, {})
        )
    awaited = [pod for pod in place.placed if pod.status.nominated_node_name == view.name]
    # The scheduler makes room for pods that it nominated; nobody else can count on what is only leaving.
    bound = (
        [pod for pod in place.bound if not is_terminating(pod)] if len(awaited) == len(place.placed) else place.bound
    )
    used = _sum(map(pod_requests, (*bound, *place.placed)))
    missing = _daemons_to_come(snapshot, view)
    for name in used.keys() | missing.keys():
        wanted = used.get(name, 0) + missing.get(name, 0)
        if wanted > view.allocatable.get(name, 0):
            yield f"{view.name}: {name} {wanted} > {view.allocatable.get(name, 0)}"


def _daemons_to_come(snapshot: Snapshot, view: NodeView) -> dict[str, int]:
    node = {**view.labels, **(COMES_UP if view.is_managed and not view.is_initialized else {})}
    expected = _sum(
        _daemon_requests(snapshot, daemon) for daemon in snapshot.daemons if _runs_on(daemon, node, _node_taints(view))
    )
    bound = _sum(pod_requests(pod) for pod in view.pods if pod.metadata.is_owned_by("DaemonSet"))
    return {name: max(0, amount - bound.get(name, 0)) for name, amount in expected.items()}


# --- claims -----------------------------------------------------------------------------------------------------------


def _claim(snapshot: Snapshot, plan: ClaimPlan, options: Options) -> Iterator[str]:
    view = next(view for view in snapshot.pools if view.pool.key == plan.pool)
    types = {kind.name: kind for kind in view.instance_types}
    if not plan.pods:
        yield f"{plan.name}: no pods"
    if (
        len(set(plan.instance_types)) != len(plan.instance_types)
        or len(plan.instance_types) > options.max_instance_types
    ):
        yield f"{plan.name}: {len(plan.instance_types)} types listed, {len(set(plan.instance_types))} different"
    if plan.instance_type != plan.instance_types[0]:
        yield f"{plan.name}: plans {plan.instance_type}, lists {plan.instance_types[0]} first"
    possible = [(types[name], offering) for name in plan.instance_types for offering in _possible(types[name], plan)]
    yield from _prices(plan, possible)
    least = options.policy.expendable_priority
    if least is not None and any((pod.spec.priority or 0) < least for pod in plan.pods):
        yield f"{plan.name}: for pods that are not worth a machine"
    if options.policy.rails and len(plan.pods) > options.policy.max_pods_per_node:
        yield f"{plan.name}: {len(plan.pods)} pods"
    yield from _min_values(plan, view, possible, strict=options.policy.min_values == "Strict")
    needs = _sum(map(pod_requests, plan.pods))
    checked: set[str] = set()
    for kind, offering in possible:
        where = f"{plan.name} as {kind.name} in {offering.zone} ({offering.capacity_type})"
        given = _given_labels(view, plan, kind, place=(offering.zone, offering.capacity_type))
        daemons = _daemon_load(snapshot, view, given)
        wanted = _sum((needs, daemons))
        for name, amount in wanted.items():
            if amount > kind.allocatable.get(name, 0):
                yield f"{where}: {name} {amount} > {kind.allocatable.get(name, 0)}"
        if kind.name == plan.instance_type and kind.name not in checked and dict(plan.requests) != wanted:
            yield f"{where}: requests say {dict(plan.requests)}, pods and daemons ask {wanted}"
        checked.add(kind.name)
        if any(not view.pool.template.requirements.allowed(key).allows(value) for key, value in given.items()):
            yield f"{where}: outside of the pool's requirements"
        opened = _open_labels(view, plan, kind)
        for pod in _different(plan.pods):
            for why in _unwelcome(pod, given, view.pool.template.taints, opened):
                yield f"{pod.metadata.key} on {where}: {why}"


def _min_values(
    plan: ClaimPlan, view: PoolView, possible: Sequence[tuple[InstanceType, Offering]], *, strict: bool
) -> Iterator[str]:
    """Yield labels of which the claim's types offer fewer values than the pool's minValues ask for."""
    fewer = False
    for key, requirement in view.pool.node_requirements().items():
        if requirement.min_values is None:
            continue
        if key in {labels.ZONE, labels.CAPACITY_TYPE}:
            values = {o.zone if key == labels.ZONE else o.capacity_type for _, o in possible}
        else:
            values = {
                value for kind, _ in possible for value in kind.requirements[key].values if requirement.allows(value)
            }
        if len(values) < requirement.min_values:
            fewer = True
            if strict:
                yield f"{plan.name}: {len(values)} values of {key}, wanted {requirement.min_values}"
        if plan.requirements[key].min_values != min(requirement.min_values, max(1, len(values))):
            yield f"{plan.name}: asks for {plan.requirements[key].min_values} values of {key}, has {len(values)}"
    if plan.min_values_relaxed != fewer:
        yield f"{plan.name}: says that minValues were relaxed: {plan.min_values_relaxed}"


def _different(pods: Iterable[Pod]) -> list[Pod]:
    """Return one pod of each kind as far as nodes are concerned: a thousand replicas need one look."""
    kinds: dict[tuple[object, ...], Pod] = {}
    for pod in pods:
        spec = pod.spec
        kinds.setdefault((tuple(sorted(spec.node_selector.items())), repr(spec.affinity), spec.tolerations), pod)
    return list(kinds.values())


def _possible(kind: InstanceType, plan: ClaimPlan) -> list[Offering]:
    zone, capacity_type = plan.requirements.allowed(labels.ZONE), plan.requirements.allowed(labels.CAPACITY_TYPE)
    return [
        offering
        for offering in kind.offerings
        if offering.available and zone.allows(offering.zone) and capacity_type.allows(offering.capacity_type)
    ]


def _prices(plan: ClaimPlan, possible: Sequence[tuple[InstanceType, Offering]]) -> Iterator[str]:
    planned = [
        offering.price
        for kind, offering in possible
        if (kind.name, offering.zone, offering.capacity_type) == (plan.instance_type, plan.zone, plan.capacity_type)
    ]
    if not planned or min(planned) != plan.price:
        yield f"{plan.name}: planned at {plan.price}, offered at {planned}"
    cheapest = {
        name: min((o.price for kind, o in possible if kind.name == name), default=None) for name in plan.instance_types
    }
    if None in cheapest.values():
        yield f"{plan.name}: lists a type that cannot be had"
        return
    if list(cheapest.values()) != sorted(cheapest.values()):
        yield f"{plan.name}: types are not listed cheapest first"
    if plan.worst_price != max(offering.price for _, offering in possible):
        yield f"{plan.name}: worst price said to be {plan.worst_price}"


def _given_labels(view: PoolView, plan: ClaimPlan, kind: InstanceType, *, place: tuple[str, str]) -> dict[str, str]:
    """Return the labels that a machine of this type and place will surely have."""
    sure = {
        key: next(iter(requirement.values))
        for requirements in (plan.requirements, kind.requirements)
        for key, requirement in requirements.items()
        if not requirement.complement and len(requirement.values) == 1
    }
    zone, capacity_type = place
    pool = dict([view.pool.identity]) | dict(view.pool.template.labels)
    return {
        **sure, **pool, labels.INSTANCE_TYPE: kind.name, labels.ZONE: zone, labels.CAPACITY_TYPE: capacity_type,
        labels.HOSTNAME: plan.name,
    }  # fmt: skip


def _open_labels(view: PoolView, plan: ClaimPlan, kind: InstanceType) -> dict[str, Requirement]:
    """Return the labels for which the machine may get one of several values."""
    opened = {}
    for key in {*plan.requirements, *kind.requirements} - {labels.ZONE, labels.CAPACITY_TYPE, labels.INSTANCE_TYPE}:
        both = plan.requirements.allowed(key).intersect(kind.requirements.allowed(key))
        if both.complement or len(both.values) > 1:
            opened[key] = both
    return opened


def _daemon_load(snapshot: Snapshot, view: PoolView, given: Mapping[str, str]) -> dict[str, int]:
    node = {**given, **COMES_UP}
    taints = view.pool.template.taints
    return _sum(_daemon_requests(snapshot, daemon) for daemon in snapshot.daemons if _runs_on(daemon, node, taints))


def _runs_on(daemon: Pod, node: Mapping[str, str], taints: Sequence[Taint]) -> bool:
    return not list(_unwelcome(daemon, node, [taint for taint in taints if taint.effect != "PreferNoSchedule"], {}))


def _daemon_requests(snapshot: Snapshot, daemon: Pod) -> dict[str, int]:
    filled = dict(pod_requests(daemon))
    assert len(daemon.spec.containers) == 1, "the verifier knows daemons of one container"
    asked = daemon.spec.containers[0].resources
    for limit_range in snapshot.limit_ranges:
        if limit_range.metadata.namespace == daemon.metadata.namespace:
            for item in limit_range.spec.limits:
                if item.type == "Container":
                    for name, raw in {**item.default, **item.default_request}.items():
                        if name not in asked.requests and name not in asked.limits:
                            filled[name] = parse_amount(name, raw)
    return filled


def could_launch(snapshot: Snapshot, pod: Pod) -> bool:
    """Return whether some machine of some pool would hold the pod, alone and limits apart."""
    return any(
        _could_hold(snapshot, view, kind, offering=offering, pod=pod)
        for view in snapshot.pools
        if view.unready is None and view.pool.replicas is None
        for kind in view.instance_types
        for offering in kind.offerings
        if offering.available
    )


def _could_hold(snapshot: Snapshot, view: PoolView, kind: InstanceType, *, offering: Offering, pod: Pod) -> bool:
    """Return whether a machine of this type and offering holds the pod, whatever its pool leaves open being granted."""
    own = view.pool.node_requirements()
    place = {labels.ZONE: offering.zone, labels.CAPACITY_TYPE: offering.capacity_type}
    sure = {
        key: next(iter(requirement.values))
        for key, requirement in (*own.items(), *kind.requirements.items())
        if not requirement.complement and len(requirement.values) == 1
    }
    node = {**sure, **place}
    if any(not requirement.allows(node[key]) for key, requirement in own.items() if key in node):
        return False
    wanted = _sum((pod_requests(pod), _daemon_load(snapshot, view, node)))
    if any(amount > kind.allocatable.get(name, 0) for name, amount in wanted.items()):
        return False
    free = [key for key, requirement in own.items() if key not in node and requirement.complement]
    free += [key for key, requirement in own.items() if key not in node and len(requirement.values) > 1]
    candidates: list[dict[str, str]] = [{}]
    for key in free:
        values = [value for value in (*sorted(own[key].values), *_TRIED) if own[key].allows(value)]
        candidates = [{**chosen, key: value} for chosen in candidates for value in values]
    taints = view.pool.template.taints
    return any(not list(_unwelcome(pod, {**node, **chosen}, taints, {})) for chosen in candidates)


_TRIED = ("red", "blue", "green", "0", "7")
"""Values tried for labels that a pool leaves open: those that tests speak of, and others."""


# --- pods against labels and taints -----------------------------------------------------------------------------------


def _unwelcome(
    pod: Pod, node: Mapping[str, str], taints: Iterable[Taint], opened: Mapping[str, Requirement]
) -> Iterator[str]:
    """Yield why a node with these labels and taints does not take the pod, preferences apart."""
    for taint in taints:
        if taint.effect != "PreferNoSchedule" and not any(t.tolerates(taint) for t in pod.spec.tolerations):
            yield f"does not tolerate {taint}"
    for key, value in pod.spec.node_selector.items():
        if not _meets(canonical(key), "In", (value,), node=node, opened=opened):
            yield f"selects {key}={value}"
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if affinity is not None and affinity.required is not None:
        terms = affinity.required.node_selector_terms
        if not any(_term_holds(term, node, opened) for term in terms):
            yield "no term of its required node affinity holds"


def _term_holds(term: NodeSelectorTerm, node: Mapping[str, str], opened: Mapping[str, Requirement]) -> bool:
    return bool(term.match_expressions) and all(
        _meets(canonical(expression.key), expression.operator, expression.values, node=node, opened=opened)
        for expression in term.match_expressions
    )


def _meets(
    key: str, operator: str, values: Sequence[str], *, node: Mapping[str, str], opened: Mapping[str, Requirement]
) -> bool:
    """Return whether a label meets an expression, whatever value an open label will get."""
    if key in opened and key not in node:
        return _implied(opened[key], operator, values)
    return expression_holds(key, operator, values, node)


def _implied(label: Requirement, operator: str, values: Sequence[str]) -> bool:
    """Return whether every value that the label may get meets the expression."""
    if not label.complement:
        return all(_meets(label.key, operator, values, node={label.key: value}, opened={}) for value in label.values)
    match operator:
        case "Exists":
            return True
        case "NotIn":
            return not any(label.allows(value) for value in values)
        case "Gt":
            return label.gt is not None and label.gt >= int(values[0])
        case "Lt":
            return label.lt is not None and label.lt <= int(values[0])
    return False


# --- limits -----------------------------------------------------------------------------------------------------------


def _limits(snapshot: Snapshot, solution: Solution) -> Iterator[str]:
    for view in snapshot.pools:
        types = {kind.name: kind for kind in view.instance_types}
        plans = [plan for plan in solution.new_claims if plan.pool == view.pool.key]
        for resource, limit in view.pool.limits.items():
            if not plans:
                continue
            worst = [max(_counted(types[name], resource) for name in plan.instance_types) for plan in plans]
            used = view.usage.get(resource, 0) + sum(worst)
            if used > limit:
                yield f"{view.pool.key}: {resource} may come to {used}, limit {limit}"


def _counted(kind: InstanceType, resource: str) -> int:
    return 1 if resource == NODES else kind.capacity.get(resource, 0)


def _sum(terms: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for term in terms:
        for name, amount in term.items():
            total[name] = total.get(name, 0) + amount
    return {name: amount for name, amount in total.items() if amount}
