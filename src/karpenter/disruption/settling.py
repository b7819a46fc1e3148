"""What a fleet comes to once commands have been carried out, in memory and at one instant. Pure.

For whoever asks "what if": `simulate --disrupt`, benchmarks, forecasts. Replacements are there at once, moved pods run
where they were planned, and nothing ages: a new node has no creation time, so no rule about time speaks of it.
Source: issue 6, point 11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import msgspec

from karpenter.disruption.decide import METHODS, Method, decide
from karpenter.disruption.options import DEFAULT_OPTIONS, DisruptionOptions
from karpenter.disruption.relocation import pods_to_move, relocate
from karpenter.disruption.staying import every_stay
from karpenter.disruption.verdict import Blocked, Command
from karpenter.model import labels
from karpenter.model.core import Node, NodeSpec, NodeStatus, Pod
from karpenter.model.meta import Condition, ObjectMeta
from karpenter.model.nodeclaim import CONSOLIDATABLE, INITIALIZED, LAUNCHED, REGISTERED, NodeClaim
from karpenter.model.requirements import Requirements
from karpenter.model.resources import NODES, Resources, add, format_resources, subtract
from karpenter.model.units import ObjectKey, PoolKey, ProviderID
from karpenter.provisioning.claims import claim_for
from karpenter.scheduling import StopCheck, never
from karpenter.scheduling.snapshot import NodeView, PoolView, Snapshot
from karpenter.scheduling.solution import ClaimPlan


@dataclass(frozen=True, slots=True)
class Settled:
    """A fleet after commands, and what led to it."""

    snapshot: Snapshot
    commands: tuple[Command, ...]
    """In the order in which they were carried out; new nodes have the names that `snapshot` has for them."""
    blocked: tuple[Blocked, ...]
    """One for every node that is left: why it stays."""
    complete: bool
    """Whether nothing is left to do; False when it was stopped before."""


def settle(
    snapshot: Snapshot,
    options: DisruptionOptions = DEFAULT_OPTIONS,
    *,
    methods: Sequence[Method] = METHODS,
    rounds: int | None = None,
    stop: StopCheck = never,
) -> Settled:
    """Carry out what the methods decide, again and again, until they decide nothing more.

    `rounds` ends it after so many decisions; without it the number of nodes bounds them, since every round makes the
    fleet cheaper or replaces what has to go.
    """
    names = Names(snapshot)
    done: list[Command] = []
    is_settled = False
    for _ in range(_most_rounds(snapshot) if rounds is None else rounds):
        verdict = decide(snapshot, options, methods=methods, stop=stop)
        is_settled = not verdict.commands and not stop()
        if not verdict.commands:
            break
        for command in verdict.commands:
            snapshot, carried_out = after(snapshot, command, options, names=names)
            done.append(carried_out)
    stays = every_stay(snapshot, options, methods=methods, stop=stop)
    return Settled(snapshot, tuple(done), stays, is_settled)


def _most_rounds(snapshot: Snapshot) -> int:
    return 100 + 10 * len(snapshot.nodes)


class Names:
    """Names for new nodes: none that is or was taken."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._taken = {view.name for view in snapshot.nodes}
        self._counts: dict[str, int] = {}

    def next(self, plan: ClaimPlan) -> str:
        """Return the plan's own name, or its pool's with the next free number."""
        name, pool = plan.name, plan.pool.name
        while name in self._taken:
            self._counts[pool] = self._counts.get(pool, 0) + 1
            name = f"{pool}-{self._counts[pool]}"
        self._taken.add(name)
        return name


def after(
    snapshot: Snapshot, command: Command, options: DisruptionOptions = DEFAULT_OPTIONS, *, names: Names
) -> tuple[Snapshot, Command]:
    """Return the fleet after a command, and the command as carried out: with its nodes' final names.

    For nodes that go whatever becomes of their pods, it says what the provisioner would do for these.
    """
    gone = frozenset(command.nodes)
    if command.is_forceful:
        relocation = relocate(snapshot, gone, options.solve)
        command = replace(command, replacements=relocation.replacements, placements=relocation.placements)
    chosen = {plan.name: names.next(plan) for plan in command.replacements}
    plans = tuple(replace(plan, name=chosen[plan.name]) for plan in command.replacements)
    places = {key: chosen.get(place, place) for key, place in command.placements.items()}
    moving = {pod.metadata.key: pod for pod in pods_to_move(snapshot, gone)}
    homeless = tuple(_bound(pod, "") for key, pod in moving.items() if key not in places)
    left = replace(_without(snapshot, gone), pending=(*snapshot.pending, *homeless))
    arrivals = {key: (moving[key], place) for key, place in places.items()}
    return populated(left, plans, arrivals), replace(command, replacements=plans, placements=places)


