"""Where the pods of a demand go and what is launched for them: the order of the steps of one solve.

Existing nodes first, then claims in flight, then new machines: of the pools with the highest weight that can serve a
pod, at the lowest price. Preferences are given up one by one, for a whole class at a time, when nothing can serve them.
Source: spec v1alpha5 §2.3 … §2.7, spec v1 §2.2, §2.3, §2.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karpenter.model.labels import WELL_KNOWN
from karpenter.model.resources import CPU, MEMORY, PODS, Resources
from karpenter.model.taints import PREFER_NO_SCHEDULE
from karpenter.scheduling.answer import Answer
from karpenter.scheduling.bins import Bins, Item
from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.classes import PodClass, classes_of
from karpenter.scheduling.columns import columns_of
from karpenter.scheduling.daemons import daemons_of, load_of
from karpenter.scheduling.demand import Demand
from karpenter.scheduling.lanes import lanes_of
from karpenter.scheduling.launch import Effort, launch
from karpenter.scheduling.limits import Budget, budget_of
from karpenter.scheduling.machines import Machines
from karpenter.scheduling.nodes import nodes_of
from karpenter.scheduling.policy import Options
from karpenter.scheduling.reasons import Judge
from karpenter.scheduling.reporter import Reporter, StopCheck, never
from karpenter.scheduling.rules import Level, levels_of
from karpenter.scheduling.snapshot import Snapshot
from karpenter.scheduling.solution import Solution


def solve(
    snapshot: Snapshot,
    demand: Demand,
    options: Options = Options(),  # noqa: B008 - frozen
    *,
    stop: StopCheck = never,
    reporter: Reporter | None = None,
) -> Solution:
    """Return where the demanded pods go, which machines to launch for them, and why the rest stays pending.

    Equal input gives an equal answer, whatever order pods and nodes come in. `stop` is asked between steps; once it
    says so the answer is `complete=False` and holds what was found so far: pods that were not looked at are neither
    placed nor unschedulable.

    Raises:
        ValueError: a running pod or a daemon asks for an amount that is no quantity.
    """
    work, judge = _begin(snapshot, demand, options, reporter=reporter)
    complete = work.run(stop, may_launch=demand.fulfilment != "check-only")
    return Answer(work.bins, work.classes, work.machines, judge, reporter).build(work.items, demand, complete=complete)


def _begin(snapshot: Snapshot, demand: Demand, options: Options, *, reporter: Reporter | None) -> tuple[_Work, Judge]:
    policy = options.policy
    well_known = WELL_KNOWN | snapshot.well_known
    classes = classes_of(demand.pods)
    daemons = daemons_of(snapshot)
    levels = [
        levels_of(cls, policy.preferences, has_preferred_taints=_has_preferred_taints(snapshot)) for cls in classes
    ]
    resources = _resources(classes, [daemon.requests for daemon in daemons])
    terms = dict.fromkeys(term for ladder in levels for level in ladder for term in level.rule.terms)
    lanes = lanes_of(snapshot.pools, tuple(terms), well_known=well_known)
    columns = columns_of(
        lanes,
        resources,
        [load_of(lane, daemons, well_known=well_known) for lane in lanes],
        well_known=well_known,
        most_pods=policy.max_pods_per_node if policy.rails else None,
    )
    nodes = nodes_of(snapshot.nodes)
    budget = budget_of(columns)
    work = _Work(
        bins=Bins(nodes, columns, nodes.room(resources, daemons)),
        classes=classes,
        items=_items(classes, levels, resources),
        budget=budget,
        machines=Machines(columns, budget, most_types=options.max_instance_types),
        effort=Effort(policy.node_fee, options.rounds),
        reporter=reporter,
    )
    return work, Judge(snapshot, daemons, budget, well_known)


def _has_preferred_taints(snapshot: Snapshot) -> bool:
    on_pools = (taint for view in snapshot.pools for taint in view.pool.template.taints)
    on_nodes = (taint for view in snapshot.nodes for taint in view.taints)
    return any(taint.effect == PREFER_NO_SCHEDULE for taints in (on_pools, on_nodes) for taint in taints)


def _resources(classes: Sequence[PodClass], others: Sequence[Resources]) -> tuple[str, ...]:
    """Return the resources that anybody asks for: the usual ones first, then by name."""
    asked = {name for requests in (*(cls.requests for cls in classes), *others) for name in requests}
    usual = (CPU, MEMORY, PODS)
    return (*usual, *sorted(asked.difference(usual)))


def _items(classes: Sequence[PodClass], levels: Sequence[tuple[Level, ...]], resources: Sequence[str]) -> list[Item]:
    return [
        Item(
            index=at,
            cls=cls,
            levels=ladder,
            request=np.array([cls.requests.get(name, 0) for name in resources], dtype=np.float64),
            left=0 if cls.fault else cls.size,
        )
        for at, (cls, ladder) in enumerate(zip(classes, levels, strict=True))
    ]


@dataclass(slots=True)
class _Work:
    """The state of one solve."""

    bins: Bins
    classes: tuple[PodClass, ...]
    items: list[Item]
    budget: Budget
    machines: Machines
    effort: Effort
    reporter: Reporter | None

    def run(self, stop: StopCheck, *, may_launch: bool) -> bool:
        """Place what can be placed; return False when stopped before the end."""
        scale = self._scale()
        order = self._order(scale)
        while True:
            if stop():
                return False
            for item in order:
                self._settle(item, scale, may_launch=may_launch)
            waiting = [(item, tier) for item in order if item.left and (tier := self._tier(item)) is not None]
            if not waiting or not may_launch:
                return True
            if stop():
                return False
            # Those whom only pools of low weight can serve come first: what their machines have left costs nothing.
            last = max(tier for _, tier in waiting)
            self._launch([item for item, tier in waiting if tier == last], last, scale)

    def _settle(self, item: Item, scale: Floats, *, may_launch: bool) -> None:
        """Place copies on what is there already, giving up preferences as long as no new machine could keep them."""
        while item.left:
            self.bins.fill(item, slice(0, len(self.bins.nodes)), scale)
            if item.left and (not may_launch or self._tier(item) is None):
                self.bins.fill(item, slice(len(self.bins.nodes), self.bins.size), scale)
                if item.left and item.relax():
                    self._report_relaxed(item)
                    continue
            return

    def _launch(self, items: Sequence[Item], tier: int, scale: Floats) -> None:
        for item in items:
            self.bins.fill(item, slice(len(self.bins.nodes), self.bins.size), scale)
        launch(self.bins, items, self.budget, columns=self._columns(tier), effort=self.effort)
        self.machines.resize(self.bins)
        for item in items:
            item.floor = tier + 1

    def _columns(self, tier: int) -> Ints:
        return np.flatnonzero((self.machines.tier == tier) & self.budget.affords())

    def _tier(self, item: Item) -> int | None:
        """Return the first tier, from the item's floor on, that can open a machine for a copy; None without one."""
        columns = self.bins.columns
        open_now = columns.row(item.rule).any(axis=(1, 2)) & (columns.room >= item.request).all(axis=1)
        open_now &= (self.machines.tier >= item.floor) & self.budget.affords()
        return int(self.machines.tier[open_now].min()) if open_now.any() else None

    def _scale(self) -> Floats:
        """Return weights that make amounts of different resources comparable (R)."""
        room = np.concatenate((np.maximum(self.bins.room, 0), self.bins.columns.room))
        return 1.0 / np.maximum(room.mean(axis=0), 1.0) if len(room) else np.ones(room.shape[1])

    def _order(self, scale: Floats) -> list[Item]:
        """Return the items in the order in which they meet existing nodes.

        Those that no pool could serve have nowhere else to go, so they come first; then priority, then size.
        """
        flexible = {item.index: self._tier(item) is not None for item in self.items}
        return sorted(
            self.items,
            key=lambda item: (
                flexible[item.index],
                -item.cls.priority,
                -float((item.request * scale).sum()),
                item.index,
            ),
        )

    def _report_relaxed(self, item: Item) -> None:
        if self.reporter is not None:
            self.reporter.relaxed(item.cls.pods[-item.left :], item.levels[item.at].given_up)
