"""Pod affinity and anti-affinity: the required terms both ways, the preferred ones as a score.

What a node's pods mean for a pod is worked out per node (`relations_on`) and remembered by the caller; these functions
put all nodes together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from karpenter.sim.scheduler.nodefilters import Rejection
from karpenter.sim.scheduler.nodeinfo import NodeInfo, pods_with_terms
from karpenter.sim.scheduler.podfacts import NamespaceLabels, PodFacts, PodTerm
from karpenter.sim.scheduler.scores import stretched

_AFFINITY: Final = Rejection("InterPodAffinity", ("node(s) didn't match pod affinity rules",))
_ANTI_AFFINITY: Final = Rejection(
    "InterPodAffinity", ("node(s) didn't match pod anti-affinity rules",), helps_to_remove_pods=True
)
_THEIR_ANTI_AFFINITY: Final = Rejection(
    "InterPodAffinity", ("node(s) didn't satisfy existing pods anti-affinity rules",), helps_to_remove_pods=True
)
_REQUIRED_TERM_WEIGHT: Final = 1
"""What a required affinity term of a running pod adds to the score of its domain."""


@dataclass(frozen=True, slots=True)
class Relations:
    """What the pods of one node mean for one pod."""

    companions: int = 0
    """Pods that all its required affinity terms speak of."""
    avoided: tuple[str, ...] = ()
    """Topology keys of its anti-affinity terms that speak of a pod here."""
    avoiding: tuple[str, ...] = ()
    """Topology keys of anti-affinity terms of pods here that speak of it."""
    attraction: tuple[tuple[str, int], ...] = ()
    """By topology key: the sum of the weights of preferred terms, both ways."""


NOTHING: Final = Relations()


def relations_on(pod: PodFacts, node: NodeInfo, namespace_labels: NamespaceLabels) -> Relations:
    """Return what the pods of a node mean for a pod."""
    companions, avoided, attraction = 0, set[str](), Counter[str]()
    if pod.has_pod_terms:
        for other, number in node.classes.items():
            if pod.affinity and all(term.matches(other, namespace_labels) for term in pod.affinity):
                companions += number
            avoided.update(term.topology_key for term in pod.anti_affinity if term.matches(other, namespace_labels))
            for term in pod.preferred_affinity:
                if term.matches(other, namespace_labels):
                    attraction[term.topology_key] += term.weight * number
    avoiding = set[str]()
    for other, number in pods_with_terms(node):
        avoiding.update(term.topology_key for term in other.anti_affinity if term.matches(pod, namespace_labels))
        for term, weight in _attracting(other):
            if term.matches(pod, namespace_labels):
                attraction[term.topology_key] += weight * number
    if not (companions or avoided or avoiding or attraction):
        return NOTHING
    return Relations(companions, tuple(sorted(avoided)), tuple(sorted(avoiding)), tuple(sorted(attraction.items())))


def _attracting(other: PodFacts) -> list[tuple[PodTerm, int]]:
    required = [(term, _REQUIRED_TERM_WEIGHT) for term in other.affinity]
    return required + [(term, term.weight) for term in other.preferred_affinity]


Related = Sequence[tuple[NodeInfo, Relations]]


class PodRelations:
    """A pod's terms, and the terms of others that speak of it, over the whole cluster."""

    def __init__(self, pod: PodFacts, nodes: Related, namespace_labels: NamespaceLabels) -> None:
        self._pod = pod
        self._companions: set[tuple[str, str]] = set()
        self._avoided: set[tuple[str, str]] = set()
        self._avoiding: set[tuple[str, str]] = set()
        self._attraction = Counter[tuple[str, str]]()
        for node, found in nodes:
            if found is not NOTHING:
                self._take(node, found)
        self._avoiding_keys = {key for key, _ in self._avoiding}
        self._is_company_for_itself = bool(pod.affinity) and all(
            term.matches(pod, namespace_labels) for term in pod.affinity
        )

    def _take(self, node: NodeInfo, found: Relations) -> None:
        labels = node.labels
        if found.companions:
            keys = {term.topology_key for term in self._pod.affinity}
            self._companions.update((key, labels[key]) for key in keys if key in labels)
        self._avoided.update((key, labels[key]) for key in found.avoided if key in labels)
        self._avoiding.update((key, labels[key]) for key in found.avoiding if key in labels)
        for key, weight in found.attraction:
            if key in labels:
                self._attraction[key, labels[key]] += weight

    def rejection(self, node: NodeInfo) -> Rejection | None:
        """Return which required term keeps the pod from the node; None when all hold."""
        labels = node.labels
        if not self._has_company(node):
            return _AFFINITY
        if any((term.topology_key, labels.get(term.topology_key)) in self._avoided for term in self._pod.anti_affinity):
            return _ANTI_AFFINITY
        if any((key, labels.get(key)) in self._avoiding for key in self._avoiding_keys):
            return _THEIR_ANTI_AFFINITY
        return None

    def _has_company(self, node: NodeInfo) -> bool:
        keys = [term.topology_key for term in self._pod.affinity]
        if any(key not in node.labels for key in keys):
            return False
        if all((key, node.labels[key]) in self._companions for key in keys):
            return True
        # The first pod of a group that wants to be near itself may go anywhere, or the group could never start.
        return not self._companions and self._is_company_for_itself

    def scores(self, feasible: Sequence[NodeInfo]) -> list[int] | None:
        """Return points for each feasible node; None when no term has an opinion."""
        if not self._attraction:
            return None
        keys = {key for key, _ in self._attraction}
        return stretched([sum(self._attraction[key, node.labels.get(key, "")] for key in keys) for node in feasible])
