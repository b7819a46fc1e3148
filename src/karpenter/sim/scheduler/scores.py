"""How good a node is for a pod, in the default profile's points. Pure integer arithmetic, as kube-scheduler does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from karpenter.model.resources import CPU, MEMORY
from karpenter.sim.scheduler.nodeinfo import NodeInfo
from karpenter.sim.scheduler.podfacts import PodFacts

BEST: Final = 100
WEIGHTS: Final[Mapping[str, int]] = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
}


def resource_score(pod: PodFacts, node: NodeInfo) -> int:
    """Return the weighted points for what would be left: much of it, and cpu and memory in balance."""
    return WEIGHTS["NodeResourcesFit"] * least_allocated(pod, node) + WEIGHTS[
        "NodeResourcesBalancedAllocation"
    ] * balanced_allocation(pod, node)


def least_allocated(pod: PodFacts, node: NodeInfo) -> int:
    """Return the mean free share of cpu and memory with the pod placed, in points. Unstated requests count a little."""
    pairs = (
        (node.scored_cpu + pod.scored_cpu, node.allocatable.get(CPU, 0)),
        (node.scored_memory + pod.scored_memory, node.allocatable.get(MEMORY, 0)),
    )
    shares = [max(0, total - used) * BEST // total for used, total in pairs if total]
    return sum(shares) // len(shares) if shares else 0


def balanced_allocation(pod: PodFacts, node: NodeInfo) -> int:
    """Return more points the more the pod brings the used shares of cpu and memory together, fewer for the contrary.

    75 points mean that it changes nothing. A pod that requests neither gets none anywhere: otherwise such pods would
    pile up on one node.

    Source: kube-scheduler 1.36, which compares before and after; older ones looked at the state after only.
    """
    if pod.is_best_effort:
        return 0
    change = _balance(node, pod.requests) - _balance(node, {})
    return BEST // 2 + (BEST // 2 + change) // 2


def _balance(node: NodeInfo, more: Mapping[str, int]) -> int:
    """Return 100 for equal used shares of cpu and memory, 50 for shares that could not be further apart."""
    shares = [
        min(1.0, (node.requested.get(name, 0) + more.get(name, 0)) / node.allocatable[name])
        for name in (CPU, MEMORY)
        if node.allocatable.get(name)
    ]
    deviation = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0
    return int((1 - deviation) * BEST)


def scaled(raw: Sequence[int], *, fewer_is_better: bool = False) -> list[int]:
    """Return raw scores brought to 0..100 by the largest one; all zero stays zero, or is best when fewer is better."""
    most = max(raw, default=0)
    if most == 0:
        return [BEST if fewer_is_better else 0] * len(raw)
    points = [BEST * score // most for score in raw]
    return [BEST - point for point in points] if fewer_is_better else points


def stretched(raw: Sequence[int]) -> list[int]:
    """Return raw scores, negative ones included, brought to 0..100 between the least and the most."""
    least, most = min(raw), max(raw)
    if most == least:
        return [0] * len(raw)
    return [int(BEST * ((score - least) / (most - least))) for score in raw]
