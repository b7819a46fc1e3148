"""All metrics as a table, for `docs/metrics.md`."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.registry import Collector

from karpenter.app.measures.conditions import Conditions
from karpenter.runtime.clock import WallClock
from karpenter.runtime.metrics import WELL_KNOWN, Metrics


def table() -> str:
    """Return every metric with its type, labels and meaning as a Markdown table."""
    clock = WallClock()
    metrics = Metrics(clock)
    Conditions(metrics, clock)
    rows = ["| name | type | labels | meaning |", "| --- | --- | --- | --- |"]
    for collector in metrics.registry._collector_to_names:
        rows.extend(_rows(collector))
    return "\n".join(rows)


def _rows(collector: Collector) -> Iterator[str]:
    labels = tuple(getattr(collector, "_labelnames", None) or getattr(collector, "_labels", None) or ())
    if labels[-len(WELL_KNOWN) :] == WELL_KNOWN:
        labels = (*labels[: -len(WELL_KNOWN)], "one for each well-known label")
    for family in collector.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield f"| `{name}` | {family.type} | {', '.join(labels) or '–'} | {family.documentation} |"
