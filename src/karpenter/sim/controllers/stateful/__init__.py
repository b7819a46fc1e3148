"""The stand-in for the StatefulSet controller: pods with names, in order, with claims of their own.

What it decides (`identity`, `history`, `retention`, `steps`) is without an API. Never: volumes;
claims are only created.
"""

from karpenter.sim.controllers.stateful.statefulsets import StatefulSets

__all__ = ["StatefulSets"]
