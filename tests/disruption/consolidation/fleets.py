"""Small fleets to consolidate, on the toy catalogue, and a judge of every plan.

Cases count nodes without a creation time as old enough, and take moves as free (`FREE_MOVES`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as changed

from karpenter.disruption.consolidation import consolidation
from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.relocation import pods_to_move
from karpenter.disruption.settling import Settled, settle
from karpenter.disruption.verdict import Command, Verdict
from karpenter.model import labels
from karpenter.model.core import Node, Pod
from karpenter.model.meta import ObjectMeta
from karpenter.model.nodepool import Budget, Disruption, NodePool
from karpenter.model.units import UnixSeconds
from karpenter.scheduling import Demand, Options, Policy, Solution
from karpenter.scheduling.snapshot import NodeView, Snapshot
from tests.builders import a_node_view, a_snapshot
from tests.scheduling.toys import SIZES, on_demand, toys
from tests.scheduling.verifier import breaches

FREE_MOVES = DisruptionOptions(solve=Options(Policy(rails=False, move_price=0.0, node_fee=0.0)))
"""Pure price, as the cases have it."""
ANY_NUMBER = Disruption(budgets=(Budget("100%"),))


def a_free_pool(name: str = "default", **fields: Any) -> NodePool:
    """Return an on-demand pool whose nodes may all go at once."""
    return on_demand(name, **{"disruption": ANY_NUMBER, **fields})


def a_machine(name: str, kind: str, *pods: Pod, pool: NodePool | None = None, **fields: Any) -> NodeView:
    """Return a node of a toy type with these pods bound to it; nobody knows how old it is."""
    cpu, memory, price = SIZES[kind]
    spot = fields.get("capacity_type") == labels.SPOT
    bound = [_bound(pod, name) for pod in pods]
    view = a_node_view(
        name,
        cpu=str(cpu),
        memory=f"{memory}Gi",
        pods=bound,
        pool=pool or a_free_pool(),
        **{"instance_type": kind, "price": round(price * 0.3, 6) if spot else price, **fields},
    )
    node = fields.get("node") or Node(metadata=ObjectMeta(name=name, labels=dict(view.labels)))
    return replace(view, node=node)


def a_fleet(
    *nodes: NodeView, pools: Sequence[NodePool] = (), types: Iterable[str] = tuple(SIZES), **world: Any
) -> Snapshot:
    """Return a cluster of these nodes; without pools they belong to one that may launch the named toy types."""
    known = tuple(types)
    return a_snapshot(nodes=nodes, pools=pools or [a_free_pool()], types=toys(*known), **world)


def consolidated(snapshot: Snapshot, options: DisruptionOptions = FREE_MOVES) -> Verdict:
    """Consolidate once, and hold every command to what it promises and the finished state to the verifier."""
    verdict = consolidation(snapshot, options)
    for command in verdict.commands:
        assert_sound(snapshot, command, options)
    every = {view.name for view in snapshot.nodes}
    chosen = [name for command in verdict.commands for name in command.nodes]
    assert len(set(chosen)) == len(chosen)
    assert {one.node for one in verdict.blocked} <= every - set(chosen)
    return verdict


def assert_sound(snapshot: Snapshot, command: Command, options: DisruptionOptions = FREE_MOVES) -> None:
    """Fail unless the command saves what it says at any price the cloud may ask, and every rule holds afterwards."""
    gone = frozenset(command.nodes)
    moved = pods_to_move(snapshot, gone)
    assert set(command.placements) == {pod.metadata.key for pod in moved}
    riders = [pod for plan in command.replacements for pod in plan.pods]
    keys = {pod.metadata.key for pod in moved}
    solution = Solution(
        command.replacements, {**command.placements, **{pod.metadata.key: _home(command, pod) for pod in riders}}
    )
    demand = Demand.each([*moved, *(pod for pod in riders if pod.metadata.key not in keys)])
    assert breaches(snapshot.without(gone), demand, solution, options.solve) == []
    fee = options.solve.policy.node_fee
    before = sum((view.price or 0.0) + fee for view in snapshot.nodes if view.name in gone)
    assert command.savings > 0
    assert abs(before - sum(plan.price + fee for plan in command.replacements) - command.savings) < 1e-9
    assert before > sum(plan.worst_price + fee for plan in command.replacements)


def _home(command: Command, pod: Pod) -> str:
    return next(plan.name for plan in command.replacements if pod in plan.pods)


def settled(snapshot: Snapshot, options: DisruptionOptions = FREE_MOVES) -> Settled:
    """Consolidate until nothing more is found, each command held to the verifier."""

    def judged(snapshot: Snapshot, options: DisruptionOptions, *, stop: Any) -> Verdict:
        return consolidated(snapshot, options)

    return settle(snapshot, options, methods=(judged,))


def price_of(snapshot: Snapshot) -> float:
    """Return what the fleet costs, in USD per hour."""
    return sum(view.price or 0.0 for view in snapshot.nodes)


def kinds(command: Command) -> list[str]:
    """Return the types that a command launches."""
    return sorted(plan.instance_type for plan in command.replacements)


def reasons(verdict: Verdict) -> dict[str, str]:
    """Return the code by which each node stays."""
    return {one.node: one.code for one in verdict.blocked}


def later(snapshot: Snapshot, seconds: float) -> Snapshot:
    """Return the same cluster so much later."""
    return replace(snapshot, taken_at=UnixSeconds(snapshot.taken_at + seconds))


def _bound(pod: Pod, node: str) -> Pod:
    return changed(pod, spec=changed(pod.spec, node_name=node), status=changed(pod.status, phase="Running"))
