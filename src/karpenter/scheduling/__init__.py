"""Where these pods would go and what would be launched for them.

Pure: functions of an immutable snapshot. Never: I/O, a clock, randomness, a cloud.
"""

from typing import TYPE_CHECKING

from karpenter.scheduling.demand import Demand, Fulfilment
from karpenter.scheduling.policy import BalanceFormula, Options, Policy, PreferencePolicy
from karpenter.scheduling.reporter import Reporter, StopCheck, never
from karpenter.scheduling.snapshot import NodeView, PoolView, Snapshot, Volumes
from karpenter.scheduling.solution import ClaimPlan, Layer, Reason, Solution, Unschedulable

if TYPE_CHECKING:
    from karpenter.scheduling.solver import solve

__all__ = [
    "BalanceFormula",
    "ClaimPlan",
    "Demand",
    "Fulfilment",
    "Layer",
    "NodeView",
    "Options",
    "Policy",
    "PoolView",
    "PreferencePolicy",
    "Reason",
    "Reporter",
    "Snapshot",
    "Solution",
    "StopCheck",
    "Unschedulable",
    "Volumes",
    "never",
    "solve",
]


def __getattr__(name: str) -> object:
    """Import the solver when it is first asked for: who reads settings or a snapshot need not wait for it."""
    if name != "solve":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from karpenter.scheduling.solver import solve  # noqa: PLC0415 - see above

    return solve
