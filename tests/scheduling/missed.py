"""Whether a pod that a plan leaves pending could have been put somewhere beside everything else that it plans.

Every node, every planned machine and a new machine of every offering is tried, or whatever a second solve says; the
verifier judges what comes out. So a plan that leaves such a pod is not wrong, but short.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.requirements import Requirement
from karpenter.model.units import ObjectKey
from karpenter.scheduling import ClaimPlan, Demand, Options, PoolView, Snapshot, Solution, solve
from karpenter.scheduling.aftermath import aftermath
from tests.scheduling import claims
from tests.scheduling.amounts import daemon_requests, pod_requests, total
from tests.scheduling.spreads import Rule, Tally, hard_constraints
from tests.scheduling.town import Town
from tests.scheduling.verifier import breaches, finished


def could_join(snapshot: Snapshot, demand: Demand, solution: Solution, pod: Pod, options: Options) -> str | None:
    """Return where a pod that was left pending could be; None if nowhere."""
    key = pod.metadata.key
    others = tuple(entry for entry in solution.unschedulable if entry.pod.metadata.key != key)
    for name, claims_then in _ways(snapshot, solution, pod):
        placements = {**solution.placements, key: name}
        then = replace(solution, placements=placements, unschedulable=others, new_claims=claims_then)
        if not breaches(snapshot, demand, then, options):
            return name
    return None


def found_later(snapshot: Snapshot, demand: Demand, first: Solution, options: Options) -> dict[ObjectKey, str]:
    """Return places that a second solve, with the first plan carried out, finds and that were free in the first.

    Some are not: what the first plan launches is only then known to be small enough for the limits, and rules that hold
    whatever the order of binding bind nobody any more once their pods are bound. Spreads count domains that could be
    added, as Karpenter's do over hosts.
    """
    left = [entry.pod for entry in first.unschedulable]
    if not left:
        return {}
    if options.max_nodes is not None:
        options = replace(options, max_nodes=options.max_nodes - len(first.new_claims))
    second = solve(aftermath(snapshot, demand.pods, first), Demand.each(left), options)
    claimed = {plan.name for plan in second.new_claims}
    alone = [{key} for key, name in second.placements.items() if name not in claimed]
    launched = [{pod.metadata.key for pod in plan.pods} for plan in second.new_claims]
    found: dict[ObjectKey, str] = {}
    for keys in (*alone, *launched, set(second.placements)):
        then = _both(first, second, keys)
        if not breaches(snapshot, demand, then, options) and not _crowds(snapshot, demand, then):
            found |= {key: second.placements[key] for key in keys}
    return found


def _crowds(snapshot: Snapshot, demand: Demand, then: Solution) -> bool:
    """Return whether a spread holds only because an empty domain that pools could add is not there."""
    town = Town(list(finished(snapshot, demand, then, claims.Fleet(snapshot)).values()), snapshot.namespaces)
    for who in town.residents:
        for spread in hard_constraints(who.pod) if who.is_new else ():
            rule = Rule.of(spread, who.pod)
            tally = Tally.of(town, rule, who.pod)
            could_be = {
                value for view in snapshot.pools for value in view.pool.node_requirements().allowed(rule.key).values
            }
            most = max((tally.most[domain] for domain in who.home.values(rule.key)), default=0)
            if most > spread.max_skew and (rule.key == labels.HOSTNAME or could_be - set(tally.homes)):
                return True
    return False


def _both(first: Solution, second: Solution, keys: Collection[ObjectKey]) -> Solution:
    """Return the first plan with these pods of the second beside its own."""
    pods = {entry.pod.metadata.key: entry.pod for entry in first.unschedulable if entry.pod.metadata.key in keys}
    wider = [
        with_pods(plan, *(pod for key, pod in pods.items() if second.placements[key] == plan.name))
        for plan in first.new_claims
    ]
    more = [plan for plan in second.new_claims if any(pod.metadata.key in keys for pod in plan.pods)]
    return replace(
        first,
        placements={**first.placements, **{key: second.placements[key] for key in pods}},
        unschedulable=tuple(entry for entry in first.unschedulable if entry.pod.metadata.key not in keys),
        new_claims=(*wider, *more),
    )


def with_pods(plan: ClaimPlan, *pods: Pod) -> ClaimPlan:
    """Return the claim with more pods on it."""
    return replace(plan, pods=(*plan.pods, *pods), requests=total((plan.requests, *map(pod_requests, pods))))


def _ways(snapshot: Snapshot, solution: Solution, pod: Pod) -> Iterator[tuple[str, tuple[ClaimPlan, ...]]]:
    """Yield the place a pod could be put and the claims there are then."""
    yield from ((view.name, solution.new_claims) for view in snapshot.nodes if not view.is_deleting)
    for at, plan in enumerate(solution.new_claims):
        yield plan.name, (*solution.new_claims[:at], with_pods(plan, pod), *solution.new_claims[at + 1 :])
    for view in snapshot.pools:
        if view.unready is None:
            yield from (("new", (*solution.new_claims, own)) for own in own_machines(snapshot, view, pod))


def own_machines(snapshot: Snapshot, view: PoolView, pod: Pod) -> Iterator[ClaimPlan]:
    """Yield a claim for a pod by itself for each offering of a pool."""
    own = view.pool.node_requirements()
    selected = [Requirement.of(key, "In", (value,)) for key, value in pod.spec.node_selector.items() if key in own]
    for kind in view.instance_types:
        for offering in kind.offerings:
            place = {
                labels.INSTANCE_TYPE: kind.name,
                labels.ZONE: offering.zone,
                labels.CAPACITY_TYPE: offering.capacity_type,
            }
            wanted = own.intersect(selected, [Requirement.of(key, "In", (value,)) for key, value in place.items()])
            if not offering.available or any(not wanted[key].allows(value) for key, value in place.items()):
                continue
            plan = ClaimPlan(
                "new", view.pool.key, (pod,), wanted, (kind.name,), kind.name, offering.zone, offering.capacity_type,
                offering.price, {}, expected_price=offering.price,
                worst_price=offering.price,
            )  # fmt: skip
            (shape,) = claims.Fleet(snapshot).of(plan).shapes.each
            daemons = (daemon_requests(snapshot, daemon) for daemon in shape.daemons)
            yield replace(plan, requests=total((pod_requests(pod), *daemons)))
