"""Pure questions about `core.Node`."""

from __future__ import annotations

from karpenter.model.core import Node
from karpenter.model.meta import find_condition


def is_ready(node: Node) -> bool:
    """Return whether the node says that it is ready; one that says nothing is not."""
    ready = find_condition(node.status.conditions, "Ready")
    return ready is not None and ready.is_true
