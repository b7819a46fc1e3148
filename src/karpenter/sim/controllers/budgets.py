"""How many pods a disruption budget lets go now, as a function of budget, pods and workloads.

Source: kubernetes.io/docs/tasks/run-application/configure-pdb.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from karpenter.model.core import Pod
from karpenter.model.meta import Condition, OwnerReference
from karpenter.model.pods import is_terminal
from karpenter.model.units import ObjectKey, UnixSeconds, from_rfc3339, to_rfc3339
from karpenter.sim.controllers.amounts import resolve
from karpenter.sim.controllers.podstate import is_ready
from karpenter.sim.kinds import Budget, BudgetStatus

DELETION_TIMEOUT_S: Final = 120.0
"""After so long an eviction that led to no deletion no longer counts."""

Scale = Callable[[str, OwnerReference], tuple[str, int] | None]
"""(namespace, controller of a pod) → uid and size of the workload that scales it; None for kinds without a size."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a budget is measured by."""

    pods: int
    healthy: int
    """How many must be healthy for the budget to hold."""


class UnknownScale(ValueError):
    """A budget that needs the size of a workload covers pods of one that has none."""


class Coverage:
    """Which pods each budget covers, kept up to date so that a change of one pod costs little."""

    def __init__(self) -> None:
        self._budgets: dict[ObjectKey, Budget] = {}
        self._pods: dict[ObjectKey, dict[ObjectKey, None]] = {}

    def put_budget(self, budget: Budget, pods: Iterable[Pod], *, is_there: bool) -> None:
        """Take in a budget's latest state; `pods` are all pods there are."""
        key = budget.metadata.key
        known = self._budgets.pop(key, None)
        if not is_there:
            self._pods.pop(key, None)
            return
        self._budgets[key] = budget
        if known is None or known.spec.selector != budget.spec.selector:
            self._pods[key] = {pod.metadata.key: None for pod in pods if covers(budget, pod)}

    def put_pod(self, pod: Pod, *, is_there: bool) -> list[ObjectKey]:
        """Take in a pod's latest state; return the budgets that cover it, or did before it was relabelled."""
        affected = []
        for key, budget in self._budgets.items():
            members = self._pods[key]
            if is_there and covers(budget, pod):
                members[pod.metadata.key] = None
                affected.append(key)
            elif pod.metadata.key in members:
                del members[pod.metadata.key]
                affected.append(key)
        return affected

    def pods_under(self, budget: ObjectKey) -> tuple[ObjectKey, ...]:
        """Return the pods that a budget covers."""
        return tuple(self._pods.get(budget, ()))


def covers(budget: Budget, pod: Pod) -> bool:
    """Return whether a budget covers a pod of its namespace. Without a selector it covers none."""
    selector = budget.spec.selector
    if selector is None or budget.metadata.namespace != pod.metadata.namespace:
        return False
    return selector.matches(pod.metadata.labels)


def expected(budget: Budget, pods: Sequence[Pod], scale: Scale) -> Expected:
    """Return how many pods there should be and how many of them healthy.

    A number of available pods is taken as it is, of the pods that are there. Anything relative refers to the sizes of
    the workloads that the pods belong to; pods of nobody do not count there.

    Raises:
        UnknownScale: the size of a workload is needed and it has none.
        ValueError: the budget's number is neither a number nor a percentage.
    """
    spec = budget.spec
    if spec.max_unavailable is not None:
        total = _total_scale(pods, scale)
        return Expected(total, max(0, total - resolve(spec.max_unavailable, total, round_up=True)))
    if isinstance(spec.min_available, str):
        total = _total_scale(pods, scale)
        return Expected(total, resolve(spec.min_available, total, round_up=True))
    return Expected(len(pods), spec.min_available if spec.min_available is not None else 1)


def _total_scale(pods: Sequence[Pod], scale: Scale) -> int:
    sizes: dict[str, int] = {}
    for pod in pods:
        controller = pod.metadata.controller()
        if controller is None:
            continue
        found = scale(pod.metadata.namespace, controller)
        if found is None:
            raise UnknownScale(f"{controller.kind} {controller.name!r} of pod {pod.metadata.name!r} has no scale")
        sizes[found[0]] = found[1]
    return sum(sizes.values())


def budget_status(budget: Budget, pods: Sequence[Pod], wanted: Expected, *, now: UnixSeconds) -> BudgetStatus:
    """Return the status of a budget over the pods that it covers."""
    disrupted = still_disrupted(budget, pods, now=now)
    healthy = sum(
        is_ready(pod) and not is_terminal(pod) and not pod.metadata.is_deleting and pod.metadata.name not in disrupted
        for pod in pods
    )
    allowed = healthy - wanted.healthy
    if wanted.pods <= 0 or allowed <= 0:
        allowed = 0
    return BudgetStatus(
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=wanted.healthy,
        expected_pods=wanted.pods,
        observed_generation=budget.metadata.generation,
        disrupted_pods=disrupted,
        conditions=conditions(budget, "SufficientPods" if allowed > 0 else "InsufficientPods", "", now=now),
    )


def failed_status(budget: Budget, why: str, *, now: UnixSeconds) -> BudgetStatus:
    """Return the status of a budget that cannot be judged: nothing is allowed."""
    known = budget.status
    return BudgetStatus(
        disruptions_allowed=0,
        current_healthy=known.current_healthy,
        desired_healthy=known.desired_healthy,
        expected_pods=known.expected_pods,
        observed_generation=budget.metadata.generation,
        disrupted_pods=known.disrupted_pods,
        conditions=conditions(budget, "SyncFailed", why, now=now),
    )


def still_disrupted(budget: Budget, pods: Sequence[Pod], *, now: UnixSeconds) -> dict[str, str]:
    """Return the granted evictions that have not shown in the pods yet."""
    there = {pod.metadata.name: pod for pod in pods}
    return {
        name: moment
        for name, moment in budget.status.disrupted_pods.items()
        if name in there and not there[name].metadata.is_deleting and now < from_rfc3339(moment) + DELETION_TIMEOUT_S
    }


def next_expiry(status: BudgetStatus) -> UnixSeconds | None:
    """Return when the first granted eviction is to be forgotten; None when there is none."""
    moments: Mapping[str, str] = status.disrupted_pods
    return min((UnixSeconds(from_rfc3339(one) + DELETION_TIMEOUT_S) for one in moments.values()), default=None)


def conditions(budget: Budget, reason: str, message: str, *, now: UnixSeconds) -> tuple[Condition, ...]:
    """Return the condition `DisruptionAllowed`, its transition time kept while it says the same."""
    status = "True" if reason == "SufficientPods" else "False"
    known = next((one for one in budget.status.conditions if one.type == "DisruptionAllowed"), None)
    since = to_rfc3339(now)
    if known is not None and known.status == status and known.last_transition_time:
        since = known.last_transition_time
    return (Condition("DisruptionAllowed", status, reason, message, since, budget.metadata.generation),)
