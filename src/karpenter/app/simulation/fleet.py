"""What becomes of the nodes there are, as `simulate --disrupt` and `explain node` tell it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from karpenter.app.simulation.answer import DIGITS, node_data
from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.relocation import pods_to_move
from karpenter.disruption.settling import Settled, populated, settle
from karpenter.disruption.verdict import Blocked, Command
from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey, UnixSeconds, to_rfc3339
from karpenter.scheduling import Demand, Options, solve
from karpenter.scheduling.snapshot import NodeView, Snapshot
from karpenter.scheduling.solution import Solution

ONE_LOOK: Final = 1


@dataclass(frozen=True, slots=True)
class Fleet:
    """The nodes before and after."""

    before: Snapshot
    settled: Settled
    lower_bound: float | None
    """USD per hour that any nodes of our pools for the same pods cost at least under the policy; those of nobody's pool
    stay with what they have room for."""

    @property
    def price(self) -> float:
        """USD per hour of all nodes in the end, as far as their prices are known."""
        return price_of(self.settled.snapshot.nodes)


def price_of(views: Iterable[NodeView]) -> float:
    """Return the USD per hour of nodes, as far as their prices are known."""
    return sum((view.price or 0.0 for view in views), 0.0)


def give_back(snapshot: Snapshot, solution: Solution, options: DisruptionOptions, *, until_settled: bool) -> Fleet:
    """Place the pending pods as planned, then give back what can be given back: once, or until nothing is left."""
    served = with_solution(snapshot, solution)
    settled = settle(served, options, rounds=None if until_settled else ONE_LOOK)
    return Fleet(snapshot, settled, _least(served, options.solve))


def _least(snapshot: Snapshot, options: Options) -> float | None:
    """Return what a whole new fleet for the pods of all our nodes costs at least; None when that is not known."""
    ours = frozenset(view.name for view in snapshot.nodes if view.is_managed)
    pods = pods_to_move(snapshot, ours)
    others = replace(snapshot.without(ours), pending=())
    found = solve(others, Demand.each(pods), replace(options, max_nodes=None)).lower_bound
    return None if found is None else found + price_of(others.nodes)


def with_solution(snapshot: Snapshot, solution: Solution) -> Snapshot:
    """Return the snapshot once a plan for its pending pods has come true."""
    pods: Mapping[ObjectKey, Pod] = {pod.metadata.key: pod for pod in snapshot.pending}
    arrivals = {key: (pods[key], place) for key, place in solution.placements.items() if key in pods}
    return populated(snapshot, solution.new_claims, arrivals)


def with_fleet(answer: dict[str, Any], fleet: Fleet) -> dict[str, Any]:
    """Return an answer in the form of `-o json` with what becomes of the fleet."""
    return {
        **answer,
        "pricePerHour": {
            **answer["pricePerHour"],
            "final": round(fleet.price, DIGITS),
            "lowerBound": _price(fleet.lower_bound),
        },
        "disruptions": [_command(command) for command in fleet.settled.commands],
        "blocked": [blocked_data(one) for one in fleet.settled.blocked],
        "finalNodes": [node_view_data(view) for view in fleet.settled.snapshot.nodes],
        "settled": fleet.settled.complete,
    }


def blocked_data(one: Blocked) -> dict[str, Any]:
    """Return why a node stays in the form of `-o json`."""
    return {
        "node": one.node,
        "reason": one.reason,
        "code": one.code,
        "message": one.message,
        "since": _moment(one.since),
        "until": _moment(one.until),
        "pricePerHour": _price(one.price),
    }


def _command(command: Command) -> dict[str, Any]:
    return {
        "reason": command.reason,
        "nodes": list(command.nodes),
        "replacements": [node_data(plan) for plan in command.replacements],
        "podsMoved": len(command.placements),
        "savingsPerHour": round(command.savings, DIGITS),
    }


def node_view_data(view: NodeView) -> dict[str, Any]:
    """Return one node that is there in the form of `-o json`."""
    return {
        "name": view.name,
        "instanceType": view.instance_type,
        "zone": view.zone,
        "capacityType": view.capacity_type,
        "pricePerHour": _price(view.price),
        "pods": sorted(str(pod.metadata.key) for pod in view.pods),
    }


def _price(price: float | None) -> float | None:
    return None if price is None else round(price, DIGITS)


def _moment(moment: UnixSeconds | None) -> str | None:
    return None if moment is None else to_rfc3339(moment)
