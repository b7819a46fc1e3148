"""An up-to-date copy of all objects of one kind, kept by a list and a watch, that tells subscribers what changed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from karpenter.model.units import ObjectKey
from karpenter.runtime import logs
from karpenter.runtime.backoff import Backoff
from karpenter.runtime.clock import Clock
from karpenter.runtime.identity import is_older, key_of, uid_of, version_of
from karpenter.runtime.kube import Gone, KubeClient, KubeError, Listing, Resource, WatchEvent
from karpenter.runtime.metrics import Metrics

T = TypeVar("T")
Handler: TypeAlias = Callable[[WatchEvent[T]], None]
Change: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]

BRIEF_WATCH_S: Final = 1.0
"""A watch that brought nothing and was cut sooner than this is tried again with back-off, not at once."""
FIRST_RETRY_S: Final = 0.5
LONGEST_RETRY_S: Final = 30.0

log = logs.get("runtime.informer")


class Informer(Generic[T]):
    """The objects of one resource that match the selectors, as of the last event.

    Objects are shared with everyone who asks: they are read, never changed. Whoever writes an object folds the server's
    answer in, so that the next look already shows it; older news that arrives later does not undo that.
    """

    def __init__(
        self,
        kube: KubeClient,
        resource: Resource[T],
        *,
        clock: Clock,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        metrics: Metrics | None = None,
        source: random.Random | None = None,
    ) -> None:
        self.resource = resource
        self.name = f"informer.{resource.plural}"
        self._kube = kube
        self._clock = clock
        self._scope = {"namespace": namespace, "label_selector": label_selector, "field_selector": field_selector}
        self._handler_errors = (metrics or Metrics(clock)).informer_handler_errors_total.labels(resource.kind)
        self._backoff = Backoff(source or random.Random(self.name), base_s=FIRST_RETRY_S, cap_s=LONGEST_RETRY_S)
        self._objects: dict[ObjectKey, T] = {}
        self._handlers: list[Handler[T]] = []
        self._seen_up_to = ""  # the stream has shown everything up to this version
        self._gone: dict[ObjectKey, str] = {}  # uids known to be deleted, until the stream says so too
        self._synced = asyncio.Event()
        self._problem: KubeError | None = None

    @property
    def has_synced(self) -> bool:
        """Whether all objects have been listed once."""
        return self._synced.is_set()

    @property
    def problem(self) -> KubeError | None:
        """Why the copy may be out of date just now; None while the watch is fine."""
        return self._problem

    def get(self, key: ObjectKey) -> T | None:
        """Return one object; None when there is none."""
        return self._objects.get(key)

    def values(self) -> tuple[T, ...]:
        """Return all objects, in no particular order."""
        return tuple(self._objects.values())

    async def wait_synced(self) -> None:
        """Return once all objects have been listed."""
        await self._synced.wait()

    def subscribe(self, handler: Handler[T]) -> None:
        """Call `handler` for every change from now on, in order, and at once with ADDED for each object there is.

        A DELETED event carries the last known object. Handlers must not fail; one that does is logged and counted, and
        the others still hear of the change.
        """
        self._handlers.append(handler)
        for obj in self._objects.values():
            self._call(handler, WatchEvent("ADDED", obj, version_of(obj)))

    def fold(self, obj: T) -> None:
        """Take in the server's answer to a write at once. An answer older than what is known is ignored."""
        key, version = key_of(obj), version_of(obj)
        known = self._objects.get(key)
        seen = self._seen_up_to if known is None else version_of(known)
        # What the stream has already passed by and is not here has been deleted since, or never matched the selectors.
        if version == seen or is_older(version, seen) or self._gone.get(key) == uid_of(obj):
            return
        self._store(key, obj)

    def fold_deleted(self, key: ObjectKey, uid: str = "") -> None:
        """Take in that an object is gone: its deletion was answered so, or a call found nothing.

        With `uid`, only that very object is forgotten, not one that was created under its name since.
        """
        known = self._objects.get(key)
        if known is None or (uid and uid_of(known) != uid):
            return
        self._gone[key] = uid_of(known)
        self._remove(key, known, version_of(known))

    async def run(self) -> None:
        """Keep the copy up to date until cancelled."""
        while True:
            await self._list()
            await self._follow()

    async def _list(self) -> None:
        """Take in all objects, trying until it works."""
        while True:
            gone_before = dict(self._gone)
            try:
                listing = await self._kube.list(self.resource, **self._scope)
            except KubeError as error:
                await self._pause(error)
            else:
                self._replace(listing, gone_before)
                self._synced.set()
                self._problem = None
                return

    async def _follow(self) -> None:
        """Take in changes; a cut watch goes on where it ended. Returns when the server no longer knows that place."""
        loop = asyncio.get_running_loop()
        while True:
            started, heard = loop.time(), False
            try:
                async for event in self._kube.watch(self.resource, resource_version=self._seen_up_to, **self._scope):
                    self._apply(event)
                    heard = True
                    self._healthy()
            except Gone as error:
                if not heard:  # do not hammer a server that calls its own list too old
                    await self._pause(error)
                return
            except KubeError as error:
                await self._pause(error)
                continue
            if heard or loop.time() - started >= BRIEF_WATCH_S:
                self._healthy()
            else:
                await self._clock.sleep(self._backoff.next_s())

    def _apply(self, event: WatchEvent[T]) -> None:
        version, obj = event.resource_version, event.object
        if not is_older(version, self._seen_up_to):
            self._seen_up_to = version
        if obj is None:
            return
        key = key_of(obj)
        known = self._objects.get(key)
        if event.type == "DELETED":
            if self._gone.get(key) == uid_of(obj):
                del self._gone[key]
            if known is not None and not is_older(version, version_of(known)):
                self._remove(key, obj, version)
        elif self._gone.get(key) != uid_of(obj) and (known is None or self._is_news(obj, known)):
            self._store(key, obj)

    def _replace(self, listing: Listing[T], gone_before: dict[ObjectKey, str]) -> None:
        """Take in a list, which rules over everything older; folded answers newer than it stay."""
        version = listing.resource_version
        # A server restored from a backup counts from an earlier number again: then the list is all there is.
        restored = is_older(version, self._seen_up_to)
        self._seen_up_to = version
        for key in [key for key, uid in gone_before.items() if self._gone.get(key) == uid]:
            del self._gone[key]  # what the list shows although it was said to be gone is there after all
        listed = {key_of(obj): obj for obj in listing.items}
        for key, known in list(self._objects.items()):
            if key not in listed and (restored or not is_older(version, version_of(known))):
                self._remove(key, known, version)
        for key, obj in listed.items():
            known_now = self._objects.get(key)
            if self._gone.get(key) == uid_of(obj):
                continue
            if known_now is None or restored or self._is_news(obj, known_now):
                self._store(key, obj)

    @staticmethod
    def _is_news(obj: T, known: T) -> bool:
        return version_of(obj) != version_of(known) and not is_older(version_of(obj), version_of(known))

    def _store(self, key: ObjectKey, obj: T) -> None:
        known = self._objects.get(key)
        if known is not None and uid_of(known) != uid_of(obj):
            self._remove(key, known, version_of(obj))  # deleted and created again between two looks
            known = None
        self._objects[key] = obj
        self._tell("ADDED" if known is None else "MODIFIED", obj, version_of(obj))

    def _remove(self, key: ObjectKey, last: T, version: str) -> None:
        del self._objects[key]
        self._tell("DELETED", last, version)

    def _tell(self, change: Change, obj: T, version: str) -> None:
        event = WatchEvent(change, obj, version)
        for handler in self._handlers:
            self._call(handler, event)

    def _call(self, handler: Handler[T], event: WatchEvent[T]) -> None:
        try:
            handler(event)
        except Exception as error:  # a bug in one handler must not blind all others
            self._handler_errors.inc()
            log.error("informer handler failed", error=error, kind=self.resource.kind, key=key_of(event.object))

    def _healthy(self) -> None:
        self._backoff.reset()
        self._problem = None

    async def _pause(self, error: KubeError) -> None:
        wait_s = self._backoff.next_s(at_least_s=error.retry_after_s or 0.0)
        write = log.debug if self._problem is not None and str(self._problem) == str(error) else log.warning
        write("cannot list or watch, trying again", kind=self.resource.kind, error=error, retry_in_s=wait_s)
        self._problem = error
        await self._clock.sleep(wait_s)
