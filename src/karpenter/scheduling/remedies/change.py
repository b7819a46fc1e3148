"""Changes that could help, as data for readers and as functions of the world they are tried in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal, TypeAlias

import msgspec

from karpenter.model.core import Pod, PodSpec
from karpenter.model.nodepool import NodePool
from karpenter.model.units import PoolKey
from karpenter.scheduling.policy import Options
from karpenter.scheduling.snapshot import Snapshot
from karpenter.scheduling.solution import Solution

Target: TypeAlias = Literal["pool", "pod", "settings"]


@dataclass(frozen=True, slots=True)
class Change:
    """One change to one object."""

    target: Target
    code: str
    """Stable, CamelCase: `AllowValue`, `AddLabel`, `RaiseLimit`, `Tolerate`, `LowerRequest` …"""
    subject: str
    """The label key, resource, taint or port that it is about."""
    before: str
    after: str
    """What is said now, and what would be; empty for nothing."""
    message: str
    """What to do, in words."""
    pool: PoolKey | None = None
    """Which pool to change; None for pods and settings."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """Changes that let pods be placed, as solving again with them has shown."""

    changes: tuple[Change, ...]
    """Mostly one; two when none alone would do; none when planning once more is enough."""
    placed: int
    """How many of the pods find a place then."""
    nodes: tuple[str, ...]
    """Existing nodes and planned ones that pods go to then, by name."""
    machines: tuple[tuple[str, int], ...]
    """Instance types that would be launched for them, with their numbers, by name."""
    price: float
    """USD per hour of these machines."""

    @property
    def message(self) -> str:
        """What to do, in words."""
        return ", and ".join(change.message for change in self.changes) or "wait: the next plan has a place for it"


@dataclass(frozen=True, slots=True)
class World:
    """What a change is tried on: the cluster, the pods that find no place in it, and how plans are made."""

    snapshot: Snapshot
    pods: tuple[Pod, ...]
    options: Options

    def with_pool(self, key: PoolKey, change: Callable[[NodePool], NodePool]) -> World:
        """Return the world with one pool changed."""
        pools = tuple(
            replace(view, pool=change(view.pool)) if view.pool.key == key else view for view in self.snapshot.pools
        )
        return replace(self, snapshot=replace(self.snapshot, pools=pools))

    def with_pods(self, change: Callable[[Pod], PodSpec]) -> World:
        """Return the world with other specs for the pods, all changed in the same way."""
        pods = tuple(msgspec.structs.replace(pod, spec=change(pod)) for pod in self.pods)
        return replace(self, pods=pods)

    def with_workload(self, change: Callable[[Pod], PodSpec]) -> World:
        """Return the world with the pods changed, and those that their controllers have on nodes already."""
        owners = {_owner(pod) for pod in self.pods} - {None}

        def changed(pod: Pod) -> Pod:
            return msgspec.structs.replace(pod, spec=change(pod)) if _owner(pod) in owners else pod

        nodes = tuple(
            replace(view, pods=tuple(map(changed, view.pods)))
            if any(_owner(pod) in owners for pod in view.pods)
            else view
            for view in self.snapshot.nodes
        )
        return replace(self.with_pods(change), snapshot=replace(self.snapshot, nodes=nodes))

    def with_options(self, options: Options) -> World:
        """Return the world with plans made in another way."""
        return replace(self, options=options)


def _owner(pod: Pod) -> tuple[str, str, str] | None:
    """Return namespace, kind and name of the controller that makes the pod; None for a bare one."""
    owner = pod.metadata.controller()
    return None if owner is None else (pod.metadata.namespace, owner.kind, owner.name)


class Rank(IntEnum):
    """How much a change asks of people; smaller ones are tried first."""

    SLIP = 0
    """Mending what looks like a spelling mistake."""
    PERMISSION = 1
    """Letting a pod go where it could: a toleration."""
    POOL = 2
    """Letting a pool do more, without taking anything from anybody."""
    POD = 3
    """Letting a pod demand less of its place."""
    SIZE = 4
    """Giving a pod less."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A change that might help."""

    change: Change
    rank: Rank
    apply: Callable[[World], World]


Proposal: TypeAlias = tuple[Candidate, ...]
"""Changes to be made together."""


def remedy_of(proposal: Proposal, solution: Solution) -> Remedy:
    """Return what a proposal achieves, as the solution of the changed world shows."""
    planned = {plan.name for plan in solution.new_claims}
    return Remedy(
        changes=tuple(candidate.change for candidate in proposal),
        placed=len(solution.placements),
        nodes=tuple(sorted(set(solution.placements.values()) - planned)),
        machines=tuple(sorted(Counter(plan.instance_type for plan in solution.new_claims).items())),
        price=solution.price,
    )
