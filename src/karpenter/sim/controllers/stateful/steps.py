"""What to do next about the pods of a StatefulSet, and its status, from the set and its pods as they are.

Source: kubernetes.io/docs/concepts/workloads/controllers/statefulset, Deployment and Scaling Guarantees, Update
strategies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from karpenter.model.core import Pod
from karpenter.model.pods import is_terminal
from karpenter.model.units import UnixSeconds
from karpenter.sim.controllers.podstate import available_at, is_ready
from karpenter.sim.controllers.stateful.identity import REVISION, ordinal_of, ordinals
from karpenter.sim.kinds import StatefulSet, StatefulSetStatus


@dataclass(frozen=True, slots=True)
class Create:
    """Create the pod with a number, its claims first."""

    ordinal: int


@dataclass(frozen=True, slots=True)
class Mend:
    """Give a pod the labels and claims that it should have, and its claims their owners."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a pod."""

    pod: Pod


Step: TypeAlias = Create | Mend | Delete


@dataclass(frozen=True, slots=True)
class _Outlook:
    """How the pods of a set stand at a moment."""

    stateful_set: StatefulSet
    now: UnixSeconds

    @property
    def is_ordered(self) -> bool:
        """Whether each pod waits for those before it."""
        return self.stateful_set.spec.pod_management_policy != "Parallel"

    def is_available(self, pod: Pod) -> bool:
        """Whether a pod serves, and will go on to."""
        since = available_at(pod, self.stateful_set.spec.min_ready_seconds)
        return _is_running(pod) and since is not None and since <= self.now and not pod.metadata.is_deleting


def next_steps(stateful_set: StatefulSet, pods: Sequence[Pod], *, update: str, now: UnixSeconds) -> tuple[Step, ...]:
    """Return the steps that may be taken at once, in order. `update` is the name of the newest revision.

    One pod after the other, from the first on, unless pods are managed in parallel; scaling down goes from the last one
    back, and replacing pods of older revisions comes when all pods are there and well.
    """
    outlook = _Outlook(stateful_set, now)
    members = {ordinal: pod for pod in pods if (ordinal := ordinal_of(stateful_set, pod)) is not None}
    steps: list[Step] = []
    for ordinal in ordinals(stateful_set):
        pod = members.get(ordinal)
        steps.extend(_bring_up(outlook, ordinal, pod))
        if outlook.is_ordered and (pod is None or not outlook.is_available(pod)):
            return tuple(steps)
    condemned = [pod for ordinal, pod in sorted(members.items(), reverse=True) if ordinal not in ordinals(stateful_set)]
    steps.extend(Mend(pod) for pod in condemned)
    steps.extend(_scale_down(outlook, condemned))
    if not (outlook.is_ordered and condemned):
        steps.extend(_update(outlook, members, update))
    return tuple(steps)


def _bring_up(outlook: _Outlook, ordinal: int, pod: Pod | None) -> Iterator[Step]:
    if pod is None:
        yield Create(ordinal)
    elif is_terminal(pod):
        # However it ended: a machine that was switched off may have let it end well.
        if not pod.metadata.is_deleting:
            yield Delete(pod)
    elif pod.status.phase == "Pending" or outlook.is_available(pod) or not outlook.is_ordered:
        yield Mend(pod)


def _scale_down(outlook: _Outlook, condemned: Sequence[Pod]) -> Iterator[Step]:
    """Yield the deletion of pods that are too many, given from the last to the first."""
    if not outlook.is_ordered:
        yield from (Delete(pod) for pod in condemned if not pod.metadata.is_deleting)
        return
    if not condemned or condemned[0].metadata.is_deleting:
        return
    unwell = [pod for pod in condemned if not outlook.is_available(pod)]
    if not unwell or condemned[0] is unwell[-1] or outlook.is_available(condemned[0]):
        yield Delete(condemned[0])


def _update(outlook: _Outlook, members: Mapping[int, Pod], update: str) -> Iterator[Step]:
    """Yield the deletion of the last pod of an older revision, if those after it are well."""
    strategy = outlook.stateful_set.spec.update_strategy
    if strategy.type != "RollingUpdate":
        return
    for ordinal in reversed(ordinals(outlook.stateful_set)[partition(outlook.stateful_set) :]):
        pod = members.get(ordinal)
        if pod is not None and pod.metadata.labels.get(REVISION) != update and not pod.metadata.is_deleting:
            yield Delete(pod)
            return
        if pod is None or not outlook.is_available(pod):
            return


def partition(stateful_set: StatefulSet) -> int:
    """Return how many of the first pods a rolling update leaves at the revision that they have."""
    rolling = stateful_set.spec.update_strategy.rolling_update
    return rolling.partition if rolling is not None else 0


def stateful_set_status(
    stateful_set: StatefulSet, pods: Sequence[Pod], *, current: str, update: str, now: UnixSeconds
) -> StatefulSetStatus:
    """Return the status of a set; `current` and `update` are names of revisions.

    When every pod is of the newest revision and ready, that one becomes the current one.
    """
    wanted = stateful_set.spec.replicas
    members = [pod for pod in pods if ordinal_of(stateful_set, pod) is not None]
    staying = [pod.metadata.labels.get(REVISION) for pod in members if not pod.metadata.is_deleting]
    ready = [pod for pod in members if _is_running(pod)]
    since = [available_at(pod, stateful_set.spec.min_ready_seconds) for pod in ready]
    replicas, updated = len(members), staying.count(update)
    is_rolling = stateful_set.spec.update_strategy.type == "RollingUpdate"
    if is_rolling and replicas == len(ready) == updated == wanted:
        current = update
    return StatefulSetStatus(
        observed_generation=stateful_set.metadata.generation,
        replicas=replicas,
        ready_replicas=len(ready),
        current_replicas=staying.count(current),
        updated_replicas=updated,
        available_replicas=sum(moment is not None and moment <= now for moment in since),
        current_revision=current,
        update_revision=update,
        collision_count=stateful_set.status.collision_count or 0,
    )


def _is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running" and is_ready(pod)
