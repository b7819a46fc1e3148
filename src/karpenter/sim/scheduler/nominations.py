"""Which pods wait for which node: `status.nominatedNodeName`, written by preemption or by whoever planned a node.

A nominated pod tries its node first, and pods that are no more important leave it room there.

Source: kube-scheduler 1.36, `nominator` and `RunFilterPluginsWithNominatedPods`; KEP-5278.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from karpenter.sim.scheduler.podfacts import PodFacts


@dataclass(frozen=True, slots=True)
class Nomination:
    """One pod that waits for a node."""

    node: str
    facts: PodFacts
    priority: int
    is_written: bool = True
    """False while only we know of it: a pod that does not say so is no contradiction yet."""


class Nominations:
    """The nominations of all pods that have no node yet, by pod and by node."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Nomination] = {}
        self._on: defaultdict[str, dict[str, Nomination]] = defaultdict(dict)
        self.stamp = 0
        """Another number after each change."""

    def set(self, uid: str, nomination: Nomination) -> None:
        """Take in that a pod waits for a node, or for another one than before."""
        if self._by_uid.get(uid) == nomination:
            return
        self.drop(uid)
        self._by_uid[uid] = nomination
        self._on[nomination.node][uid] = nomination
        self.stamp += 1

    def drop(self, uid: str) -> str | None:
        """Forget a pod's nomination and return its node; None when it had none."""
        nomination = self._by_uid.pop(uid, None)
        if nomination is None:
            return None
        there = self._on[nomination.node]
        del there[uid]
        if not there:
            del self._on[nomination.node]
        self.stamp += 1
        return nomination.node

    def node_of(self, uid: str) -> str | None:
        """Return the node that a pod waits for."""
        nomination = self._by_uid.get(uid)
        return nomination.node if nomination is not None else None

    def is_unwritten(self, uid: str) -> bool:
        """Return whether a pod waits for a node and its status has not said so yet."""
        nomination = self._by_uid.get(uid)
        return nomination is not None and not nomination.is_written

    def below(self, priority: int, node: str) -> tuple[str, ...]:
        """Return the pods of lower priority that wait for a node."""
        return tuple(uid for uid, one in self._on.get(node, {}).items() if one.priority < priority)

    def uids(self) -> tuple[str, ...]:
        """Return every pod that waits for a node."""
        return tuple(self._by_uid)

    def before(self, uid: str, priority: int, node: str) -> list[PodFacts]:
        """Return the other pods that wait for a node and that a pod of this priority leaves room for."""
        there = self._on.get(node)
        if not there:
            return []
        return [one.facts for other, one in there.items() if other != uid and one.priority >= priority]
