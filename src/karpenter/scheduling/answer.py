"""The end of a solve: bins become placements and claims, what is left becomes reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from karpenter.model.core import Pod
from karpenter.scheduling.bins import Bins
from karpenter.scheduling.classes import PodClass
from karpenter.scheduling.demand import Demand
from karpenter.scheduling.items import Wait
from karpenter.scheduling.plans import claim_plans, deal_pods, placements
from karpenter.scheduling.reasons import Judge
from karpenter.scheduling.reporter import Reporter
from karpenter.scheduling.settling import Settler
from karpenter.scheduling.solution import Reason, Solution, Unschedulable


@dataclass(frozen=True, slots=True)
class Answer:
    """Builds the solution of one solve and tells the reporter."""

    bins: Bins
    classes: tuple[PodClass, ...]
    settler: Settler
    judge: Judge
    reporter: Reporter | None

    def build(self, waits: Sequence[Wait], demand: Demand, *, complete: bool) -> Solution:
        """Return what was found; a group that must be placed as a whole and cannot be is not placed at all."""
        pods, left = deal_pods(self.bins, self.classes)
        refused = self._refused(waits, left) if complete else ()
        if demand.fulfilment == "all-or-nothing" and any(left):
            placed = [pod for group in pods for pod in group]
            solution = Solution(unschedulable=(*refused, *_with_the_group(placed, refused)), complete=complete)
        else:
            settled = self.settler.settle(self.bins)
            plans = claim_plans(self.bins, self.classes, settled, pods=pods)
            places = placements(self.bins.nodes.views, pods, plans)
            extra = sum((machine.extra for machine in settled.values()), 0.0)
            solution = Solution(plans, places, refused, rails_cost=extra, complete=complete)
        self._report(solution, pods)
        return solution

    def _refused(self, waits: Sequence[Wait], left: Sequence[Sequence[Pod]]) -> tuple[Unschedulable, ...]:
        refused: list[Unschedulable] = []
        for wait, pods in zip(waits, left, strict=True):
            if pods:
                reasons = self.judge.reasons(wait)
                refused.extend(Unschedulable(pod, reasons) for pod in pods)
        return tuple(refused)

    def _report(self, solution: Solution, pods: Sequence[tuple[Pod, ...]]) -> None:
        if self.reporter is None:
            return
        if solution.placements:
            for view, group in zip(self.bins.nodes.views, pods, strict=False):
                if group:
                    self.reporter.placed(group, view.name)
            for plan in solution.new_claims:
                self.reporter.placed(plan.pods, plan.name)
        for refused in solution.unschedulable:
            self.reporter.rejected(refused)


def _with_the_group(pods: Sequence[Pod], refused: Sequence[Unschedulable]) -> tuple[Unschedulable, ...]:
    message = f"would find a place, but {len(refused)} of its group's {len(pods) + len(refused)} pods would not"
    reason = Reason.alone("pod", "GroupIncomplete", message)
    return tuple(Unschedulable(pod, (reason,)) for pod in pods)
