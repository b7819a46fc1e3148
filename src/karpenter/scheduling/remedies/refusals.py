"""Pods that stay pending, those with equal reasons together, and for each group the change that would help.

A change is named only if solving again with it places the pods: these alone, in the cluster as it will be once
everything else that was planned is there. Effort is counted in solves, so equal input gives equal answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from karpenter.model.core import Pod
from karpenter.model.resources import CPU, NODES
from karpenter.model.units import PoolKey
from karpenter.scheduling.aftermath import aftermath
from karpenter.scheduling.classes import INVALID
from karpenter.scheduling.classes import group as group_pods
from karpenter.scheduling.demand import Demand
from karpenter.scheduling.policy import Options
from karpenter.scheduling.remedies.change import Candidate, Proposal, Remedy, World, remedy_of
from karpenter.scheduling.remedies.nearest import MOST_CHANGES
from karpenter.scheduling.remedies.pools import raise_limit, with_limits
from karpenter.scheduling.remedies.proposals import more_nodes, proposals
from karpenter.scheduling.reporter import Progress, StopCheck, never, unheard
from karpenter.scheduling.requests import requests_of
from karpenter.scheduling.snapshot import Snapshot
from karpenter.scheduling.solution import Miss, Reason, Solution, Unschedulable
from karpenter.scheduling.solver import solve

_BY_AMOUNT = frozenset({"InsufficientResources", "LimitExceeded", "LimitsExceeded", "MinValuesUnmet"})
"""Reasons that are the same kind of trouble although every pod has its own figures."""
_HOPELESS = frozenset({INVALID, "NotPlannedFor", "NoPools", "NoRoom", "GroupIncomplete"})
"""Reasons that no change which could be tried here would remove."""
_KINDS_A_SOLVE = 150
_SLACK = 0.1
"""By how much more than it turned out to take a limit is raised when just that is too little: plans under a limit are
not so tight."""
_SECOND_LOOKS = 4
"""Proposals that did not help alone and are tried with a second change."""


@dataclass(slots=True)
class Effort:
    """How many solves may still be spent on looking for remedies."""

    solves: int = 48
    """In solves of up to 150 different kinds of pods; larger ones cost more."""
    groups: int = 12
    """For how many groups, the largest first."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Pods that stay pending for the same reasons."""

    pods: tuple[Pod, ...]
    """In the order of their names."""
    example: Pod
    """The one that asks most; the reasons speak of it."""
    reasons: tuple[Reason, ...]
    is_uniform: bool
    """Whether the reasons are word by word those of every pod; otherwise others differ in their figures."""
    remedy: Remedy | None = None
    """None when no change was found that helps."""
    is_searched: bool = False
    """Whether a remedy was looked for to the end; otherwise effort ran out, or there is nothing to try."""


def refusals_of(
    snapshot: Snapshot,
    demand: Demand,
    solution: Solution,
    *,
    options: Options,
    effort: Effort | None = None,
    stop: StopCheck = never,
    progress: Progress = unheard,
) -> tuple[Refusal, ...]:
    """Return the pods that a solution leaves pending, grouped, the largest group first, with what would help.

    `snapshot`, `demand` and `options` are those that the solution answers.
    """
    left = effort or Effort()
    groups = _grouped(solution.unschedulable)
    if not groups:
        return ()
    planned = len(solution.new_claims)
    most = None if options.max_nodes is None else max(0, options.max_nodes - planned)
    later = aftermath(snapshot, demand.pods, solution)
    found: list[Refusal] = []
    all_solves = left.solves

    def tell() -> None:
        progress("trying what would help", min(all_solves - left.solves, all_solves), all_solves)

    for at, group in enumerate(groups):
        if at < left.groups and _may_be_helped(group) and not stop():
            world = World(later, group.pods, replace(options, rounds=0, max_nodes=most))
            price = 1 + len(group_pods(group.pods).classes) // _KINDS_A_SOLVE
            search = _Search(world, group.example, planned, left, stop, tell, price)
            remedy = search.run(group.reasons)
            found.append(replace(group, remedy=remedy, is_searched=not search.is_cut_short))
        else:
            found.append(group)
    return tuple(found)


def _may_be_helped(group: Refusal) -> bool:
    return not any(reason.code in _HOPELESS for reason in group.reasons)


# --- groups -----------------------------------------------------------------------------------------------------------


def _grouped(refused: Sequence[Unschedulable]) -> list[Refusal]:
    groups: dict[tuple[object, ...], list[Unschedulable]] = {}
    for entry in refused:
        groups.setdefault(tuple(_kind(reason) for reason in entry.reasons), []).append(entry)
    found = [_refusal(entries) for entries in groups.values()]
    return sorted(found, key=lambda group: (-len(group.pods), group.pods[0].metadata.key))


def _kind(reason: Reason) -> tuple[object, ...]:
    """Return what is the same for reasons of the same kind."""
    return reason.pool, reason.code, tuple(_told(miss) for miss in reason.misses) or reason.message


def _told(miss: Miss) -> tuple[str, str]:
    return miss.code, miss.subject if miss.code in _BY_AMOUNT else miss.message