def populated(
    snapshot: Snapshot, plans: Iterable[ClaimPlan], arrivals: Mapping[ObjectKey, tuple[Pod, str]]
) -> Snapshot:
    """Return the snapshot with planned machines as nodes, and with pods on the nodes that they were placed on.

    Pods of plans ride along; whoever arrives somewhere is pending no more.
    """
    bound: dict[str, list[Pod]] = {}
    pools = {view.pool.key: view for view in snapshot.pools}
    riders = {pod.metadata.key: (pod, plan.name) for plan in plans for pod in plan.pods}
    everybody = {**riders, **arrivals}
    for pod, place in everybody.values():
        bound.setdefault(place, []).append(_bound(pod, place))
    views = [*snapshot.nodes, *(_node_view(plan, pools[plan.pool], snapshot) for plan in plans)]
    return replace(
        snapshot,
        nodes=tuple(sorted((_with(view, bound.get(view.name)) for view in views), key=lambda view: view.name)),
        pools=_used(snapshot.pools, views[len(snapshot.nodes) :], add),
        pending=tuple(pod for pod in snapshot.pending if pod.metadata.key not in everybody),
    )


def _without(snapshot: Snapshot, gone: frozenset[str]) -> Snapshot:
    leaving = [view for view in snapshot.nodes if view.name in gone and not view.is_deleting]
    return replace(snapshot.without(gone), pools=_used(snapshot.pools, leaving, subtract))


def _used(
    pools: Iterable[PoolView], views: Iterable[NodeView], count: Callable[[Resources, Resources], Resources]
) -> tuple[PoolView, ...]:
    """Return the pools with the capacity of these nodes counted in or out."""
    changes: dict[PoolKey, list[Resources]] = {}
    for view in views:
        if view.pool is not None:
            changes.setdefault(view.pool, []).append({**view.capacity, NODES: 1})
    return tuple(replace(one, usage=reduce(count, changes.get(one.pool.key, ()), one.usage)) for one in pools)


def _with(view: NodeView, pods: list[Pod] | None) -> NodeView:
    if not pods:
        return view
    everyone = sorted((*view.pods, *pods), key=lambda pod: pod.metadata.key)
    return replace(view, pods=tuple(everyone), empty_since=None)


def _bound(pod: Pod, node: str) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def _node_view(plan: ClaimPlan, pool: PoolView, snapshot: Snapshot) -> NodeView:
    """Return the machine of a plan as a node that is ready: of the planned type, at the planned price."""
    kind = next(one for one in pool.instance_types if one.name == plan.instance_type)
    claim = claim_for(plan, pool.pool, well_known=snapshot.well_known, name=plan.name)
    place = {labels.ZONE: plan.zone, labels.CAPACITY_TYPE: plan.capacity_type, labels.HOSTNAME: plan.name}
    own = {**_single_values(kind.requirements), **_single_values(plan.requirements), **claim.labels, **place}
    provider_id = ProviderID(f"planned:///{plan.name}")
    metadata = ObjectMeta(name=plan.name, labels=own)
    return NodeView(
        name=plan.name,
        labels=own,
        taints=pool.pool.template.taints,
        capacity=kind.capacity,
        allocatable=kind.allocatable,
        pool=plan.pool,
        instance_type=plan.instance_type,
        zone=plan.zone,
        capacity_type=plan.capacity_type,
        price=plan.price,
        node=Node(
            metadata,
            NodeSpec(provider_id, taints=pool.pool.template.taints),
            NodeStatus({**format_resources(kind.capacity)}, {**format_resources(kind.allocatable)}),
        ),
        claim=ready_claim(claim, provider_id, own),
    )


def ready_claim(claim: NodeClaim, provider_id: ProviderID, own: Mapping[str, str]) -> NodeClaim:
    """Return a claim as it is once its node is initialized and nothing speaks against consolidating it."""
    kinds = (LAUNCHED, REGISTERED, INITIALIZED, CONSOLIDATABLE)
    return replace(
        claim,
        metadata=msgspec.structs.replace(claim.metadata, labels={**claim.labels, **own}),
        provider_id=provider_id,
        conditions=tuple(Condition(kind, "True") for kind in kinds),
    )


def _single_values(requirements: Requirements) -> dict[str, str]:
    single = ((key, one.values) for key, one in requirements.items() if not one.complement)
    return {key: next(iter(values)) for key, values in single if len(values) == 1}
