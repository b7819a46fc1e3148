"""Events are kept for an hour after they were last told, as by a real API server; everything else is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karpenter.model.units import UnixSeconds, from_rfc3339
from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.records import Record
from karpenter.runtime.kubememory.resources import ResourceKey

EVENTS: Final = ResourceKey("", "events")
SWEEP_EVERY_S: Final = 60.0
"""How often an event that is written makes room: so that the sweep costs nothing to speak of."""
_KEPT_S: Final = 3600.0


def expired(events: Iterable[Record], now: UnixSeconds) -> list[tuple[Record, RawObject]]:
    """Return the events that nobody told again for an hour, with their content."""
    trees = ((record, record.decode()) for record in events)
    return [(record, tree) for record, tree in trees if now - _last_told(tree) > _KEPT_S]


def _last_told(event: RawObject) -> float:
    series = event.get("series") or {}
    moments = (
        event["metadata"]["creationTimestamp"],
        event.get("lastTimestamp"),
        event.get("eventTime"),
        series.get("lastObservedTime"),
    )
    return max(from_rfc3339(moment) for moment in moments if moment)
