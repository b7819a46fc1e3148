"""How metrics are declared, built into a registry of their own and written out. `metrics` says which there are."""

from __future__ import annotations

import bisect
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from karpenter.runtime.clock import Clock

M = TypeVar("M")
LabelValues = TypeVar("LabelValues", bound=tuple[str, ...])

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
"""What `Instruments.render` returns, for the HTTP header."""

PREFIX: Final = "karpenter_"

_CONTROLLER_RUNTIME_STEPS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75,
    2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
)  # fmt: skip
DURATION_BUCKETS: Final = (*_CONTROLLER_RUNTIME_STEPS, 120, 150, 300, 450, 600)
"""Seconds, 45 steps (spec v1 §5.3)."""
FEW_DURATION_BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600)
"""Seconds, for families that have a series for each controller or condition, so that they cost little."""


class Declared(Generic[M]):
    """A metric as a class attribute of `Instruments`: named after the attribute, built once per instance."""

    def __init__(self, build: Callable[[str, CollectorRegistry, Clock], M], *, prefix: str) -> None:
        self._build = build
        self._prefix = prefix
        self._attribute = ""

    def __set_name__(self, owner: type[Instruments], name: str) -> None:
        self._attribute = name

    def __get__(self, instance: Instruments, owner: type[Instruments]) -> M:
        built: M = instance.built[self._attribute]
        return built

    def build_into(self, instance: Instruments, clock: Clock) -> None:
        """Make the metric of one instance."""
        name = f"{self._prefix}{self._attribute}"
        instance.built[self._attribute] = self._build(name, instance.registry, clock)


class Instruments:
    """Base of a table of metrics. Each instance has a registry of its own; nothing is global."""

    def __init__(self, clock: Clock) -> None:
        self.registry = CollectorRegistry()
        self.built: dict[str, Any] = {}
        self.before_render: list[Callable[[], None]] = []
        """Called before metrics are written out, by owners of gauges that are costly to keep up to date."""
        for declared in list(vars(type(self)).values()):
            if isinstance(declared, Declared):
                declared.build_into(self, clock)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        for update in self.before_render:
            update()
        return generate_latest(_WithoutCreationTimes(self.registry))


def counter(meaning: str, *labels: str, prefix: str = PREFIX) -> Declared[Counter]:
    """Declare a counter; its attribute's name ends in `_total`, as the metric's does."""
    return Declared(lambda name, registry, _: Counter(name, meaning, labels, registry=registry), prefix=prefix)


def gauge(meaning: str, *labels: str, prefix: str = PREFIX) -> Declared[Gauge]:
    """Declare a gauge."""
    return Declared(lambda name, registry, _: Gauge(name, meaning, labels, registry=registry), prefix=prefix)


def histogram(
    meaning: str, *labels: str, buckets: tuple[float, ...] = DURATION_BUCKETS, prefix: str = PREFIX
) -> Declared[Histogram]:
    """Declare a histogram, of durations in seconds unless it has buckets of its own."""
    return Declared(
        lambda name, registry, _: Histogram(name, meaning, labels, registry=registry, buckets=buckets), prefix=prefix
    )


def summary(meaning: str, *labels: str) -> Declared[Summary]:
    """Declare a summary of the last ten minutes."""
    return Declared(lambda name, registry, clock: Summary(name, meaning, labels, registry, clock), prefix=PREFIX)


def refresh(target: Gauge, values: Mapping[LabelValues, float]) -> None:
    """Set a labelled gauge to exactly these values, by label values in order; all other label sets go (MET-2)."""
    target.clear()
    for labels, value in values.items():
        target.labels(*labels).set(value)


class Summary:
    """Count, sum and the quantiles 0, 0.5, 0.9, 0.99 and 1 of what was observed in the last ten minutes.

    prometheus_client's own summary has no quantiles, which dashboards of Karpenter read.
    """

    WINDOW_S: Final = 600.0
    QUANTILES: Final = (0.0, 0.5, 0.9, 0.99, 1.0)

    def __init__(  # noqa: PLR0917 - called in one place, by `summary`
        self, name: str, meaning: str, labels: tuple[str, ...], registry: CollectorRegistry, clock: Clock
    ) -> None:
        self._name = name
        self._meaning = meaning
        self._labels = labels
        self._clock = clock
        self._series: dict[tuple[str, ...], _Observations] = {}
        registry.register(self)

    def observe(self, value: float, **labels: str) -> None:
        """Add one observation to the series that these labels name. Raises KeyError when one is missing."""
        key = tuple(labels[name] for name in self._labels)
        self._series.setdefault(key, _Observations()).add(value, self._clock.now())

    def collect(self) -> Iterator[Metric]:
        """Yield the family, as the registry asks for it."""
        family = Metric(self._name, self._meaning, "summary")
        since = self._clock.now() - self.WINDOW_S
        for key, observations in self._series.items():
            labels = dict(zip(self._labels, key, strict=True))
            recent = observations.recent(since)
            for quantile in self.QUANTILES:
                value = recent[math.ceil(quantile * len(recent)) - 1 if quantile else 0] if recent else math.nan
                family.add_sample(self._name, {**labels, "quantile": f"{quantile:g}"}, value)
            family.add_sample(f"{self._name}_sum", labels, observations.total)
            family.add_sample(f"{self._name}_count", labels, observations.count)
        yield family

    def describe(self) -> Iterator[Metric]:
        """Yield the family without values, so that registering does not collect."""
        yield Metric(self._name, self._meaning, "summary")


class _Observations:
    """One series of a summary."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self._window: deque[tuple[float, float]] = deque()

    def add(self, value: float, now: float) -> None:
        self.count += 1
        self.total += value
        self._window.append((now, value))

    def recent(self, since: float) -> list[float]:
        while self._window and self._window[0][0] < since:
            self._window.popleft()
        values: list[float] = []
        for _, value in self._window:
            bisect.insort(values, value)
        return values


class _WithoutCreationTimes(CollectorRegistry):
    """A registry seen without the `_created` series that the Python client adds and Karpenter does not have."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__()
        self._seen = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._seen.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family
