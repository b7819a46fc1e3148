"""An independent check of rails: from what a plan says and the catalogue, without any code of the solver.

It knows the rails as the documentation of the settings states them. Where a rail depends on what else could have been
had, it is judged by resources alone, so worlds whose pods mind labels or zones are checked leniently, never too hard.
"""

from collections.abc import Iterator, Sequence

from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType
from karpenter.model.resources import Resources, add, parse_resources
from karpenter.scheduling import ClaimPlan, PoolView, Snapshot, Solution
from karpenter.scheduling.policy import Policy

GIB = 2**30


def rail_breaches(snapshot: Snapshot, pods: Sequence[Pod], solution: Solution, policy: Policy) -> list[str]:
    """Return every rail that a solution for these pods breaks, in words."""
    views = {view.pool.key: view for view in snapshot.pools}
    found: list[str] = []
    for plan in solution.new_claims:
        found += _size(plan, views[plan.pool], _cap(snapshot, views[plan.pool], pods, policy), policy)
    return found


def requests_of(pod: Pod) -> Resources:
    """Return what the containers of a pod without init containers ask for."""
    asked = add(*(parse_resources(container.resources.requests) for container in pod.spec.containers))
    return {**asked, "pods": 1}


def cores(kind: InstanceType) -> float:
    return kind.capacity["cpu"] / 1000


def is_metal(kind: InstanceType) -> bool:
    return ".metal" in kind.name


def _cap(snapshot: Snapshot, view: PoolView, pods: Sequence[Pod], policy: Policy) -> float:
    """Return the largest cap that could be meant: all waiting pods may be the pool's."""
    running = [pod for node in snapshot.nodes if node.pool == view.pool.key for pod in node.pods]
    asked = sum(requests_of(pod).get("cpu", 0) for pod in (*running, *pods)) / 1000
    return min(policy.size.vcpu, max(policy.size.least_vcpu, policy.size.share * asked))


def _size(plan: ClaimPlan, view: PoolView, cap: float, policy: Policy) -> Iterator[str]:
    kinds = {kind.name: kind for kind in view.instance_types}
    common = [kind for kind in kinds.values() if not is_metal(kind) and _allows(view, kind)]
    for name in plan.instance_types:
        kind = kinds[name]
        if cores(kind) > cap and not _needed(plan.pods, [other for other in common if cores(other) <= cap]):
            yield f"{plan.name}: {name} has more than {cap} vCPU, and no pod needs that"
        if is_metal(kind) and not policy.size.metal and not _needed(plan.pods, common):
            yield f"{plan.name}: {name} is bare metal, and no pod needs that"


def _allows(view: PoolView, kind: InstanceType) -> bool:
    """Return whether the pool's own requirements allow a type."""
    wanted = view.pool.template.requirements
    return all(
        any(wanted.allowed(key).allows(value) for value in kind.requirements[key].values)
        for key in wanted
        if key in kind.requirements
    )


def _needed(pods: Sequence[Pod], others: Sequence[InstanceType]) -> bool:
    """Return whether some pod may not do with any of the other types."""
    return any(
        pod.spec.node_selector or pod.spec.affinity or not any(_holds(other, pod) for other in others) for pod in pods
    )


def _holds(kind: InstanceType, pod: Pod) -> bool:
    return all(kind.allocatable.get(name, 0) >= amount for name, amount in requests_of(pod).items())
