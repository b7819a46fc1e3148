"""Why a pod or a node is where it is: what else was possible at which price, and what bound the choice.

Records of plain data for whoever shows them, and the questions they answer. Never: a decision; it only looks at one.
"""

from karpenter.scheduling.explain.explain import Plan, explain_node, explain_pod
from karpenter.scheduling.explain.records import Alternative, Binding, Explanation, Offering, OtherNodes, Place

__all__ = [
    "Alternative",
    "Binding",
    "Explanation",
    "Offering",
    "OtherNodes",
    "Place",
    "Plan",
    "explain_node",
    "explain_pod",
]
