"""Which families of metrics are written out, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Offered = Literal["used", "all", "off"]


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """What `/metrics` has beside counters; the defaults keep a cluster of 100 nodes below 3,000 samples."""

    port: int = 8080
    per_node: bool = True
    """`karpenter_nodes_*` with a node's name."""
    per_pod: bool = False
    """`karpenter_pods_state` and the ages of waiting pods."""
    per_object_conditions: bool = False
    """`operator_*_status_condition_count` and `…_current_status_seconds`."""
    offerings: Offered = "used"
    """Types and prices: of those that nodes are made of, all that pools can get, or none."""
