"""In which zone each planned pod ends up, as far as that is certain. Pure. Source: spec v1 S-64."""

from __future__ import annotations

from collections import Counter

from karpenter.model import labels
from karpenter.scheduling.snapshot import Snapshot
from karpenter.scheduling.solution import Solution

FLEXIBLE = "flexible"
NONE = "none"


def effective_zones(snapshot: Snapshot, solution: Solution) -> Counter[str]:
    """Return how many pods of a plan come to each zone: `flexible` where the cloud decides, `none` for those left."""
    zones = {view.name: view.zone or FLEXIBLE for view in snapshot.nodes}
    for plan in solution.new_claims:
        allowed = plan.requirements.allowed(labels.ZONE)
        is_certain = not allowed.complement and len(allowed.values) == 1
        zones[plan.name] = next(iter(allowed.values)) if is_certain else FLEXIBLE
    found = Counter(zones.get(place, FLEXIBLE) for place in solution.placements.values())
    if solution.unschedulable:
        found[NONE] = len(solution.unschedulable)
    return found
