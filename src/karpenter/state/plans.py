"""Which pending pod was planned onto which place: kept until it is bound there or had its chance.

Without it every new batch would plan the pods of the last one again, onto machines that are still booting, and any
difference between the two plans would cost a machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

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


class Plans:
    """The plans of all pending pods, by pod and by place."""

    def __init__(self) -> None:
        self._by_pod: dict[ObjectKey, Plan] = {}
        self._by_place: defaultdict[str, set[ObjectKey]] = defaultdict(set)

    def set(self, pod: Pod, plan: Plan) -> None:
        """Plan a pod, or plan it anew."""
        key = pod.metadata.key
        self.drop(key)
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
