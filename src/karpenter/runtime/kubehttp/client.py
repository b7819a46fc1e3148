"""`KubeClient` over HTTP."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import aiohttp

from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import PODS, Gone, Listing, PatchType, Propagation, Resource, WatchEvent
from karpenter.runtime.kubehttp import requests
from karpenter.runtime.kubehttp.connection import Connection
from karpenter.runtime.kubehttp.decoding import Page, Status, decode_event, decode_object, decode_page
from karpenter.runtime.kubehttp.failures import error_from_status
from karpenter.runtime.kubehttp.transport import Transport
from karpenter.runtime.metrics import Metrics
from karpenter.runtime.ratelimit import TokenBucket

T = TypeVar("T")

PAGE_SIZE: Final = 500
"""Objects a page: decoding one stalls the loop for some 25 ms."""
SHORTEST_WATCH_S: Final = 300
LONGEST_WATCH_S: Final = 600
WATCH_GRACE_S: Final = 30.0

log = logs.get("runtime.kubehttp")


class HttpKubeClient:
    """A client of one API server as one user. Make it anywhere; its sockets belong to the loop of its first call."""

    def __init__(
        self,
        connection: Connection,
        *,
        clock: Clock,
        metrics: Metrics | None = None,
        source: random.Random | None = None,
        qps: float = 200.0,
        burst: int = 300,
    ) -> None:
        self._source = source or random.Random(connection.server)
        self._transport = Transport(
            connection,
            clock=clock,
            metrics=metrics or Metrics(clock),
            source=self._source,
            bucket=TokenBucket(rate_per_s=qps, burst=burst, now=lambda: asyncio.get_running_loop().time()),
        )

    async def get(self, resource: Resource[T], name: str, *, namespace: str = "") -> T:
        """Return one object. Raises NotFound."""
        return decode_object(resource, await self._transport.send(requests.get(resource, name, namespace=namespace)))

    async def list(
        self, resource: Resource[T], *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> Listing[T]:
        """Return all matching objects, read page by page, as of one moment. An empty namespace means all namespaces."""
        selectors = _selectors(label_selector, field_selector)
        try:
            return await self._list(resource, namespace, {**selectors, "limit": str(PAGE_SIZE)})
        except Gone:  # the moment of the first page was forgotten before the last one: once more, in one piece
            return await self._list(resource, namespace, selectors)

    async def watch(
        self,
        resource: Resource[T],
        *,
        resource_version: str,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[WatchEvent[T]]:
        """Yield changes after `resource_version` until the server cuts the stream. Raises Gone when that is too old."""
        # Lengths differ so that the watches of a process do not all start anew at once.
        seconds = self._source.randint(SHORTEST_WATCH_S, LONGEST_WATCH_S)
        parameters = {"resourceVersion": resource_version, "timeoutSeconds": str(seconds)}
        request = requests.watching(
            resource, namespace=namespace, parameters={**_selectors(label_selector, field_selector), **parameters}
        )
        async with self._transport.stream(request, timeout_s=seconds + WATCH_GRACE_S) as content:
            async for line in _lines(content):
                event = decode_event(resource, line)
                if isinstance(event, Status):
                    raise error_from_status(event)
                yield event

    async def create(self, resource: Resource[T], body: Mapping[str, Any], *, namespace: str = "") -> T:
        """Store a new object and return it as stored. Raises AlreadyExists, Invalid."""
        return decode_object(
            resource, await self._transport.send(requests.creation(resource, body, namespace=namespace))
        )

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        namespace: str = "",
        patch_type: PatchType = "merge",
        subresource: str = "",
    ) -> T:
        """Change an object and return it. A merge patch with `metadata.resourceVersion` raises Conflict when stale."""
        request = requests.patching(
            resource, name, patch, namespace=namespace, patch_type=patch_type, subresource=subresource
        )
        return decode_object(resource, await self._transport.send(request))

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        grace_period_s: int | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        """Request deletion; finalizers and grace delay it. `uid` is a precondition (Conflict). Raises NotFound."""
        options = requests.delete_options(uid=uid, grace_period_s=grace_period_s, propagation=propagation)
        await self._transport.send(requests.deletion(resource, name, namespace=namespace, options=options))

    async def evict(self, name: str, *, namespace: str, uid: str = "", grace_period_s: int | None = None) -> None:
        """Evict a pod. Raises TooManyRequests when a disruption budget forbids it now, NotFound, Conflict."""
        options = requests.delete_options(uid=uid, grace_period_s=grace_period_s)
        await self._transport.send(requests.eviction(PODS, name, namespace=namespace, options=options))

    async def bind(self, name: str, *, namespace: str, node: str, uid: str = "") -> None:
        """Give a pod its node. Raises Conflict when it has one or is leaving, NotFound."""
        await self._transport.send(requests.binding(PODS, name, namespace=namespace, node=node, uid=uid))

    async def close(self) -> None:
        """Release connections; the client is not used again."""
        await self._transport.close()

    async def _list(self, resource: Resource[T], namespace: str, parameters: Mapping[str, str]) -> Listing[T]:
        items: list[T] = []
        place = ""
        while True:
            page = await self._page(resource, namespace, {**parameters, **({"continue": place} if place else {})})
            items += page.items
            if not page.next:
                return Listing(tuple(items), page.resource_version)
            place = page.next

    async def _page(self, resource: Resource[T], namespace: str, parameters: Mapping[str, str]) -> Page[T]:
        request = requests.listing(resource, namespace=namespace, parameters=parameters)
        return decode_page(resource, await self._transport.send(request))


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: selector for name, selector in selectors.items() if selector}


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield whole lines until the stream ends, one way or another; the rest of a line that was cut off is dropped.

    A connection that breaks is no error here: whoever watches goes on where it ended, and hears of the trouble, if it
    lasts, when it does. Lines have no limit: an object may have a megabyte and more.
    """
    rest = bytearray()
    try:
        async for chunk in content.iter_any():
            rest += chunk
            *lines, tail = rest.split(b"\n")
            rest = tail
            for line in lines:
                if line.strip():
                    yield bytes(line)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        log.debug("watch was cut", error=error)
