"""Scenario files: workloads, what happens when, and for how long. Pure.

YAML; times are spans from the start, `2d3h`, `90m`. See docs/scenarios.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from karpenter.model.durations import parse_go_duration
from karpenter.model.errors import FieldError, ManifestError

_DAYS: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)d(.*)")
DAY_S: Final = 86400.0


class _Given(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A part of the file; a key that nobody knows is a mistake."""


class Autoscaling(_Given, frozen=True):
    """A HorizontalPodAutoscaler as its Deployment sees it: replicas that follow the day, with noise."""

    min: int
    max: int
    every: str = "5m"
    noise: float = 0.1
    """Standard deviation of the noise, as a share of the wanted replicas."""
    memory: float = 0.8
    """How much of one step's noise is left in the next: 0 is white, near 1 drifts."""
    daily: float = 0.0
    """Swing over the day, as a share: 0.5 means half as many at night, half as many again at the peak."""
    peak: str = "14h"
    """When the day's peak is, from midnight UTC."""


class WorkloadFile(_Given, frozen=True):
    """One Deployment."""

    name: str
    replicas: int
    cpu: str = "500m"
    memory: str = "512Mi"
    namespace: str = "default"
    pod: Mapping[str, Any] = {}
    """Further fields of the pods' spec."""
    annotations: Mapping[str, str] = {}
    max_unavailable: int | str | None = None
    """Of a PodDisruptionBudget; none without it and `minAvailable`."""
    min_available: int | str | None = None
    autoscaling: Autoscaling | None = None


class Scale(_Given, frozen=True):
    """Somebody scales a Deployment."""

    deployment: str
    replicas: int
    namespace: str = "default"


class ShortageFile(_Given, frozen=True, kw_only=True):
    """The cloud has no more of something for a while."""

    instance_type: str = "*"
    zone: str = "*"
    capacity_type: str = "*"
    lasts: str


class Event(_Given, frozen=True, kw_only=True):
    """Something that happens once (`at`) or again and again (`every`, from `at` on); exactly one thing."""

    at: str | None = None
    every: str | None = None
    scale: Scale | None = None
    spot_notices: int | None = None
    """So many spot machines get their notice."""
    shortage: ShortageFile | None = None
    release_images: bool | None = None
    """The cloud publishes new machine images."""
    kill_machines: int | None = None
    """So many machines die unannounced."""
    delete_nodes: int | None = None
    """Somebody deletes so many nodes with kubectl."""
    apply: tuple[Mapping[str, Any], ...] | None = None
    """Manifests, created or merged into what is there."""


_DEEDS: Final = ("scale", "spot_notices", "shortage", "release_images", "kill_machines", "delete_nodes", "apply")


class ScenarioFile(_Given, frozen=True, kw_only=True):
    """A whole file."""

    name: str
    lasts: str
    seed: int = 0
    cloud_speed: float = 1.0
    price_hours: int = 1
    """For how many hours spot prices stand still."""
    settings: Mapping[str, str] = {}
    """Of the operator, KEY: VALUE."""
    manifests: tuple[Mapping[str, Any], ...] = ()
    """What is there from the start: pools and node classes, by hand or from `include`."""
    include: tuple[str, ...] = ()
    """Files with manifests, relative to this one."""
    workloads: tuple[WorkloadFile, ...] = ()
    events: tuple[Event, ...] = ()

    @property
    def lasts_s(self) -> float:
        """For how long it is played."""
        return seconds_of(self.lasts)


def seconds_of(text: str) -> float:
    """Return the seconds of a span such as `2d3h`, `90m`, `30s`. Raises ValueError."""
    match = _DAYS.fullmatch(text)
    if match is None:
        return parse_go_duration(text)
    rest = parse_go_duration(match[2]) if match[2] else 0.0
    return float(match[1]) * DAY_S + rest


def read_scenario(raw: object, *, subject: str) -> ScenarioFile:
    """Return the scenario of a decoded file. Raises ManifestError with everything that is wrong."""
    try:
        found = msgspec.convert(raw, ScenarioFile)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at ")
        raise ManifestError(subject, [FieldError(path.strip("`") or "$", _lower(reason))]) from error
    errors = [*_faults(found)]
    if errors:
        raise ManifestError(subject, errors)
    return found


def deed_of(event: Event) -> str:
    """Return which of its things an event does."""
    return next(name for name in _DEEDS if getattr(event, name) is not None)


def _faults(found: ScenarioFile) -> Iterator[FieldError]:
    yield from _span("$.lasts", found.lasts)
    if found.price_hours < 1:
        yield FieldError("$.priceHours", f"{found.price_hours} must be at least 1")
    names = {(one.namespace, one.name) for one in found.workloads}
    for at, event in enumerate(found.events):
        path = f"$.events[{at}]"
        done = [name for name in _DEEDS if getattr(event, name) is not None]
        if len(done) != 1:
            known = ", ".join(msgspec.structs.fields(Event)[2 + index].encode_name for index in range(len(_DEEDS)))
            yield FieldError(path, f"does {len(done)} things", f"give exactly one of {known}")
        if event.at is None and event.every is None:
            yield FieldError(path, "never happens", "give at, or every, or both")
        for name in ("at", "every"):
            yield from _span(f"{path}.{name}", getattr(event, name))
        if event.shortage is not None:
            yield from _span(f"{path}.shortage.lasts", event.shortage.lasts)
        if event.scale is not None and (event.scale.namespace, event.scale.deployment) not in names:
            yield FieldError(f"{path}.scale.deployment", f"{event.scale.deployment!r} is no workload of this file")
    for at, workload in enumerate(found.workloads):
        if workload.autoscaling is not None:
            yield from _span(f"$.workloads[{at}].autoscaling.every", workload.autoscaling.every)
            yield from _span(f"$.workloads[{at}].autoscaling.peak", workload.autoscaling.peak)


def _span(path: str, text: str | None) -> Iterator[FieldError]:
    try:
        if text is not None and seconds_of(text) <= 0 and not path.endswith((".at", ".peak")):
            yield FieldError(path, f"{text!r} must be more than 0")
    except ValueError:
        yield FieldError(path, f"{text!r} is no span of time", "write one such as 2d3h, 90m or 30s")


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
