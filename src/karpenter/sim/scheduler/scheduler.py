"""The loop: watches pods and nodes, takes the next pod, chooses, binds, and says why when it cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from random import Random
from typing import Final

from karpenter.model import core
from karpenter.model.core import Pod
from karpenter.model.pods import is_terminal
from karpenter.model.taints import Taint
from karpenter.model.units import ObjectKey, UnixSeconds
from karpenter.runtime import logs
from karpenter.runtime.kube import Conflict, KubeError, NotFound, WatchEvent
from karpenter.sim.scheduler.diagnosis import Unschedulable
from karpenter.sim.scheduler.hints import SPREAD, concerns
from karpenter.sim.scheduler.nodeinfo import ClusterCache, NodeInfo
from karpenter.sim.scheduler.nominations import Nomination, Nominations
from karpenter.sim.scheduler.podfacts import FactsBook, PodFacts
from karpenter.sim.scheduler.preemption import Candidate
from karpenter.sim.scheduler.queue import ANY_NUMBER, Helped, QueuedPod, SchedulingQueue
from karpenter.sim.scheduler.selection import NodeSelection, Placement
from karpenter.sim.scheduler.surroundings import ClusterSurroundings
from karpenter.sim.scheduler.writes import SCHEDULER_NAME, PodWrites
from karpenter.sim.standins import Context

_PODS_AT_A_STRETCH: Final = 16
"""After so many decisions the loop lets others run."""

log = logs.get("sim.scheduler")


class Scheduler:
    """Binds pods that ask for `default-scheduler`, one decision after the other, writes in parallel."""

    name = "kube-scheduler"

    def __init__(self, context: Context, *, seed: int = 0) -> None:
        self._clock = context.clock
        self._informers = context.informers
        self._writes = PodWrites(context)
        self._book = FactsBook()
        self._cache = ClusterCache()
        self._nominations = Nominations()
        self._queue = SchedulingQueue()
        self._surroundings = ClusterSurroundings(context.informers, changed=self._surroundings_changed)
        self._selection = NodeSelection(self._cache, self._nominations, self._surroundings, draw=Random(seed))
        self._work = asyncio.Event()
        self._making_room: dict[str, bool] = {}
        """Pods for which others are told to go just now, and whether they were to be tried again meanwhile."""
        self._gated: dict[str, ObjectKey] = {}
        """Pods whose gates are still to be written about."""

    async def run(self) -> None:
        """Schedule until cancelled."""
        await self._informers.wait_synced()
        self._surroundings.observe()
        self._informers.nodes.subscribe(self._node_changed)
        self._informers.pods.subscribe(self._pod_changed)
        async with asyncio.TaskGroup() as group:
            while True:
                self._report_gated(group)
                await self._schedule_all_due(group)
                await self._wait_for_work()

    async def _schedule_all_due(self, group: asyncio.TaskGroup) -> None:
        decisions = 0
        while (pod := self._queue.pop(self._clock.now())) is not None:
            self._schedule(pod, group)
            decisions += 1
            if decisions % _PODS_AT_A_STRETCH == 0:
                await self._clock.sleep(0)

    async def _wait_for_work(self) -> None:
        due = self._queue.next_due()
        try:
            async with asyncio.timeout(None if due is None else max(0.0, due - self._clock.now())):
                await self._work.wait()
        except TimeoutError:
            return
        self._work.clear()

    def _schedule(self, pod: QueuedPod, group: asyncio.TaskGroup) -> None:
        if pod.uid in self._making_room:
            self._making_room[pod.uid] = True
            self._queue.give_up(pod, pod.plugins, self._clock.now())
            return
        found = self._selection.place(pod.facts, uid=pod.uid, priority=pod.priority)
        if isinstance(found, Unschedulable):
            self._queue.give_up(pod, found.plugins, self._clock.now())
            if found.makes_room is not None:
                self._make_room(pod, found.makes_room, group, message=found.message)
            else:
                self._refuse(pod, found, group)
        else:
            self._nominations.drop(pod.uid)
            self._cache.assume(pod.uid, pod.facts, found.node, priority=pod.priority, name=pod.key.name)
            self._writes.start(pod.uid, self._bind(pod, found), group)

    def _refuse(self, pod: QueuedPod, verdict: Unschedulable, group: asyncio.TaskGroup) -> None:
        node = None if verdict.keeps_nomination else self._nominations.drop(pod.uid)
        nominates = None if node is None else ""
        said = self._writes.say_unschedulable(pod.key, pod.uid, verdict.message, nominates=nominates)
        self._writes.start(pod.uid, said, group)
        if node is not None:
            self._wake_for_node(node)

    def _make_room(self, pod: QueuedPod, chosen: Candidate, group: asyncio.TaskGroup, *, message: str) -> None:
        """Nominate a pod for a node and let others leave it; those less important that wait for the node look anew."""
        self._nominations.set(pod.uid, Nomination(chosen.node, pod.facts, pod.priority, is_written=False))
        for uid in self._nominations.below(pod.priority, chosen.node):
            self._nominations.drop(uid)
            if (other := self._queue.get(uid)) is not None:
                self._writes.start(uid, self._writes.withdraw(other.key, uid), group)
                self._queue.wake_these((uid,), self._clock.now())
        said = self._writes.say_unschedulable(pod.key, pod.uid, message, nominates=chosen.node)
        self._writes.start(pod.uid, said, group)
        self._making_room[pod.uid] = False
        group.create_task(self._displace(pod, chosen))

    async def _displace(self, pod: QueuedPod, chosen: Candidate) -> None:
        try:
            await self._writes.displace(chosen, by=pod.uid)
        except KubeError as error:
            log.warning("cannot make room, trying again", pod=str(pod.key), node=chosen.node, error=error)
            self._making_room[pod.uid] = True
        if self._making_room.pop(pod.uid):
            self._queue.wake_these((pod.uid,), self._clock.now())
            self._work.set()

    async def _bind(self, pod: QueuedPod, placement: Placement) -> None:
        namespace, name = pod.key
        try:
            await self._writes.bind(pod.key, pod.uid, placement)
        except (NotFound, Conflict) as error:
            log.debug("pod is gone or has a node already", namespace=namespace, name=name, error=error)
            self._take_back(pod)
        except (KubeError, TimeoutError) as error:
            log.warning("binding failed, trying again", namespace=namespace, name=name, error=error)
            self._take_back(pod)
            self._queue.retry(pod, self._clock.now())
            await self._writes.withdraw(pod.key, pod.uid)
            self._work.set()

    def _take_back(self, pod: QueuedPod) -> None:
        if self._cache.is_assumed(pod.uid):
            self._free(pod.uid, pod.facts)

    def _report_gated(self, group: asyncio.TaskGroup) -> None:
        for uid, key in self._gated.items():
            self._writes.start(uid, self._writes.say_gated(key, uid), group)
        self._gated.clear()

    # what changed -----------------------------------------------------------------------------------------------------

    def _node_changed(self, event: WatchEvent[core.Node]) -> None:
        node = event.object
        assert node is not None
        name = node.metadata.name
        if event.type == "DELETED":
            self._cache.remove_node(name)
            self._wake(lambda _, rejected_by: ANY_NUMBER if SPREAD in rejected_by else 0)
            return
        known = self._cache.node(name)
        before = (known.taints, known.allocatable) if known is not None else None
        if self._cache.set_node(node):
            self._wake_for_node(name)
            if before is None or _takes_more(self._cache.node(name), *before):
                self._queue.wake_these(self._nominations.uids(), self._clock.now())

    def _pod_changed(self, event: WatchEvent[Pod]) -> None:
        pod = event.object
        assert pod is not None
        uid = pod.metadata.uid
        if event.type == "DELETED" or is_terminal(pod):
            self._queue.remove(uid)
            self._withdraw(uid)
            self._free(uid, self._book.of(pod))
        elif pod.spec.node_name:
            self._take_bound(pod)
        elif pod.spec.scheduler_name == SCHEDULER_NAME and not self._cache.is_assumed(uid):
            self._take_pending(pod)

    def _take_bound(self, pod: Pod) -> None:
        uid, facts = pod.metadata.uid, self._book.of(pod)
        stamp, is_news = self._cache.stamp, self._cache.is_assumed(uid)
        self._queue.remove(uid)
        self._withdraw(uid)
        self._cache.set_pod(
            uid,
            facts,
            pod.spec.node_name,
            priority=self._priority(facts),
            is_terminating=pod.metadata.is_deleting,
            name=pod.metadata.name,
        )
        if is_news or self._cache.stamp != stamp:
            self._wake(lambda waiting, rejected_by: self._concerned(waiting, rejected_by, facts))

    def _free(self, uid: str, facts: PodFacts) -> None:
        node = self._cache.remove_pod(uid)
        if node is not None:
            self._wake_for_node(node)
            self._wake(lambda waiting, rejected_by: self._concerned(waiting, rejected_by, facts))

    def _concerned(self, waiting: PodFacts, rejected_by: frozenset[str], other: PodFacts) -> int:
        lookup = self._surroundings.namespace_labels
        return ANY_NUMBER if concerns(waiting, rejected_by, other, namespace_labels=lookup) else 0

    def _take_pending(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if pod.metadata.is_deleting:
            self._queue.remove(uid)
            self._withdraw(uid)
            return
        facts = self._book.of(pod)
        if facts.gates:
            self._queue.remove(uid)
            self._gated[uid] = pod.metadata.key
            self._work.set()
            return
        self._follow_nomination(uid, pod.status.nominated_node_name, facts)
        created = pod.metadata.created_at or UnixSeconds(0.0)
        self._queue.put(QueuedPod(uid, pod.metadata.key, facts, self._priority(facts), created), self._clock.now())
        self._work.set()

    def _follow_nomination(self, uid: str, node: str, facts: PodFacts) -> None:
        if not node and self._nominations.is_unwritten(uid):
            return
        if self._nominations.node_of(uid) not in (None, node):
            self._withdraw(uid)
        if node:
            self._nominations.set(uid, Nomination(node, facts, self._priority(facts)))

    def _withdraw(self, uid: str) -> None:
        """Forget what a pod waits for; others may have that room."""
        node = self._nominations.drop(uid)
        if node is not None:
            self._wake_for_node(node)

    def _priority(self, facts: PodFacts) -> int:
        # Admission writes the number into the pod; where nobody admitted it, its class still says it.
        if facts.priority is not None:
            return facts.priority
        found = self._informers.priority_classes.get(ObjectKey("", facts.priority_class))
        return found.value if found is not None else 0

    def _surroundings_changed(self, plugins: frozenset[str]) -> None:
        self._writes.claims_changed()
        if plugins:
            self._wake(lambda _, rejected_by: ANY_NUMBER if rejected_by & plugins else 0)

    def _wake_for_node(self, name: str) -> None:
        # A node may bring a domain of its own, which changes what spread says about all the others.
        self._wake(
            lambda facts, rejected_by: ANY_NUMBER if SPREAD in rejected_by else self._selection.room_for(facts, name)
        )

    def _wake(self, helped: Helped) -> None:
        self._queue.wake(self._clock.now(), helped=helped)
        self._work.set()


def _takes_more(node: NodeInfo | None, taints: Collection[Taint], allocatable: Mapping[str, int]) -> bool:
    """Return whether a changed node may take pods that it did not take before: a taint went, or there is more of it."""
    if node is None:
        return False
    return any(taint not in node.taints for taint in taints) or any(
        amount > allocatable.get(name, 0) for name, amount in node.allocatable.items()
    )
