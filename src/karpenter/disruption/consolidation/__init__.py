"""Nodes go, or are replaced, when the fleet costs less without them.

Pure: eligibility, the search for cheaper fleets, the price of moving pods, the rails against churn, the explanation of
what stays. Every command lowers what the fleet costs per hour. Never: I/O, a clock, writes; the orchestrator acts, and
what was moved lately is handed in.
"""

from karpenter.disruption.consolidation.method import consolidation

__all__ = ["consolidation"]
