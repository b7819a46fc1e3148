"""Whether a pod that a plan leaves pending could have been put somewhere beside everything else that it plans.

Every node, every planned machine and a new machine of every offering is tried, and the verifier judges what comes out.
So a plan that leaves such a pod is not wrong, but short.
"""

from collections.abc import Iterator
from dataclasses import replace

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.requirements import Requirement
from karpenter.scheduling import ClaimPlan, Demand, Options, PoolView, Snapshot, Solution
from tests.scheduling import claims
from tests.scheduling.amounts import daemon_requests, pod_requests, total
from tests.scheduling.verifier import breaches


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


def _ways(snapshot: Snapshot, solution: Solution, pod: Pod) -> Iterator[tuple[str, tuple[ClaimPlan, ...]]]:
    """Yield the place a pod could be put and the claims there are then."""
    yield from ((view.name, solution.new_claims) for view in snapshot.nodes if not view.is_deleting)
    for at, plan in enumerate(solution.new_claims):
        requests = total((plan.requests, pod_requests(pod)))
        wider = replace(plan, pods=(*plan.pods, pod), requests=requests)
        yield plan.name, (*solution.new_claims[:at], wider, *solution.new_claims[at + 1 :])
    for view in snapshot.pools:
        if view.unready is None:
            yield from (("new", (*solution.new_claims, own)) for own in _own_machines(snapshot, view, pod))


def _own_machines(snapshot: Snapshot, view: PoolView, pod: Pod) -> Iterator[ClaimPlan]:
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
