"""What `simulate` answers: the solution, with everything around it that its reader needs, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from karpenter.app.simulation.refused import pool_data, reason_data, refusal_data
from karpenter.model.resources import format_resources
from karpenter.provisioning.pending import Rejected
from karpenter.scheduling.remedies import Refusal
from karpenter.scheduling.snapshot import NodeView
from karpenter.scheduling.solution import ClaimPlan, Reason, Solution, Unschedulable

DIGITS: Final = 6
"""Decimals of a price: beyond the last one of any price list, before those that sums of floats invent."""


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long the answer took."""

    load: float
    solve: float
    solve_cpu: float


@dataclass(frozen=True, slots=True)
class BothPrices:
    """USD per hour of the new nodes under the two policies for preferences."""

    respect: float
    ignore: float


@dataclass(frozen=True, slots=True)
class Answer:
    """One run of `simulate`."""

    solution: Solution
    nodes: tuple[NodeView, ...]
    """The nodes there were before."""
    policy: Mapping[str, object]
    """The policy's values by their names in the settings."""
    warnings: tuple[str, ...]
    seconds: Seconds
    refusals: tuple[Refusal, ...] = ()
    """The pods that found no place, in groups, with what would help."""
    preferences: BothPrices | None = None
    """What the plan costs with preferences respected and with them ignored; None when no pod states any."""

    @property
    def is_all_placed(self) -> bool:
        """Whether every pending pod found a place."""
        return not self.solution.unschedulable

    @property
    def existing_price(self) -> float:
        """USD per hour of the nodes there were, as far as their prices are known."""
        return sum((view.price or 0.0 for view in self.nodes), 0.0)


def with_rejected(solution: Solution, rejected: Sequence[Rejected]) -> Solution:
    """Return the solution with the pods that no plan considered among the unschedulable ones."""
    entries = tuple(
        Unschedulable(
            each.pod, (Reason.alone("pod", "NotPlannedFor", each.message or "it asks for nodes that no pool makes"),)
        )
        for each in rejected
    )
    everything = sorted((*solution.unschedulable, *entries), key=lambda entry: entry.pod.metadata.key)
    return replace(solution, unschedulable=tuple(everything))


def as_data(answer: Answer) -> dict[str, Any]:
    """Return the answer in the form of `-o json`."""
    solution = answer.solution
    return {
        "newNodes": [node_data(plan) for plan in solution.new_claims],
        "placements": {str(key): solution.placements[key] for key in sorted(solution.placements)},
        "unschedulable": [_unschedulable(entry) for entry in solution.unschedulable],
        "refusals": [refusal_data(refusal) for refusal in answer.refusals],
        "pricePerHour": {
            "existing": round(answer.existing_price, DIGITS),
            "new": round(float(solution.price), DIGITS),
            "lowerBound": None if solution.lower_bound is None else round(solution.lower_bound, DIGITS),
            "final": None,
            "planned": round(float(solution.price), DIGITS),
            "expected": round(float(solution.expected_price), DIGITS),
            "worst": round(float(solution.worst_price), DIGITS),
            "railsCost": None if solution.rails_cost is None else round(solution.rails_cost, DIGITS),
        },
        "preferences": None if answer.preferences is None else _both(answer.preferences),
        "policy": dict(answer.policy),
        "warnings": list(answer.warnings),
        "complete": solution.complete,
        "seconds": {
            "load": round(answer.seconds.load, 4),
            "solve": round(answer.seconds.solve, 4),
            "solveCpu": round(answer.seconds.solve_cpu, 4),
        },
    }


def node_data(plan: ClaimPlan) -> dict[str, Any]:
    """Return one planned node in the form of `-o json`."""
    return {
        "name": plan.name,
        "pool": pool_data(plan.pool),
        "instanceType": plan.instance_type,
        "instanceTypes": list(plan.instance_types),
        "zone": plan.zone,
        "capacityType": plan.capacity_type,
        "pricePerHour": round(plan.price, DIGITS),
        "requests": format_resources(plan.requests),
        "pods": sorted(str(pod.metadata.key) for pod in plan.pods),
    }


def _both(prices: BothPrices) -> dict[str, float]:
    return {"respect": round(float(prices.respect), DIGITS), "ignore": round(float(prices.ignore), DIGITS)}


def _unschedulable(entry: Unschedulable) -> dict[str, Any]:
    return {"pod": str(entry.pod.metadata.key), "reasons": [reason_data(reason) for reason in entry.reasons]}
