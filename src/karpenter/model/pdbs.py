"""What PodDisruptionBudgets say about one pod. Source: spec v1 §3.3 (B-3), T-7."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from karpenter.model.core import Pod, PodDisruptionBudget
from karpenter.model.meta import find_condition
from karpenter.model.units import UnixSeconds


class Pdbs:
    """All budgets of a cluster, to be asked about many pods."""

    def __init__(self, pdbs: Iterable[PodDisruptionBudget]) -> None:
        self._by_namespace: defaultdict[str, list[PodDisruptionBudget]] = defaultdict(list)
        for pdb in pdbs:
            self._by_namespace[pdb.metadata.namespace].append(pdb)

    def over(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """Return the budgets that cover a pod."""
        inside = self._by_namespace.get(pod.metadata.namespace, ())
        return tuple(pdb for pdb in inside if _selects(pdb, pod))

    def refusing(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """Return the budgets that keep a pod from being evicted now; several refuse together, whatever they say."""
        over = self.over(pod)
        return over if len(over) > 1 or any(not allows(pdb, pod) for pdb in over) else ()


def allows(pdb: PodDisruptionBudget, pod: Pod) -> bool:
    """Return whether a budget lets this pod be evicted now; a status older than the budget itself allows nothing."""
    if pdb.spec.unhealthy_pod_eviction_policy == "AlwaysAllow" and not _is_ready(pod):
        return True
    is_current = pdb.status.observed_generation >= pdb.metadata.generation
    return is_current and pdb.status.disruptions_allowed > 0


def refusing_since(pdb: PodDisruptionBudget) -> UnixSeconds | None:
    """Return since when the budget allows nothing; None when it allows something or does not say."""
    condition = find_condition(pdb.status.conditions, "DisruptionAllowed")
    return condition.since if condition is not None and not condition.is_true else None


def _selects(pdb: PodDisruptionBudget, pod: Pod) -> bool:
    return pdb.spec.selector is not None and pdb.spec.selector.matches(pod.metadata.labels)


def _is_ready(pod: Pod) -> bool:
    ready = find_condition(pod.status.conditions, "Ready")
    return ready is not None and ready.is_true
