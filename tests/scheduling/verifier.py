"""Judges a solution without any of the solver's code: every rule a plan has to keep, stated once more and plainly.

`breaches` is strict: it looks at the finished state, in which every pod is where the plan puts it, and at every machine
the cloud may give for a claim, not only the planned one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType
from karpenter.model.pods import is_terminating, pod_requests
from karpenter.model.resources import NODES
from karpenter.model.taints import Taint
from karpenter.model.units import ObjectKey
from karpenter.scheduling import Demand, NodeView, Options, Snapshot, Solution
from tests.scheduling import claims, neighbours, storage
from tests.scheduling.acceptance import runs_on, unwelcome
from tests.scheduling.alone import could_launch
from tests.scheduling.amounts import daemon_requests, total
from tests.scheduling.claims import COMES_UP, Fleet
from tests.scheduling.homes import Home, Shape, Shapes

__all__ = ["breaches", "could_launch", "finished"]


def breaches(snapshot: Snapshot, demand: Demand, solution: Solution, options: Options | None = None) -> list[str]:
    """Return everything that is wrong with the solution, in words; empty when it is sound."""
    options = options or Options()
    fleet = Fleet(snapshot)
    homes = finished(snapshot, demand, solution, fleet)
    return [
        *_every_pod_once(demand, solution, homes),
        *(breach for home in homes.values() if home.view for breach in _node(snapshot, home.view, home)),
        *(breach for plan in solution.new_claims for breach in claims.breaches(plan, fleet.of(plan), options)),
        *_limits(snapshot, solution, options),
        *_reservations(snapshot, solution),
        *neighbours.breaches(list(homes.values()), snapshot.namespaces),
        *storage.breaches(list(homes.values()), snapshot.volumes),
    ]


def finished(snapshot: Snapshot, demand: Demand, solution: Solution, fleet: Fleet) -> dict[str, Home]:
    """Return every home by name, with the pods that were there and those that the solution puts there."""
    arriving: dict[str, list[Pod]] = {}
    for pod in demand.pods:
        if (name := solution.placements.get(pod.metadata.key)) is not None:
            arriving.setdefault(name, []).append(pod)
    homes = {}
    for view in snapshot.nodes:
        if not view.is_deleting:
            taints = _taints(view)
            shape = Shape(view.labels, daemons=tuple(_daemons_without_a_pod(snapshot, view)))
            homes[view.name] = Home(view.name, taints, Shapes([shape]), view.pods, arriving.get(view.name, ()), view)
    for plan in solution.new_claims:
        assert plan.name not in homes, f"{plan.name} is the name of another"
        machines = fleet.of(plan)
        homes[plan.name] = Home(plan.name, machines.view.pool.template.taints, machines.shapes, placed=plan.pods)
    return homes


def _daemons_without_a_pod(snapshot: Snapshot, view: NodeView) -> Iterator[Pod]:
    """Yield the DaemonSet pods that a node still has to get."""
    present = [pod.spec.containers for pod in view.pods if pod.metadata.is_owned_by("DaemonSet")]
    for daemon in _daemons_on(snapshot, view):
        if daemon.spec.containers not in present:
            yield daemon


def _daemons_on(snapshot: Snapshot, view: NodeView) -> Iterator[Pod]:
    node = {**view.labels, **(COMES_UP if view.is_managed and not view.is_initialized else {})}
    return (daemon for daemon in snapshot.daemons if runs_on(daemon, node, _taints(view)))


def _every_pod_once(demand: Demand, solution: Solution, homes: Mapping[str, Home]) -> Iterator[str]:
    refused = [entry.pod.metadata.key for entry in solution.unschedulable]
    seen: set[ObjectKey] = set(refused)
    if len(seen) != len(refused):
        yield "a pod is refused twice"
    on_machines = {pod.metadata.key: plan.name for plan in solution.new_claims for pod in plan.pods}
    if len(on_machines) != sum(len(plan.pods) for plan in solution.new_claims):
        yield "a pod is on two machines"
    yield from (
        f"{key} is on {name}, but placed on {solution.placements.get(key)}"
        for key, name in on_machines.items()
        if solution.placements.get(key) != name
    )
    for key in (pod.metadata.key for pod in demand.pods):
        name = solution.placements.get(key)
        if name is None:
            if key not in seen and solution.complete:
                yield f"{key} is neither placed nor refused"
            continue
        if key in seen:
            yield f"{key} is placed and refused"
        if name not in homes:
            yield f"{key} is placed on {name}, which is no place"
        elif homes[name].view is None and key not in on_machines:
            yield f"{key} is placed on {name}, whose plan does not hold it"


# --- nodes ------------------------------------------------------------------------------------------------------------


def _taints(view: NodeView) -> tuple[Taint, ...]:
    cordoned = view.node is not None and view.node.spec.unschedulable
    return (
        (*view.taints, Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")) if cordoned else view.taints
    )


def _node(snapshot: Snapshot, view: NodeView, home: Home) -> Iterator[str]:
    if not home.placed:
        return
    for pod in home.placed:
        yield from (f"{pod.metadata.key} on {view.name}: {why}" for why in unwelcome(pod, view.labels, home.taints, {}))
    # The scheduler makes room for pods that it nominated; nobody else can count on what is only leaving.
    awaited = all(pod.status.nominated_node_name == view.name for pod in home.placed)
    bound = [pod for pod in home.bound if not is_terminating(pod)] if awaited else home.bound
    used = total(map(pod_requests, (*bound, *home.placed)))
    missing = _daemons_to_come(snapshot, view)
    for name in used.keys() | missing.keys():
        wanted = used.get(name, 0) + missing.get(name, 0)
        if wanted > view.allocatable.get(name, 0):
            yield f"{view.name}: {name} {wanted} > {view.allocatable.get(name, 0)}"


def _daemons_to_come(snapshot: Snapshot, view: NodeView) -> dict[str, int]:
    expected = total(daemon_requests(snapshot, daemon) for daemon in _daemons_on(snapshot, view))
    bound = total(pod_requests(pod) for pod in view.pods if pod.metadata.is_owned_by("DaemonSet"))
    return {name: max(0, amount - bound.get(name, 0)) for name, amount in expected.items()}


# --- limits -----------------------------------------------------------------------------------------------------------


def _limits(snapshot: Snapshot, solution: Solution, options: Options) -> Iterator[str]:
    if options.max_nodes is not None and len(solution.new_claims) > options.max_nodes:
        yield f"{len(solution.new_claims)} new nodes, at most {options.max_nodes} wanted"
    for view in snapshot.pools:
        types = {kind.name: kind for kind in view.instance_types}
        plans = [plan for plan in solution.new_claims if plan.pool == view.pool.key]
        listed = Counter(plan.instance_types for plan in plans)
        for resource, limit in view.pool.limits.items() if plans else ():
            worst = [max(_counted(types[name], resource) for name in names) * count for names, count in listed.items()]
            used = view.usage.get(resource, 0) + sum(worst)
            if used > limit:
                yield f"{view.pool.key}: {resource} may come to {used}, limit {limit}"


def _reservations(snapshot: Snapshot, solution: Solution) -> Iterator[str]:
    """Yield reservations that more machines are planned for than any pool knows them to hold (S-52)."""
    planned: Counter[str] = Counter()
    for plan in solution.new_claims:
        named = plan.requirements.allowed(labels.RESERVATION_ID).values
        if (plan.capacity_type == labels.RESERVED) != bool(named):
            yield f"{plan.name}: {plan.capacity_type}, but its reservations are {sorted(named)}"
        planned.update(named)
    offerings = [one for view in snapshot.pools for kind in view.instance_types for one in kind.offerings]
    for identity, count in planned.items():
        held = min(one.reservation_capacity or 0 for one in offerings if one.reservation_id == identity)
        if count > held:
            yield f"{identity}: {count} machines are planned for it, it holds {held}"


def _counted(kind: InstanceType, resource: str) -> int:
    return 1 if resource == NODES else kind.capacity.get(resource, 0)