def _refusal(entries: Sequence[Unschedulable]) -> Refusal:
    ordered = sorted(entries, key=lambda entry: entry.pod.metadata.key)
    amounts = [miss.subject for reason in ordered[0].reasons for miss in reason.misses if miss.code in _BY_AMOUNT]
    resource = amounts[0] if amounts else CPU
    example = max(ordered, key=lambda entry: _amount(entry.pod, resource))
    return Refusal(
        pods=tuple(entry.pod for entry in ordered),
        example=example.pod,
        reasons=example.reasons,
        is_uniform=all(entry.reasons == example.reasons for entry in ordered),
    )


def _amount(pod: Pod, resource: str) -> int:
    try:
        return requests_of(pod).get(resource, 0)
    except ValueError:
        return 0


# --- search -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Tried:
    """A proposal and what came of it."""

    proposal: Proposal
    world: World
    solution: Solution


@dataclass(slots=True)
class _Search:
    """Looks for the smallest change that lets the pods of one world be placed."""

    world: World
    example: Pod
    planned: int
    """How many new nodes the plan has that left the pods out."""
    effort: Effort
    stop: StopCheck
    tell: Callable[[], None]
    """Called before every solve."""
    price: int
    """What one solve takes of the effort."""
    is_cut_short: bool = False

    def run(self, reasons: Sequence[Reason]) -> Remedy | None:
        """Return the first remedy that serves all pods; else the one that serves most; None when none serves any.

        What would be served without any change is no merit of a remedy.
        """
        unchanged = self._solve(self.world)
        if unchanged is None:
            return None
        if not unchanged.unschedulable and unchanged.complete:
            return remedy_of((), unchanged)
        tried: list[_Tried] = []
        for attempt in self._attempts(reasons):
            if not attempt.solution.unschedulable and attempt.solution.complete:
                return remedy_of(attempt.proposal, attempt.solution)
            tried.append(attempt)
        best = max(tried, key=lambda attempt: len(attempt.solution.placements), default=None)
        if best is None or len(best.solution.placements) <= len(unchanged.placements):
            return None
        return remedy_of(best.proposal, best.solution)

    def _attempts(self, reasons: Sequence[Reason]) -> Iterator[_Tried]:
        """Yield what came of proposals: first each alone, then of some with a second change."""
        first: list[_Tried] = []
        for attempt in self._each((), self.world, reasons):
            yield attempt
            first.append(attempt)
        unfinished = [attempt for attempt in first if len(attempt.proposal) < MOST_CHANGES]
        for attempt in unfinished[:_SECOND_LOOKS]:
            yield from self._each(attempt.proposal, attempt.world, _reasons(attempt.solution))

    def _each(self, before: Proposal, world: World, reasons: Sequence[Reason]) -> Iterator[_Tried]:
        for proposal in (*self._limits(world, reasons), *proposals(world, self.example, reasons)):
            if len(before) + len(proposal) > MOST_CHANGES:
                continue
            changed = world
            for candidate in proposal:
                changed = candidate.apply(changed)
            solution = self._solve(changed)
            if solution is None:
                return
            yield _Tried((*before, *proposal), changed, solution)

    def _solve(self, world: World) -> Solution | None:
        """Solve for the pods; None when no effort is left."""
        if self.effort.solves <= 0 or self.stop():
            self.is_cut_short = True
            return None
        self.tell()
        self.effort.solves -= self.price
        return solve(world.snapshot, Demand.each(world.pods), world.options, stop=self.stop)

    # --- limits -------------------------------------------------------------------------------------------------------

    def _limits(self, world: World, reasons: Sequence[Reason]) -> Iterator[Proposal]:
        """Yield higher limits: as high as the pods turn out to need when there is none."""
        for reason in reasons:
            if reason.code == "MaxNodesReached":
                free = self._solve(world.with_options(replace(world.options, max_nodes=None)))
                if free is not None and free.new_claims:
                    yield (more_nodes(world, self.planned, len(free.new_claims)),)
            elif reason.code in {"LimitExceeded", "LimitsExceeded"} and reason.pool is not None:
                yield from self._raised(world, reason.pool)

    def _raised(self, world: World, key: PoolKey) -> Iterator[Proposal]:
        """Yield limits that suffice for what the pods take without any, and then some slack."""
        view = next(view for view in world.snapshot.pools if view.pool.key == key)
        free = self._solve(with_limits(world, key, dict.fromkeys(view.pool.limits)))
        if free is None:
            return
        capacity = {kind.name: kind.capacity for kind in view.instance_types}
        mine = [capacity[plan.instance_type] for plan in free.new_claims if plan.pool == key]
        for slack in (0.0, _SLACK):
            changes: list[Candidate] = []
            for resource, limit in sorted(view.pool.limits.items()):
                more = len(mine) if resource == NODES else sum(amounts.get(resource, 0) for amounts in mine)
                needed = view.usage.get(resource, 0) + _roundly(resource, more * (1 + slack))
                if needed > limit:
                    changes.append(raise_limit(view.pool, resource, needed))
            if changes and len(changes) <= MOST_CHANGES:
                yield tuple(changes)


def _roundly(resource: str, amount: float) -> int:
    """Return an amount rounded up to whole cores, or gibibytes for what is counted in bytes."""
    step = 1000 if resource == CPU else 2**30 if amount >= 2**30 else 1
    return ceil(amount / step) * step


def _reasons(solution: Solution) -> tuple[Reason, ...]:
    return solution.unschedulable[0].reasons if solution.unschedulable else ()
