"""How many replicas each ReplicaSet of a Deployment should have next.

Pure: from the Deployment and its ReplicaSets as they are to the sizes they get; at most one direction a step, as the
real controller goes, so that surge and availability hold at each moment.

Source: kubernetes.io/docs/concepts/workloads/controllers/deployment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from karpenter.sim.controllers.amounts import resolve
from karpenter.sim.kinds import Deployment, ReplicaSet

DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MOST: Final = "deployment.kubernetes.io/max-replicas"
_DEFAULT: Final = "25%"

Sizes: TypeAlias = Mapping[str, int]
"""ReplicaSet name to its new number of replicas; what is not named stays as it is."""


def surge_and_unavailable(deployment: Deployment) -> tuple[int, int]:
    """Return how many pods there may be too many, and how many too few, during a rolling update."""
    spec = deployment.spec
    if spec.strategy.type != "RollingUpdate":
        return 0, 0
    rolling = spec.strategy.rolling_update
    surge = resolve(_DEFAULT if rolling.max_surge is None else rolling.max_surge, spec.replicas, round_up=True)
    unavailable = resolve(
        _DEFAULT if rolling.max_unavailable is None else rolling.max_unavailable, spec.replicas, round_up=False
    )
    if surge == 0 and unavailable == 0:
        unavailable = 1  # otherwise nothing could ever move
    return surge, min(unavailable, spec.replicas)


def most_replicas(deployment: Deployment) -> int:
    """Return how many pods a Deployment may have at once."""
    return deployment.spec.replicas + surge_and_unavailable(deployment)[0]


def first_size(deployment: Deployment, others: Sequence[ReplicaSet]) -> int:
    """Return the size of a ReplicaSet that is about to be created."""
    return _grown(deployment, 0, others)


def _grown(deployment: Deployment, size: int, others: Sequence[ReplicaSet]) -> int:
    wanted = deployment.spec.replicas
    if deployment.spec.strategy.type != "RollingUpdate":
        return wanted
    room = most_replicas(deployment) - size - sum(one.spec.replicas for one in others)
    return size if room <= 0 else size + max(0, min(room, wanted - size))


def next_rolling_sizes(deployment: Deployment, new: ReplicaSet, olds: Sequence[ReplicaSet]) -> Sizes:
    """Return the next step of a rolling update: the new ReplicaSet grows as far as it may, else the old ones shrink."""
    wanted = deployment.spec.replicas
    grown = wanted if new.spec.replicas > wanted else _grown(deployment, new.spec.replicas, olds)
    if grown != new.spec.replicas:
        return {new.metadata.name: grown}
    return _shrunk(deployment, new, sorted(olds, key=_age))


def _shrunk(deployment: Deployment, new: ReplicaSet, olds: Sequence[ReplicaSet]) -> Sizes:
    _, unavailable = surge_and_unavailable(deployment)
    least = deployment.spec.replicas - unavailable
    total = new.spec.replicas + sum(one.spec.replicas for one in olds)
    spare = total - least - (new.spec.replicas - new.status.available_replicas)
    if spare <= 0:
        return {}
    sizes = {one.metadata.name: one.spec.replicas for one in olds}
    for one in olds:  # pods that do not work go first: losing them costs nothing
        broken = min(spare, max(0, one.spec.replicas - one.status.available_replicas))
        sizes[one.metadata.name] -= broken
        spare -= broken
    available = new.status.available_replicas + sum(one.status.available_replicas for one in olds)
    surplus = available - least
    for one in olds:
        taken = max(0, min(surplus, sizes[one.metadata.name]))
        sizes[one.metadata.name] -= taken
        surplus -= taken
    return {
        one.metadata.name: sizes[one.metadata.name] for one in olds if sizes[one.metadata.name] != one.spec.replicas
    }


def next_recreate_sizes(
    deployment: Deployment, new: ReplicaSet | None, olds: Sequence[ReplicaSet], *, old_pods_left: bool
) -> Sizes:
    """Return the next step of a recreation: the old ones go first, the new one comes when their pods are gone."""
    shrinking = {one.metadata.name: 0 for one in olds if one.spec.replicas}
    if shrinking or old_pods_left or new is None:
        return shrinking
    wanted = deployment.spec.replicas
    return {new.metadata.name: wanted} if new.spec.replicas != wanted else {}


def was_scaled(deployment: Deployment, every: Sequence[ReplicaSet]) -> bool:
    """Return whether the Deployment's size was changed since its ReplicaSets were last sized."""
    return any(one.spec.replicas and _noted(one, DESIRED) not in (None, deployment.spec.replicas) for one in every)


def scaled_sizes(deployment: Deployment, new: ReplicaSet | None, olds: Sequence[ReplicaSet]) -> Sizes:
    """Return the sizes after the Deployment's own size changed: each grows or shrinks in proportion.

    In the middle of a rollout the larger ReplicaSets take more of the change, so that the risk of the new revision
    stays what it was.
    """
    every = [*olds, *((new,) if new is not None else ())]
    active = [one for one in every if one.spec.replicas]
    wanted = deployment.spec.replicas
    if len(active) <= 1:
        only = active[0] if active else new
        return {} if only is None or only.spec.replicas == wanted else {only.metadata.name: wanted}
    if new is not None and _is_saturated(deployment, new):
        return {one.metadata.name: 0 for one in olds if one.spec.replicas}
    if deployment.spec.strategy.type != "RollingUpdate":
        return {}
    return _proportional(deployment, active)


def _is_saturated(deployment: Deployment, new: ReplicaSet) -> bool:
    wanted = deployment.spec.replicas
    return new.spec.replicas == wanted == _noted(new, DESIRED) and new.status.available_replicas == wanted


def _proportional(deployment: Deployment, active: Sequence[ReplicaSet]) -> Sizes:
    allowed = most_replicas(deployment) if deployment.spec.replicas else 0
    change = allowed - sum(one.spec.replicas for one in active)
    # Growing favours the newer of two equally large ones, shrinking gives up the older one first.
    newest_first = sorted(active, key=_age, reverse=change > 0)
    ordered = sorted(newest_first, key=lambda one: -one.spec.replicas)
    sizes, done = {}, 0
    for one in ordered:
        share = _share(deployment, one, change - done)
        sizes[one.metadata.name] = one.spec.replicas + share
        done += share
    first = ordered[0].metadata.name
    sizes[first] = max(0, sizes[first] + change - done)
    return {one.metadata.name: sizes[one.metadata.name] for one in ordered}


def _share(deployment: Deployment, one: ReplicaSet, left: int) -> int:
    if left == 0:
        return 0
    if deployment.spec.replicas == 0:
        return max(-one.spec.replicas, left)
    before = _noted(one, MOST) or deployment.status.replicas or most_replicas(deployment)
    share = int(one.spec.replicas * most_replicas(deployment) / before + 0.5) - one.spec.replicas
    return min(share, left) if left > 0 else max(share, left)


def _noted(one: ReplicaSet, key: str) -> int | None:
    text = one.metadata.annotations.get(key, "")
    return int(text) if text.isdecimal() else None


def _age(one: ReplicaSet) -> tuple[str, str]:
    return one.metadata.creation_timestamp or "", one.metadata.name
