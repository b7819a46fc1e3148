"""Evicts pods through the eviction API, one at a time each, with back-off while a budget says no.

Source: spec v1 T-7, spec v1alpha5 LIF-34.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from karpenter.lifecycle.surge import Surge, Surging, surging
from karpenter.model.core import Pod
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.events import EventRecorder, ObjectRef
from karpenter.runtime.kube import Conflict, KubeClient, KubeError, NotFound
from karpenter.runtime.metrics import Metrics
from karpenter.runtime.queue import WorkQueue

log = logs.get("eviction-queue")

WORKERS: Final = 10
FIRST_RETRY_S: Final = 0.1
LONGEST_RETRY_S: Final = 10.0


class Eviction(NamedTuple):
    """A pod to evict, by identity: a pod created later under the same name is another one."""

    namespace: str
    name: str
    uid: str
    node: str
    surging: Surging | None = None
    """Set when another pod is to be ready first."""


class EvictionQueue:
    """Pods waiting to be evicted; adding one twice is harmless."""

    name = "eviction-queue"

    def __init__(
        self,
        client: KubeClient,
        recorder: EventRecorder,
        *,
        is_wanted: Callable[[str], bool],
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        """`is_wanted` says whether the node of this name is drained now; an eviction from another one is dropped."""
        self._client = client
        self._is_wanted = is_wanted
        self._recorder = recorder
        self._metrics = metrics
        self._queue: WorkQueue[Eviction] = WorkQueue(clock, base_delay_s=FIRST_RETRY_S, max_delay_s=LONGEST_RETRY_S)
        self._surge = Surge(client)
        self._waiting: set[Eviction] = set()

    def add(self, pod: Pod, node: str) -> None:
        """Evict the pod as soon as its budgets allow."""
        eviction = Eviction(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid, node, surging(pod))
        if eviction not in self._waiting:
            self._waiting.add(eviction)
            self._queue.add(eviction)

    async def run(self) -> None:
        """Evict until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(WORKERS):
                    group.create_task(self._work())
        finally:
            self._queue.close()

    async def _work(self) -> None:
        while True:
            eviction = await self._queue.get()
            try:
                if await self._evict(eviction):
                    self._queue.forget(eviction)
                    self._waiting.discard(eviction)
                else:
                    self._queue.add_rate_limited(eviction)
            finally:
                self._queue.done(eviction)

    async def _evict(self, eviction: Eviction) -> bool:
        """Ask once; return whether that is settled: accepted, gone, another pod by now, or not wanted any more."""
        if not self._is_wanted(eviction.node):
            return True
        pod = ObjectRef("v1", "Pod", eviction.name, eviction.namespace, uid=eviction.uid)
        try:
            if eviction.surging is not None and await self._surge.holds(eviction.surging):
                text = "its Deployment is rolled over, it ends when the new pod is ready"
                self._recorder.record(pod, "Normal", "AwaitingSuccessor", text)
                return False
            await self._client.evict(eviction.name, namespace=eviction.namespace, uid=eviction.uid)
        except (NotFound, Conflict) as error:
            self._count(error.status)
            return True
        except KubeError as error:
            self._count(error.status)
            # 429: a budget says not now. 500: two budgets select the pod, which the API refuses to judge.
            node = ObjectRef("v1", "Node", eviction.node)
            text = f"evicting pod {eviction.namespace}/{eviction.name} failed: {error.message}"
            self._recorder.record(node, "Warning", "FailedDraining", text)
            log.debug("eviction refused", pod=eviction.name, namespace=eviction.namespace, error=error)
            return False
        self._count(201)
        self._metrics.pods_drained_total.labels(reason="evicted").inc()
        self._recorder.record(pod, "Normal", "Evicted", "evicted pod, its node is being removed")
        return True

    def _count(self, code: int) -> None:
        self._metrics.pods_eviction_requests_total.labels(code=str(code)).inc()
