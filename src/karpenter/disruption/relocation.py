"""Where the pods of leaving nodes would go. Pure. Source: spec v1 D-13, spec v1alpha5 DEP-53."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from karpenter.model.core import Pod
from karpenter.model.pods import is_reschedulable
from karpenter.model.units import ObjectKey
from karpenter.scheduling import Demand, Options, StopCheck, never
from karpenter.scheduling.snapshot import Snapshot
from karpenter.scheduling.solution import ClaimPlan, Unschedulable
from karpenter.scheduling.solver import solve_without_bound


@dataclass(frozen=True, slots=True)
class Relocation:
    """Places for the pods of some nodes once these are gone."""

    replacements: tuple[ClaimPlan, ...] = ()
    """Machines to launch for them; pods that were pending anyway may ride along."""
    placements: Mapping[ObjectKey, str] = field(default_factory=dict)
    """Where each of the nodes' pods goes: a node, a claim in flight, or (by plan name) a replacement."""
    stranded: tuple[Unschedulable, ...] = ()
    """Those of the nodes' pods that fit nowhere."""
    complete: bool = True
    """False when the search was stopped before every pod had been looked at."""

    @property
    def is_possible(self) -> bool:
        """Whether every pod has a place."""
        return self.complete and not self.stranded

    @property
    def price(self) -> float:
        """USD per hour of the machines to launch, at their planned offerings."""
        return sum(plan.price for plan in self.replacements)


def relocate(snapshot: Snapshot, nodes: frozenset[str], options: Options, *, stop: StopCheck = never) -> Relocation:
    """Return where the pods of these nodes would go, beside everything that waits for a node already.

    Pods that are pending anyway take their share of the room, but it is no obstacle that they fit nowhere: they did
    not before (case PENDING-BLOCK).
    """
    ours = pods_to_move(snapshot, nodes)
    keys = {pod.metadata.key for pod in ours}
    waiting = [pod for pod in snapshot.pending if pod.metadata.key not in keys]
    solution = solve_without_bound(snapshot.without(nodes), Demand.each([*ours, *waiting]), options, stop=stop)
    plans = {plan.name: plan for plan in solution.new_claims}
    placements = {key: place for key, place in solution.placements.items() if key in keys}
    places = set(placements.values())
    return Relocation(
        replacements=tuple(plan for name, plan in plans.items() if name in places),
        placements=placements,
        stranded=tuple(one for one in solution.unschedulable if one.pod.metadata.key in keys),
        complete=solution.complete,
    )


def places_now(snapshot: Snapshot, pods: Iterable[Pod], options: Options) -> dict[ObjectKey, str]:
    """Return where the pods would find a place on nodes that are ready for them; nothing is launched.

    Room that is kept for one of them is its place. Everybody else who waits for a node takes a share of the rest.
    """
    ours = {pod.metadata.key: pod for pod in pods}
    ready = tuple(view for view in snapshot.nodes if view.is_initialized and not view.is_deleting)
    kept = {pod.metadata.key: view.name for view in ready for pod in view.pods if pod.metadata.key in ours}
    homeless = [pod for key, pod in ours.items() if key not in kept]
    if not homeless:
        return kept
    waiting = [pod for pod in snapshot.pending if pod.metadata.key not in ours]
    demand = Demand((*homeless, *waiting), "check-only")
    solution = solve_without_bound(replace(snapshot, nodes=ready, pools=()), demand, options)
    return kept | {key: place for key, place in solution.placements.items() if key in ours}


def pods_to_move(snapshot: Snapshot, nodes: frozenset[str]) -> tuple[Pod, ...]:
    """Return the pods of these nodes that have to find another one, by node and name."""
    leaving = (view for view in snapshot.nodes if view.name in nodes)
    return tuple(pod for view in leaving for pod in view.pods if is_reschedulable(pod))
