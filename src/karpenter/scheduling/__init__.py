"""Where these pods would go and what would be launched for them.

Pure: functions of an immutable snapshot. Never: I/O, a clock, randomness, a cloud.
"""

from karpenter.scheduling.demand import Demand, Fulfilment
from karpenter.scheduling.policy import BalanceFormula, Options, Policy, PreferencePolicy
from karpenter.scheduling.pricing import PreferencePrices, PricedPreference, prices_of_preferences
from karpenter.scheduling.reporter import Reporter, StopCheck, never
from karpenter.scheduling.snapshot import NodeView, PoolView, Snapshot, Volumes
from karpenter.scheduling.solution import ClaimPlan, Layer, Reason, Solution, Unschedulable
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
    "PreferencePrices",
    "PricedPreference",
    "Reason",
    "Reporter",
    "Snapshot",
    "Solution",
    "StopCheck",
    "Unschedulable",
    "Volumes",
    "never",
    "prices_of_preferences",
    "solve",
]
