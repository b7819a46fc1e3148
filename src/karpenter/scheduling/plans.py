"""From bins to the answer: which pod goes where, and what each machine to launch is to be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from karpenter.model.core import Pod
from karpenter.model.resources import CPU
from karpenter.model.units import ObjectKey
from karpenter.scheduling.bins import Bins
from karpenter.scheduling.catalog import ATTACHED
from karpenter.scheduling.classes import PodClass
from karpenter.scheduling.machines import Choice, Machines, ZoneBalance
from karpenter.scheduling.snapshot import NodeView
from karpenter.scheduling.solution import ClaimPlan


def deal_pods(bins: Bins, classes: Sequence[PodClass]) -> tuple[list[tuple[Pod, ...]], list[tuple[Pod, ...]]]:
    """Return the pods of every bin, and of every class those that are in none: the oldest are served first."""
    served = [0] * len(classes)
    dealt: list[tuple[Pod, ...]] = []
    for shares in bins.shares:
        pods: list[Pod] = []
        for share in shares:
            start = served[share.item.index]
            served[share.item.index] = start + share.count
            pods.extend(classes[share.item.index].pods[start : start + share.count])
        dealt.append(tuple(pods))
    return dealt, [cls.pods[count:] for cls, count in zip(classes, served, strict=True)]


def claim_plans(
    bins: Bins, classes: Sequence[PodClass], machines: Machines, *, pods: Sequence[tuple[Pod, ...]]
) -> tuple[ClaimPlan, ...]:
    """Return a plan for every opened bin. Zones of equal price are taken in turn, the largest machines first.

    `pods` are those of every bin, nodes included.
    """
    choices = {row: machines.choose(bins, row) for row in bins.opened()}
    zones = _zones(bins, choices)
    names = _names(bins)
    plans: list[ClaimPlan] = []
    for row, choice in choices.items():
        pool = bins.columns.lane_of(choice.column).view.pool.key
        zone, capacity_type = zones[row]
        plans.append(
            ClaimPlan(
                name=names[row],
                pool=pool,
                pods=pods[row],
                requirements=choice.requirements,
                instance_types=choice.instance_types,
                instance_type=choice.instance_types[0],
                zone=zone,
                capacity_type=capacity_type,
                price=choice.price,
                requests=_requests(bins, classes, row, column=choice.column),
                expected_price=choice.price,
                worst_price=choice.worst_price,
                min_values_relaxed=not choice.is_flexible,
            )
        )
    return tuple(plans)


def _requests(bins: Bins, classes: Sequence[PodClass], row: int, *, column: int) -> dict[str, int]:
    """Return what pods and daemons of a machine ask for together."""
    total = bins.columns.daemon_requests(column)
    for share in bins.shares[row]:
        for name, amount in classes[share.item.index].requests.items():
            total[name] = total.get(name, 0) + share.count * amount
    return {name: amount for name, amount in total.items() if not name.startswith(ATTACHED)}


def _names(bins: Bins) -> dict[int, str]:
    """Return pool name and running number for each opened bin, none of them a node's name."""
    taken = {view.name for view in bins.nodes.views}
    names: dict[int, str] = {}
    for row in bins.opened():
        pool = bins.columns.lane_of(int(bins.column[row])).view.pool.name
        number = len(names) + 1
        while f"{pool}-{number}" in taken:
            number += 1
        names[row] = f"{pool}-{number}"
        taken.add(names[row])
    return names


def _zones(bins: Bins, choices: dict[int, Choice]) -> dict[int, tuple[str, str]]:
    """Return zone and capacity type of each opened bin."""
    columns = bins.columns
    balance = ZoneBalance()
    for view in bins.nodes.views:
        if view.pool is not None and view.zone is not None:
            balance.add(view.pool, view.zone, view.capacity)
    capacity = {row: columns.type_of(choice.column).capacity for row, choice in choices.items()}
    chosen: dict[int, tuple[str, str]] = {}
    for row in sorted(choices, key=lambda row: (-capacity[row].get(CPU, 0), row)):
        pool = columns.lane_of(choices[row].column).view.pool.key
        open_places = choices[row].places
        zone = balance.emptiest(pool, [columns.zones[at] for at in np.flatnonzero(open_places.any(axis=1))])
        kinds = np.flatnonzero(open_places[columns.zones.index(zone)])
        chosen[row] = zone, columns.capacity_types[kinds[0]]
        balance.add(pool, zone, capacity[row])
    return chosen


def placements(
    views: Sequence[NodeView], pods: Sequence[tuple[Pod, ...]], plans: Sequence[ClaimPlan]
) -> dict[ObjectKey, str]:
    """Return the place of every placed pod; `pods` are those of every bin, nodes first."""
    places = {pod.metadata.key: view.name for view, group in zip(views, pods, strict=False) for pod in group}
    places.update((pod.metadata.key, plan.name) for plan in plans for pod in plan.pods)
    return places
