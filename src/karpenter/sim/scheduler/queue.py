"""Which pod is next: by priority, then age. Pods that found no node wait for a change that could help, or five minutes.

Kept free of clocks and tasks: every method is told what time it is.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias

from karpenter.model.units import ObjectKey
from karpenter.sim.scheduler.podfacts import PodFacts

FIRST_BACKOFF_S: Final = 1.0
LONGEST_BACKOFF_S: Final = 10.0
LONGEST_WAIT_S: Final = 300.0
"""After so long without a helpful event a pod is tried again anyway."""


class _Place(Enum):
    ACTIVE = auto()
    BACKOFF = auto()
    FAILED = auto()
    WAITING = auto()


@dataclass(slots=True)
class QueuedPod:
    """A pod without a node."""

    uid: str
    key: ObjectKey
    facts: PodFacts
    priority: int
    created: float
    """Seconds since the epoch; the older of two equally important pods goes first."""
    attempts: int = 0
    plugins: frozenset[str] = field(default_factory=frozenset)
    """The filters that rejected it last."""
    since: float = 0.0
    """When it was last tried."""

    @property
    def rank(self) -> tuple[int, float, str]:
        """What pods are ordered by."""
        return (-self.priority, self.created, self.uid)

    @property
    def backoff_ends(self) -> float:
        """When it may be tried again while others are waiting."""
        if not self.attempts:
            return self.since
        return self.since + min(FIRST_BACKOFF_S * 2.0 ** min(self.attempts - 1, 16), LONGEST_BACKOFF_S)


ANY_NUMBER: Final = 1_000_000
Helped: TypeAlias = Callable[[PodFacts, frozenset[str]], int]
"""How many pods of a kind, which these filters rejected, a change may help."""


class SchedulingQueue:
    """Pods to be tried now, pods that back off, and pods for which nothing has changed since they failed."""

    def __init__(self) -> None:
        self._pods: dict[str, QueuedPod] = {}
        self._places: dict[str, _Place] = {}
        self._active: list[tuple[tuple[int, float, str], str]] = []
        self._backoff: list[tuple[float, str]] = []
        self._failed: list[tuple[float, str]] = []
        self._waiting: dict[str, None] = {}  # oldest failure first
        self._kinds: dict[tuple[PodFacts, frozenset[str]], set[str]] = {}  # the same pods by what may help them

    def __len__(self) -> int:
        """Return how many pods are in the queue, wherever."""
        return len(self._pods)

    def put(self, pod: QueuedPod, now: float) -> None:
        """Take in a new pod, or a known one whose wishes changed; a mere repetition changes nothing."""
        known = self._pods.get(pod.uid)
        if known is not None:
            if known.facts is pod.facts and known.priority == pod.priority:
                return
            self.remove(pod.uid)
            pod.attempts, pod.since = known.attempts, known.since
        self._pods[pod.uid] = pod
        self._activate(pod, now)

    def get(self, uid: str) -> QueuedPod | None:
        """Return a pod that is in the queue; None for any other."""
        return self._pods.get(uid)

    def remove(self, uid: str) -> None:
        """Forget a pod: it is gone, or has a node."""
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self._stop_waiting(pod)
            del self._places[uid]

    def pop(self, now: float) -> QueuedPod | None:
        """Return the next pod to try and forget it; None when none is due.

        With nothing else to do, pods that back off do not have to: their wait only makes room for others. Pods whose
        binding failed do wait.
        """
        self._wake_due(now)
        uid = self._pop_active() or self._pop_backoff()
        if uid is None:
            return None
        del self._places[uid]
        return self._pods.pop(uid)

    def give_up(self, pod: QueuedPod, plugins: frozenset[str], now: float) -> None:
        """Put back a pod that no node takes: it waits for an event."""
        pod.attempts += 1
        pod.plugins, pod.since = plugins, now
        self._pods[pod.uid] = pod
        self._places[pod.uid] = _Place.WAITING
        self._waiting[pod.uid] = None
        self._kinds.setdefault((pod.facts, plugins), set()).add(pod.uid)

    def retry(self, pod: QueuedPod, now: float) -> None:
        """Put back a pod whose binding failed: it is tried again after its back-off."""
        pod.attempts += 1
        pod.since = now
        self._pods[pod.uid] = pod
        self._places[pod.uid] = _Place.FAILED
        heapq.heappush(self._failed, (pod.backoff_ends, pod.uid))

    def wake(self, now: float, *, helped: Helped) -> None:
        """Something changed in the cluster: let those waiting pods be tried again whom it may have helped."""
        for (facts, plugins), uids in tuple(self._kinds.items()):
            number = helped(facts, plugins)
            if number > 0:
                for pod in heapq.nsmallest(number, (self._pods[uid] for uid in uids), key=lambda pod: pod.rank):
                    self._activate(pod, now)

    def wake_these(self, uids: Iterable[str], now: float) -> None:
        """Let these pods be tried again, those of them that wait."""
        for uid in uids:
            if self._places.get(uid) is _Place.WAITING:
                self._activate(self._pods[uid], now)

    def next_due(self) -> float | None:
        """Return when `pop` has something to give at the latest without any event; None when never."""
        if self._active or self._backoff:
            return 0.0
        due = [self._failed[0][0]] if self._failed else []
        if self._waiting:
            due.append(self._pods[next(iter(self._waiting))].since + LONGEST_WAIT_S)
        return min(due, default=None)

    def _activate(self, pod: QueuedPod, now: float) -> None:
        self._stop_waiting(pod)
        if pod.backoff_ends <= now:
            self._make_active(pod)
        else:
            self._places[pod.uid] = _Place.BACKOFF
            heapq.heappush(self._backoff, (pod.backoff_ends, pod.uid))

    def _make_active(self, pod: QueuedPod) -> None:
        self._places[pod.uid] = _Place.ACTIVE
        heapq.heappush(self._active, (pod.rank, pod.uid))

    def _stop_waiting(self, pod: QueuedPod) -> None:
        if self._places.get(pod.uid) is not _Place.WAITING:
            return
        del self._waiting[pod.uid]
        kind = (pod.facts, pod.plugins)
        self._kinds[kind].discard(pod.uid)
        if not self._kinds[kind]:
            del self._kinds[kind]

    def _wake_due(self, now: float) -> None:
        for heap, place in ((self._backoff, _Place.BACKOFF), (self._failed, _Place.FAILED)):
            while heap and heap[0][0] <= now:
                _, uid = heapq.heappop(heap)
                if self._places.get(uid) is place:
                    self._make_active(self._pods[uid])
        while self._waiting:
            oldest = self._pods[next(iter(self._waiting))]
            if now - oldest.since < LONGEST_WAIT_S:
                break
            self._activate(oldest, now)

    def _pop_active(self) -> str | None:
        while self._active:
            rank, uid = heapq.heappop(self._active)
            if self._places.get(uid) is _Place.ACTIVE and self._pods[uid].rank == rank:
                return uid
        return None

    def _pop_backoff(self) -> str | None:
        while self._backoff:
            _, uid = heapq.heappop(self._backoff)
            if self._places.get(uid) is _Place.BACKOFF:
                return uid
        return None
