"""Which pending pod was planned onto which place: kept until it is bound there or had its chance.

Without it every new batch would plan the pods of the last one again, onto machines that are still booting, and any
difference between the two plans would cost a machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey, UnixSeconds


@dataclass(frozen=True, slots=True)
class Plan:
    """One pod's place."""

    uid: str
    """Of the pod: another one under its name was not planned."""
    place: str
    """Name of a claim, or of a node."""
    at: UnixSeconds
    """When it was planned."""
    until: UnixSeconds
    """How long the place is kept; one that is not ready for pods yet is kept for as long after it is (S-62)."""
    owner: str | None = None
    """Uid of what controls the pod; its pods can stand for each other."""


class Plans:
    """The plans of all pending pods, by pod and by place."""

    def __init__(self) -> None:
        self._by_pod: dict[ObjectKey, Plan] = {}
        self._by_place: defaultdict[str, set[ObjectKey]] = defaultdict(set)

    def set(self, pod: Pod, plan: Plan) -> None:
        """Plan a pod, or plan it anew."""
        self.drop(pod.metadata.key)
        self._put(pod.metadata.key, plan)

    def _put(self, key: ObjectKey, plan: Plan) -> None:
        self._by_pod[key] = plan
        self._by_place[plan.place].add(key)

    def drop(self, key: ObjectKey) -> str | None:
        """Forget a pod's plan; return the place that it held, None when it had none."""
        plan = self._by_pod.pop(key, None)
        if plan is None:
            return None
        held = self._by_place[plan.place]
        held.discard(key)
        if not held:
            del self._by_place[plan.place]
        return plan.place

    def settle(self, pod: Pod, places: Collection[str]) -> tuple[str, ...]:
        """Forget the plan of a pod that was bound to a node with these names; return the places that this touches.

        Equal pods are bound in any order: when it took the room of another pod of its owner, that one gets its own.
        """
        plan = self.of(pod)
        held = self.drop(pod.metadata.key)
        if plan is None or held is None or held in places:
            return () if held is None else (held,)
        owner = pod.metadata.controller()
        for place in sorted(places):
            for key in self.on(place):
                other = self._by_pod[key]
                if owner is not None and other.owner == owner.uid:
                    self.drop(key)
                    self._put(key, replace(other, place=held, at=plan.at, until=plan.until))
                    return held, place
        return (held,)

    def of(self, pod: Pod) -> Plan | None:
        """Return the plan of this very pod; None when it has none."""
        plan = self._by_pod.get(pod.metadata.key)
        return plan if plan is not None and plan.uid == pod.metadata.uid else None

    def on(self, place: str) -> tuple[ObjectKey, ...]:
        """Return the pods planned onto a place, sorted."""
        return tuple(sorted(self._by_place.get(place, ())))

    def __iter__(self) -> Iterator[tuple[ObjectKey, Plan]]:
        """Yield every pod with its plan, as they are now."""
        return iter(tuple(self._by_pod.items()))
