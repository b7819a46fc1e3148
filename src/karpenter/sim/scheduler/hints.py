"""Which waiting pods a change may help, so that ten thousand hopeless ones are not tried at every heartbeat."""

from __future__ import annotations

from typing import Final

from karpenter.sim.scheduler.podfacts import NamespaceLabels, PodFacts

SPREAD: Final = "PodTopologySpread"
AFFINITY: Final = "InterPodAffinity"


def concerns(waiting: PodFacts, plugins: frozenset[str], other: PodFacts, *, namespace_labels: NamespaceLabels) -> bool:
    """Return whether another pod's coming or going may change what spread or affinity said about a waiting one."""
    is_near = SPREAD in plugins and other.namespace == waiting.namespace
    if is_near and any(rule.counts(other.labels) for rule in waiting.hard_spread):
        return True
    return AFFINITY in plugins and (
        any(term.matches(other, namespace_labels) for term in (*waiting.affinity, *waiting.anti_affinity))
        or any(term.matches(waiting, namespace_labels) for term in other.anti_affinity)
    )
