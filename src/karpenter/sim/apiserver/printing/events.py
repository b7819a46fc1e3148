"""Events: told from the last one back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpenter.model.units import UnixSeconds
from karpenter.runtime.kube import RawObject
from karpenter.sim.apiserver.printing.durations import age
from karpenter.sim.apiserver.printing.table import Cell, Printer, columns, name_of, part


def _cells(event: RawObject, now: UnixSeconds) -> Sequence[Cell]:
    series = part(event, "series")
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or first
    about = part(event, "involvedObject")
    count = series.get("count") or event.get("count") or 1
    return (
        age(last, now),
        event.get("type", ""),
        event.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        _source(event),
        event.get("message", "").strip(),
        age(first, now),
        count,
        name_of(event),
    )


def _source(event: RawObject) -> str:
    source = part(event, "source")
    component = source.get("component") or event.get("reportingComponent") or ""
    host = source.get("host") or event.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


_ORDER: Final = {
    column.name: column
    for column in columns("Last Seen|Type|Reason|Object|Message", "Subobject|Source|First Seen|#Count|Name")
}
EVENT: Final = Printer(
    tuple(
        _ORDER[name]
        for name in (
            "Last Seen",
            "Type",
            "Reason",
            "Object",
            "Subobject",
            "Source",
            "Message",
            "First Seen",
            "Count",
            "Name",
        )
    ),
    _cells,
)
