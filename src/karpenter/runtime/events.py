"""Events on objects, as `kubectl describe` and `kubectl events` show them: each fact once, repeated facts counted."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, TypeVar

from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.identity import key_of, uid_of, version_of
from karpenter.runtime.kube import (
    EVENTS,
    AlreadyExists,
    KubeClient,
    KubeError,
    NotFound,
    RawObject,
    Resource,
    TooManyRequests,
    Unavailable,
)
from karpenter.runtime.metrics import Metrics
from karpenter.runtime.ratelimit import TokenBucket

EventType = Literal["Normal", "Warning"]

DEDUPE_S: Final = 120.0
"""For how long an equal event is dropped unless its caller says otherwise (EVT-1)."""
LONGEST_MESSAGE: Final = 4096
MOST_PENDING: Final = 10_000
MOST_REMEMBERED: Final = 20_000
WRITE_ATTEMPTS: Final = 5

log = logs.get("runtime.events")

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """The object that an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


def ref_to(resource: Resource[Any], obj: object) -> ObjectRef:
    """Return the reference to an object of a resource, be it a wire struct or raw JSON."""
    namespace, name = key_of(obj)
    return ObjectRef(resource.api_version, resource.kind, name, namespace, uid_of(obj), version_of(obj))


@dataclass(frozen=True, slots=True)
class RateLimit:
    """So many events a second on average, so many at once at most."""

    per_s: float
    burst: int

    def bucket(self, clock: Clock) -> TokenBucket:
        """Return a full bucket of this size."""
        return TokenBucket(rate_per_s=self.per_s, burst=self.burst, now=clock.now)


REASON_LIMITS: Final[Mapping[str, RateLimit]] = {"Nominated": RateLimit(5, 10)}
"""Reasons that come with every pod and are dropped beyond this (spec v1alpha5 §6.4)."""
WRITE_LIMIT: Final = RateLimit(50, 200)
"""All events together; those beyond it wait."""


class _Fact(NamedTuple):
    """What makes two events the same one."""

    kind: str
    namespace: str
    name: str
    uid: str
    type: EventType
    reason: str
    key: str


@dataclass(frozen=True, slots=True)
class _Occurrence:
    """A fact as it will be written."""

    about: ObjectRef
    message: str
    first: UnixSeconds
    last: UnixSeconds
    count: int = 1


