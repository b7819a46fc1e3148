"""An independent check of rails: from what a plan says and the catalogue, without any code of the solver.

It knows the rails as the documentation of the settings states them. Where a rail depends on what else could have been
had, it is judged by resources alone, so worlds whose pods mind labels or zones are checked leniently, never too hard.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType
from karpenter.model.resources import Resources, add, parse_resources
from karpenter.scheduling import ClaimPlan, PoolView, Snapshot, Solution
from karpenter.scheduling.policy import Policy


def rail_breaches(snapshot: Snapshot, pods: Sequence[Pod], solution: Solution, policy: Policy) -> list[str]:
    """Return every rail that a solution for these pods breaks, in words."""
    views = {view.pool.key: view for view in snapshot.pools}
    found: list[str] = []
    for plan in solution.new_claims:
        found += _size(plan, views[plan.pool], _cap(snapshot, views[plan.pool], pods, policy), policy)
        found += _list(plan, views[plan.pool], policy)
    for view in snapshot.pools:
        found += _spot(snapshot, view, solution, policy)
        found += _zones(snapshot, view, solution, policy)
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


def _list(plan: ClaimPlan, view: PoolView, policy: Policy) -> Iterator[str]:
    """Yield listed types that are too dear; a pool with minValues may list any."""
    if any(requirement.min_values for requirement in view.pool.template.requirements.values()):
        return
    rails, kinds = policy.flexibility, {kind.name: kind for kind in view.instance_types}
    zones = plan.requirements.allowed("topology.kubernetes.io/zone").values
    prices = {
        name: min(
            offer.price
            for offer in kinds[name].offerings
            if offer.available
            and offer.zone in zones
            and plan.requirements.allowed("karpenter.sh/capacity-type").allows(offer.capacity_type)
        )
        for name in plan.instance_types
    }
    for at, (name, price) in enumerate(prices.items()):
        is_filling = plan.capacity_type == "spot" and at < rails.spot_types
        ratio = rails.spot_ratio if is_filling else rails.on_demand_ratio
        if price > plan.price * ratio * (1 + 1e-6):
            yield f"{plan.name}: lists {name} at {price}, planned at {plan.price}"


def _spot(snapshot: Snapshot, view: PoolView, solution: Solution, policy: Policy) -> Iterator[str]:
    """Yield types of a zone that new spot machines were planned of although there were enough (one pool's)."""
    rails, key = policy.flexibility, view.pool.key
    running = [(n.instance_type, n.zone) for n in snapshot.nodes if (n.pool, n.capacity_type) == (key, "spot")]
    plans = [plan for plan in solution.new_claims if (plan.pool, plan.capacity_type) == (key, "spot")]
    everything = Counter([*running, *((plan.instance_type, plan.zone) for plan in plans)])
    most = max(1, int(everything.total() * rails.spot_share))
    if everything.total() < rails.spot_share_from:
        return
    for plan in plans:
        deck = plan.instance_type, plan.zone
        others = [name for name in plan.instance_types if everything[name, plan.zone] < most]
        if everything[deck] > most and others:
            yield f"{plan.name}: {everything[deck]} of {everything.total()} spot machines are {deck}, {others} are not"


def zone_shares(snapshot: Snapshot, solution: Solution, view: PoolView) -> dict[str, float]:
    """Return the share of a pool's vCPU in each zone in which it has any."""
    kinds = {kind.name: kind for kind in view.instance_types}
    cpu: Counter[str] = Counter()
    for node in snapshot.nodes:
        if node.pool == view.pool.key and node.zone:
            cpu[node.zone] += node.capacity["cpu"]
    for plan in solution.new_claims:
        if plan.pool == view.pool.key:
            cpu[plan.zone] += kinds[plan.instance_type].capacity["cpu"]
    return {zone: amount / cpu.total() for zone, amount in cpu.items()}


def _zones(snapshot: Snapshot, view: PoolView, solution: Solution, policy: Policy) -> Iterator[str]:
    """Yield a plan in a zone that holds too much, if its machine costs no more in one to which it could go.

    A machine that moves has to leave both zones better off, and pods that mind zones are left alone.
    """
    shares, kinds = zone_shares(snapshot, solution, view), {kind.name: kind for kind in view.instance_types}
    offered = {o.zone for kind in kinds.values() for o in kind.offerings if o.available}
    most = {1: 1.0, 2: policy.zones.of_two}.get(len(offered), policy.zones.of_three)
    total = sum(kinds[plan.instance_type].capacity["cpu"] for plan in solution.new_claims if plan.pool == view.pool.key)
    total += sum(node.capacity["cpu"] for node in snapshot.nodes if node.pool == view.pool.key)
    allowed = view.pool.template.requirements.allowed("topology.kubernetes.io/zone")
    for plan in solution.new_claims:
        if plan.pool != view.pool.key or any(pod.spec.node_selector or pod.spec.affinity for pod in plan.pods):
            continue
        part = kinds[plan.instance_type].capacity["cpu"] / total
        same = {
            o.zone
            for o in kinds[plan.instance_type].offerings
            if o.available
            and o.price <= plan.price
            and o.capacity_type == plan.capacity_type
            and allowed.allows(o.zone)
        }
        better = [zone for zone in same if shares.get(zone, 0.0) + part < min(most, shares[plan.zone]) - 1e-9]
        if shares[plan.zone] > most and better:
            yield f"{plan.name}: {plan.zone} holds {shares[plan.zone]:.0%} of the vCPU, {better} would do"
