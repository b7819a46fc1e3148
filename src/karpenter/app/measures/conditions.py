"""Conditions and terminations of our objects, in the families of the library that Karpenter is built with.

Their names have the kind in them and no `karpenter_` before, so they are made here, one set for each kind. Source: spec
v1 §5.3 (`operator_*`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from prometheus_client import Counter, Gauge, Histogram

from karpenter.model.core import Node
from karpenter.model.envelope import read_conditions
from karpenter.model.meta import Condition
from karpenter.model.units import UnixSeconds, from_rfc3339
from karpenter.runtime.clock import Clock
from karpenter.runtime.instruments import FEW_DURATION_BUCKETS, refresh
from karpenter.runtime.kube import RawObject, WatchEvent
from karpenter.runtime.metrics import Metrics

Kind = Literal["nodeclaim", "nodepool", "node", "ec2nodeclass"]
KINDS: Final[tuple[Kind, ...]] = ("nodeclaim", "nodepool", "node", "ec2nodeclass")

_OBJECT: Final = ("namespace", "name")
_STATUS: Final = ("type", "status", "reason")


@dataclass(frozen=True, slots=True)
class _Seen:
    """An object as it was when we last heard of it."""

    name: str
    conditions: tuple[Condition, ...]
    deleted_at: UnixSeconds | None


@dataclass(slots=True)
class _Family:
    """The metrics of one kind."""

    count: Gauge
    current: Gauge
    transitions: Counter
    durations: Histogram
    terminating: Gauge
    terminations: Histogram
    seen: dict[str, _Seen] = field(default_factory=dict)
    """By uid."""


class Conditions:
    """Follows the conditions of claims, pools, nodes and node classes."""

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._clock = clock
        self._families = {kind: _family(kind, metrics) for kind in KINDS}

    def on_object(self, kind: Kind) -> Callable[[WatchEvent[RawObject]], None]:
        """Return who is to hear what happens to objects of a kind."""

        def heard(event: WatchEvent[RawObject]) -> None:
            if event.object is not None:
                self._take(kind, event.object["metadata"]["uid"], _seen(event.object), is_gone=event.type == "DELETED")

        return heard

    def on_node(self, event: WatchEvent[Node]) -> None:
        """Hear what happens to a node."""
        if event.object is not None:
            node = event.object
            deleted = node.metadata.deletion_timestamp
            seen = _Seen(node.metadata.name, node.status.conditions, from_rfc3339(deleted) if deleted else None)
            self._take("node", node.metadata.uid, seen, is_gone=event.type == "DELETED")

    def _take(self, kind: Kind, uid: str, seen: _Seen, *, is_gone: bool) -> None:
        family = self._families[kind]
        before = family.seen.get(uid)
        if is_gone:
            family.seen.pop(uid, None)
            if seen.deleted_at is not None:
                family.terminations.observe(max(0.0, self._clock.now() - seen.deleted_at))
            return
        family.seen[uid] = seen
        if before is not None:
            self._count(family, before.conditions, seen.conditions)

    def _count(self, family: _Family, before: Sequence[Condition], after: Sequence[Condition]) -> None:
        known = {condition.type: condition for condition in before}
        for condition in after:
            old = known.get(condition.type)
            if old is not None and old.status == condition.status:
                continue
            family.transitions.labels(condition.type, condition.status, condition.reason).inc()
            if old is not None and old.since is not None:
                took_s = max(0.0, (condition.since or self._clock.now()) - old.since)
                family.durations.labels(condition.type, old.status).observe(took_s)

    def publish(self, now: UnixSeconds, *, per_object: bool) -> None:
        """Set the gauges; those with a sample for each condition of each object only where that is asked for."""
        for family in self._families.values():
            seen = family.seen.values()
            ending = {("", each.name): now - each.deleted_at for each in seen if each.deleted_at is not None}
            refresh(family.terminating, ending)
            if per_object:
                listed = [(each, condition) for each in seen for condition in each.conditions]
                refresh(family.count, {_key(*each): 1.0 for each in listed})
                refresh(family.current, {_key(*each): now - (each[1].since or now) for each in listed})


def _key(seen: _Seen, condition: Condition) -> tuple[str, ...]:
    return ("", seen.name, condition.type, condition.status, condition.reason)


def _seen(raw: RawObject) -> _Seen:
    metadata: Mapping[str, Any] = raw["metadata"]
    deleted = metadata.get("deletionTimestamp")
    return _Seen(
        name=metadata["name"],
        conditions=read_conditions(raw.get("status") or {}),
        deleted_at=from_rfc3339(deleted) if deleted else None,
    )


def _family(kind: Kind, metrics: Metrics) -> _Family:
    registry, status, ending = metrics.registry, f"operator_{kind}_status_condition", f"operator_{kind}_termination"
    return _Family(
        count=Gauge(f"{status}_count", "1 for each condition.", (*_OBJECT, *_STATUS), registry=registry),
        current=Gauge(f"{status}_current_status_seconds", "Since when.", (*_OBJECT, *_STATUS), registry=registry),
        transitions=Counter(f"{status}_transitions_total", "Changes of a condition.", _STATUS, registry=registry),
        durations=Histogram(
            f"{status}_transition_seconds",
            "How long a condition had its status.",
            ("type", "status"),
            registry=registry,
            buckets=FEW_DURATION_BUCKETS,
        ),
        terminating=Gauge(f"{ending}_current_time_seconds", "For how long it is going.", _OBJECT, registry=registry),
        terminations=Histogram(
            f"{ending}_duration_seconds", "How long it took to go.", registry=registry, buckets=FEW_DURATION_BUCKETS
        ),
    )