class EventRecorder:
    """Writes events of one component in the background; recording never waits and never fails.

    The same fact, which is object, type, reason and key (the message unless a `dedupe_key` is given), is dropped for
    `dedupe_s`. After that it raises the count of the event that is already there, also across restarts, since an
    event's name follows from its fact.
    """

    def __init__(
        self,
        kube: KubeClient,
        clock: Clock,
        component: str = "karpenter",
        *,
        instance: str = "",
        metrics: Metrics | None = None,
        reason_limits: Mapping[str, RateLimit] = REASON_LIMITS,
        write_limit: RateLimit = WRITE_LIMIT,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._component = component
        self._instance = instance or component
        self._dropped = (metrics or Metrics(clock)).events_dropped_total
        self._reason_buckets = {reason: limit.bucket(clock) for reason, limit in reason_limits.items()}
        self._write_bucket = write_limit.bucket(clock)
        self._recorded_at: OrderedDict[_Fact, UnixSeconds] = OrderedDict()
        self._counts: OrderedDict[_Fact, int] = OrderedDict()
        self._pending: OrderedDict[_Fact, _Occurrence] = OrderedDict()
        self._wake = asyncio.Event()

    def record(  # noqa: PLR0917 - object, type, reason, message: the order in which kubectl shows them
        self,
        about: ObjectRef,
        type: EventType,  # noqa: A002 - the API's word
        reason: str,
        message: str,
        *,
        dedupe_s: float = DEDUPE_S,
        dedupe_key: str | None = None,
    ) -> None:
        """Note that something happened to an object, for its owner to read."""
        key = message if dedupe_key is None else dedupe_key
        fact = _Fact(about.kind, about.namespace, about.name, about.uid, type, reason, key)
        now = self._clock.now()
        if now - self._recorded_at.get(fact, -dedupe_s) < dedupe_s:
            return
        bucket = self._reason_buckets.get(reason)
        if bucket is not None and not bucket.try_take():
            self._dropped.labels("reason_limit").inc()
            return
        _remember(self._recorded_at, fact, now)
        self._enqueue(fact, _Occurrence(about, shortened(message), now, now))

    async def run(self) -> None:
        """Write what is recorded until cancelled."""
        while True:
            await self._wake.wait()
            await self.flush()

    async def flush(self) -> None:
        """Write everything that waits; returns when nothing does."""
        while self._pending:
            await self._clock.sleep(self._write_bucket.reserve_s())
            if self._pending:  # the other of `run` and `flush` may have been faster
                await self._write(*self._pending.popitem(last=False))
        self._wake.clear()

    def _enqueue(self, fact: _Fact, occurrence: _Occurrence) -> None:
        waiting = self._pending.get(fact)
        if waiting is not None:
            occurrence = replace(occurrence, first=waiting.first, count=waiting.count + 1)
        elif len(self._pending) >= MOST_PENDING:
            self._dropped.labels("queue_full").inc()
            return
        self._pending[fact] = occurrence
        self._wake.set()

    async def _write(self, fact: _Fact, occurrence: _Occurrence) -> None:
        for attempt in range(WRITE_ATTEMPTS):
            try:
                written = await self._write_once(fact, occurrence)
            except (TooManyRequests, Unavailable) as error:
                log.debug("cannot write event yet", error=error, reason=fact.reason)
                await self._clock.sleep(2.0**attempt)
            except KubeError as error:  # such as an object in a namespace that is going away
                self._dropped.labels("refused").inc()
                log.debug("event refused", error=error, reason=fact.reason, kind=fact.kind, name=fact.name)
                return
            else:
                _remember(self._counts, fact, written)
                return
        self._dropped.labels("unreachable").inc()

    async def _write_once(self, fact: _Fact, occurrence: _Occurrence) -> int:
        """Write the event; return its count from now on."""
        name, namespace = self._name(fact), fact.namespace or "default"
        known = self._counts.get(fact)
        if known is None:
            try:
                await self._kube.create(EVENTS, self._body(fact, occurrence, name=name), namespace=namespace)
            except AlreadyExists:  # written before our last restart
                known = int((await self._kube.get(EVENTS, name, namespace=namespace)).get("count") or 1)
            else:
                return occurrence.count
        count = known + occurrence.count
        change = {"count": count, "lastTimestamp": to_rfc3339(occurrence.last), "message": occurrence.message}
        try:
            await self._kube.patch(EVENTS, name, change, namespace=namespace)
        except NotFound:  # API servers forget events after an hour
            await self._kube.create(EVENTS, self._body(fact, occurrence, name=name), namespace=namespace)
            return occurrence.count
        return count

    def _name(self, fact: _Fact) -> str:
        """Return the event's name: equal facts have equal names, whoever asks."""
        digest = hashlib.blake2s("\0".join((self._component, *fact)).encode(), digest_size=8).hexdigest()
        return f"{fact.name[:200].rstrip('.-')}.{digest}"

    def _body(self, fact: _Fact, occurrence: _Occurrence, *, name: str) -> RawObject:
        about = occurrence.about
        reference = {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "name": about.name,
            "namespace": about.namespace,
            "uid": about.uid,
            "resourceVersion": about.resource_version,
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": fact.namespace or "default"},
            "involvedObject": {field: value for field, value in reference.items() if value},
            "type": fact.type,
            "reason": fact.reason,
            "message": occurrence.message,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "firstTimestamp": to_rfc3339(occurrence.first),
            "lastTimestamp": to_rfc3339(occurrence.last),
            "count": occurrence.count,
        }


def _remember(memory: OrderedDict[_Fact, V], fact: _Fact, value: V) -> None:
    """Keep the newest facts only."""
    memory[fact] = value
    memory.move_to_end(fact)
    if len(memory) > MOST_REMEMBERED:
        memory.popitem(last=False)


def shortened(message: str, longest: int = LONGEST_MESSAGE) -> str:
    """Return a message cut to what an event may hold."""
    return message if len(message) <= longest else f"{message[: longest - 1]}…"
