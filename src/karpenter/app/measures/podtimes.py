"""How long pods waited: for a decision of ours, for a node, to run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from karpenter.model.core import Pod
from karpenter.model.pods import is_provisionable, is_terminal
from karpenter.model.units import UnixSeconds
from karpenter.runtime.clock import Clock
from karpenter.runtime.instruments import refresh
from karpenter.runtime.kube import WatchEvent
from karpenter.runtime.metrics import Metrics


@dataclass(slots=True)
class _Wait:
    """A pod on its way: what has not happened to it yet is None."""

    name: tuple[str, str]
    created_at: UnixSeconds
    is_bound: bool = False
    seen_at: UnixSeconds | None = None
    """When it was first a pod that we plan for."""
    decided_at: UnixSeconds | None = None
    placed_at: UnixSeconds | None = None


class PodTimes:
    """Follows every pod from its creation until it runs. Pods that ran before we looked say nothing."""

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._waits: dict[str, _Wait] = {}

    def on_pod(self, event: WatchEvent[Pod]) -> None:
        """Take in what happened to a pod."""
        pod = event.object
        if pod is None:
            return
        if event.type == "DELETED" or is_terminal(pod):
            self._waits.pop(pod.metadata.uid, None)
            return
        wait = self._waits.get(pod.metadata.uid) or self._first_sight(pod)
        if wait is None:
            return
        now = self._clock.now()
        if wait.seen_at is None and is_provisionable(pod):
            wait.seen_at = now
        if pod.spec.node_name and not wait.is_bound:
            wait.is_bound = True
            self._metrics.pods_bound_duration_seconds.observe(now - wait.created_at)
            if wait.placed_at is not None:
                self._metrics.pods_provisioning_bound_duration_seconds.observe(now - wait.placed_at)
        if pod.status.phase == "Running":
            self._metrics.pods_startup_duration_seconds.observe(now - wait.created_at)
            if wait.placed_at is not None:
                self._metrics.pods_provisioning_startup_duration_seconds.observe(now - wait.placed_at)
            del self._waits[pod.metadata.uid]

    def _first_sight(self, pod: Pod) -> _Wait | None:
        if pod.status.phase == "Running" or pod.metadata.created_at is None:
            return None
        name = (pod.metadata.name, pod.metadata.namespace)
        wait = _Wait(name, pod.metadata.created_at, is_bound=bool(pod.spec.node_name))
        self._waits[pod.metadata.uid] = wait
        return wait

    def decided(self, placed: Iterable[Pod], refused: Iterable[Pod]) -> None:
        """Note that a plan was made that has a place for some pods and none for others."""
        now = self._clock.now()
        for pods, is_placed in ((placed, True), (refused, False)):
            for pod in pods:
                wait = self._waits.get(pod.metadata.uid)
                if wait is None:
                    continue
                if wait.decided_at is None and wait.seen_at is not None:
                    wait.decided_at = now
                    self._metrics.pods_scheduling_decision_duration_seconds.observe(now - wait.seen_at)
                if is_placed and wait.placed_at is None:
                    wait.placed_at = now

    def publish(self, now: UnixSeconds) -> None:
        """Set the ages of those still on their way."""
        waits = self._waits.values()
        placed = [(wait, now - wait.placed_at) for wait in waits if wait.placed_at is not None]
        metrics = self._metrics
        refresh(metrics.pods_provisioning_unstarted_time_seconds, {wait.name: age for wait, age in placed})
        refresh(
            metrics.pods_provisioning_unbound_time_seconds,
            {wait.name: age for wait, age in placed if not wait.is_bound},
        )
        refresh(
            metrics.pods_provisioning_scheduling_undecided_time_seconds,
            {wait.name: now - wait.seen_at for wait in waits if wait.seen_at is not None and wait.decided_at is None},
        )
