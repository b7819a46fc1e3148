"""What the API server knows of single kinds: defaults, first status, rules. One module a family.

Here: pure functions from tree to tree. Never: other objects (that is admission) and what controllers do.
"""

from karpenter.runtime.kubememory.strategies.registry import strategy_of
from karpenter.runtime.kubememory.strategies.strategy import Strategy

__all__ = ["Strategy", "strategy_of"]
