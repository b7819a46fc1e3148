"""From bins to the answer: which pod goes where, and what each machine to launch is to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey
from karpenter.scheduling.bins import Bins
from karpenter.scheduling.catalog import ATTACHED
from karpenter.scheduling.classes import PodClass
from karpenter.scheduling.settling import Settled
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
    bins: Bins, classes: Sequence[PodClass], settled: Mapping[int, Settled], *, pods: Sequence[tuple[Pod, ...]]
) -> tuple[ClaimPlan, ...]:
    """Return a plan for every opened bin; `pods` are those of every bin, nodes included."""
    names = _names(bins)
    plans: list[ClaimPlan] = []
    for row, machine in settled.items():
        choice = machine.choice
        plans.append(
            ClaimPlan(
                name=names[row],
                pool=bins.columns.lane_of(choice.column).view.pool.key,
                pods=pods[row],
                requirements=choice.requirements,
                instance_types=choice.instance_types,
                instance_type=choice.instance_types[0],
                zone=machine.zone,
                capacity_type=machine.capacity_type,
                price=choice.price,
                requests=_requests(bins, classes, row, column=choice.column),
                expected_price=choice.expected_price,
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


def placements(
    views: Sequence[NodeView], pods: Sequence[tuple[Pod, ...]], plans: Sequence[ClaimPlan]
) -> dict[ObjectKey, str]:
    """Return the place of every placed pod; `pods` are those of every bin, nodes first."""
    places = {pod.metadata.key: view.name for view, group in zip(views, pods, strict=False) for pod in group}
    places.update((pod.metadata.key, plan.name) for plan in plans for pod in plan.pods)
    return places
