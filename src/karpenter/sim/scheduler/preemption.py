"""Making room for a pod that is more important than others: which pods of a node would have to go, and on which node.

Source: kube-scheduler 1.36, plugin DefaultPreemption.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from karpenter.model import core
from karpenter.model.meta import find_condition
from karpenter.model.units import ObjectKey
from karpenter.sim.kinds import Budget
from karpenter.sim.scheduler.nodefilters import Rejection
from karpenter.sim.scheduler.podfacts import PodFacts

REASON: Final = "PreemptionByScheduler"
"""Of the condition `DisruptionTarget` of a pod that has to go."""
_NO_VICTIMS: Final = Rejection("DefaultPreemption", ("No preemption victims found for incoming pod",))
_LEAST_CANDIDATES: Final = 100
_SHARE_OF_NODES: Final = 10
_OFFSET: Final = 2**31
"""Added to priorities before they are summed up, so that several unimportant pods count more than one."""

Without = Callable[[Collection[str]], Rejection | None]
"""Why a pod does not fit on a node once the pods with these uids are gone; None when it does."""


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that may have to go."""

    uid: str
    key: ObjectKey
    facts: PodFacts
    priority: int
    started: float
    """Seconds since the epoch; infinite while it has not started."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that takes the pod once these are gone."""

    node: str
    victims: tuple[Victim, ...]
    """The most important first."""
    broken_budgets: int
    """How many of them no disruption budget lets go."""


def enough(nodes: int) -> int:
    """Return how many candidates among so many nodes are enough to choose from."""
    return max(_LEAST_CANDIDATES, nodes * _SHARE_OF_NODES // 100)


def is_preempted(pod: core.Pod | None) -> bool:
    """Return whether a pod is about to go because it was preempted."""
    if pod is None or not pod.metadata.is_deleting:
        return False
    target = find_condition(pod.status.conditions, "DisruptionTarget")
    return target is not None and target.is_true and target.reason == REASON


def candidate(
    node: str, lower: Collection[Victim], without: Without, *, budgets: Sequence[Budget]
) -> Candidate | Rejection:
    """Return the fewest pods that have to leave a node, or why it does not help if all of `lower` do.

    As many stay as can: first those whose budgets would be broken, then the others, the most important first.
    """
    if not lower:
        return _NO_VICTIMS
    gone = {one.uid for one in lower}
    if (rejection := without(gone)) is not None:
        return rejection
    order = sorted(lower, key=lambda one: (-one.priority, one.started))
    protected = _protected(order, budgets)
    for one in sorted(order, key=lambda one: one.uid not in protected):
        if without(gone - {one.uid}) is None:
            gone.discard(one.uid)
    return Candidate(node, tuple(one for one in order if one.uid in gone), len(protected & gone))


def best(candidates: Iterable[Candidate]) -> Candidate:
    """Return the candidate that hurts least; the first of equals."""
    return min(candidates, key=_hurt)


def _hurt(one: Candidate) -> tuple[float, ...]:
    highest = max((victim.priority for victim in one.victims), default=-_OFFSET)
    longest = min((victim.started for victim in one.victims if victim.priority == highest), default=0.0)
    total = sum(victim.priority + _OFFSET for victim in one.victims)
    return one.broken_budgets, highest, total, len(one.victims), -longest


def _protected(pods: Iterable[Victim], budgets: Sequence[Budget]) -> set[str]:
    """Return the pods that no budget lets go after those before them went."""
    allowed = [budget.status.disruptions_allowed for budget in budgets]
    protected = set()
    for pod in pods:
        for at, budget in enumerate(budgets):
            if _counts(budget, pod):
                allowed[at] -= 1
                if allowed[at] < 0:
                    protected.add(pod.uid)
    return protected


def _counts(budget: Budget, pod: Victim) -> bool:
    selector = budget.spec.selector
    # Unlike for evictions, an empty selector and a pod without labels have nothing to do with each other here.
    if selector is None or not (selector.match_labels or selector.match_expressions) or not pod.facts.labels:
        return False
    namespace, name = pod.key
    is_near = budget.metadata.namespace == namespace and selector.matches(pod.facts.labels)
    return is_near and name not in budget.status.disrupted_pods
