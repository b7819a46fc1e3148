"""Which pods of a DaemonSet come and go next: one for each node it belongs on, and a rolling update node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from karpenter.model.core import Node, Pod
from karpenter.model.pods import is_terminal
from karpenter.model.units import UnixSeconds
from karpenter.sim.controllers.amounts import resolve
from karpenter.sim.controllers.daemons import DaemonPlan, belongs, is_current
from karpenter.sim.controllers.podstate import available_at, is_ready
from karpenter.sim.kinds import DaemonSet, DaemonSetStatus


@dataclass(frozen=True, slots=True)
class Changes:
    """What to do next."""

    create: tuple[str, ...] = ()
    """Names of nodes that get a pod."""
    delete: tuple[Pod, ...] = ()
    failed: tuple[Pod, ...] = ()
    """Pods that failed: to be deleted too, so that a new one takes their place, but not over and over at once."""

    @property
    def is_nothing(self) -> bool:
        """Whether each pod is where it belongs."""
        return not self.create and not self.delete and not self.failed


@dataclass(slots=True)
class _Draft:
    create: list[str] = field(default_factory=list)
    delete: list[Pod] = field(default_factory=list)
    failed: list[Pod] = field(default_factory=list)


def next_changes(plan: DaemonPlan, nodes: Sequence[Node], by_node: Mapping[str, Sequence[Pod]]) -> Changes:
    """Return which nodes miss their pod, and which pods are where they do not belong or are one too many."""
    draft = _Draft()
    for node in nodes:
        _look_at(plan, node, by_node.get(node.metadata.name, ()), draft=draft)
    known = {node.metadata.name for node in nodes}
    for name, pods in by_node.items():
        if name not in known:  # tied to a node that is gone; bound ones are left to the pod collector
            draft.delete.extend(pod for pod in pods if not pod.spec.node_name)
    return Changes(tuple(draft.create), tuple(draft.delete), tuple(draft.failed))


def _look_at(plan: DaemonPlan, node: Node, pods: Sequence[Pod], *, draft: _Draft) -> None:
    place = belongs(plan, node)
    staying = [pod for pod in pods if not pod.metadata.is_deleting]
    if not staying:
        if place.should_run and not pods:
            draft.create.append(node.metadata.name)
        return
    if not place.may_stay:
        draft.delete.extend(staying)
        return
    draft.delete.extend(pod for pod in staying if pod.status.phase == "Succeeded")
    draft.failed.extend(pod for pod in staying if pod.status.phase == "Failed")
    running = sorted((pod for pod in staying if not is_terminal(pod)), key=_age)
    draft.delete.extend(running[1:])


def _age(pod: Pod) -> tuple[bool, str, str]:
    # A pod that has its node is worth more than one that still waits; of two such the older one stays.
    return not pod.spec.node_name, pod.metadata.creation_timestamp or "", pod.metadata.name


def outdated(
    daemon_set: DaemonSet,
    plan: DaemonPlan,
    by_node: Mapping[str, Sequence[Pod]],
    *,
    wanted: int,
    now: UnixSeconds,
) -> list[Pod]:
    """Return the pods of an older template to delete now: unavailable ones, and others as far as the strategy allows.

    The DaemonSet's pods must be where they belong; `wanted` is the number of nodes that they belong on.
    """
    strategy = daemon_set.spec.update_strategy
    if strategy.type != "RollingUpdate":
        return []
    limit = strategy.rolling_update.max_unavailable
    allowed = resolve(1 if limit is None else limit, wanted, round_up=True)
    free: list[Pod] = []
    candidates: list[Pod] = []
    for _, pods in sorted(by_node.items()):
        pod = next((one for one in pods if not one.metadata.is_deleting), None)
        is_there = pod is not None and _is_available(daemon_set, pod, now)
        if not is_there:
            allowed -= 1
        if pod is not None and not is_current(pod, plan):
            (candidates if is_there else free).append(pod)
    return free + candidates[: max(0, allowed)]


def _is_available(daemon_set: DaemonSet, pod: Pod, now: UnixSeconds) -> bool:
    moment = available_at(pod, daemon_set.spec.min_ready_seconds)
    return moment is not None and moment <= now


def daemon_set_status(
    daemon_set: DaemonSet,
    plan: DaemonPlan,
    nodes: Sequence[Node],
    *,
    by_node: Mapping[str, Sequence[Pod]],
    now: UnixSeconds,
) -> DaemonSetStatus:
    """Return the status of a DaemonSet as nodes and pods stand."""
    desired = scheduled = misscheduled = ready = available = updated = 0
    for node in nodes:
        pods = sorted((one for one in by_node.get(node.metadata.name, ()) if not is_terminal(one)), key=_age)
        if not belongs(plan, node).should_run:
            misscheduled += bool(pods)
            continue
        desired += 1
        if pods:
            scheduled += 1
            ready += is_ready(pods[0])
            available += _is_available(daemon_set, pods[0], now)
            updated += is_current(pods[0], plan)
    return DaemonSetStatus(
        observed_generation=daemon_set.metadata.generation,
        current_number_scheduled=scheduled,
        desired_number_scheduled=desired,
        number_misscheduled=misscheduled,
        number_ready=ready,
        updated_number_scheduled=updated,
        number_available=available,
        number_unavailable=desired - available,
    )
