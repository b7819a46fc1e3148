"""What we learn and must not forget over a restart, in one ConfigMap of the cluster: a JSON value for each key.

For facts that no other object can hold. Losing the last second of them is harmless, losing all of them only costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from karpenter.runtime import logs
from karpenter.runtime.backoff import Backoff
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import CONFIG_MAPS, AlreadyExists, KubeClient, KubeError, NotFound

T = TypeVar("T")
log = logs.get("state.memory")

CONFIG_MAP: Final = "karpenter-memory"
GATHER_S: Final = 1.0
"""Changes of so long are written together."""


class Memory:
    """Values by key; each key has one owner, who knows what type it is of."""

    name: Final = "state.memory"

    def __init__(self, client: KubeClient, *, clock: Clock, namespace: str, backoff: Backoff) -> None:
        self._client = client
        self._clock = clock
        self._namespace = namespace
        self._backoff = backoff
        self._texts: dict[str, str] = {}
        self._unwritten: set[str] = set()
        self._changed = asyncio.Event()
        self._loaded = asyncio.Event()

    @property
    def is_loaded(self) -> bool:
        """Whether what an earlier process learned has been read."""
        return self._loaded.is_set()

    async def wait_loaded(self) -> None:
        """Return once what an earlier process learned has been read."""
        await self._loaded.wait()

    def get(self, key: str, kind: type[T], default: T) -> T:
        """Return the value of a key; the default when there is none that can be read as `kind`."""
        text = self._texts.get(key)
        if text is None:
            return default
        try:
            return msgspec.json.decode(text, type=kind)
        except msgspec.DecodeError as error:
            log.warning("a remembered value cannot be read and is learned anew", key=key, error=error)
            return default

    def put(self, key: str, value: object) -> None:
        """Remember a value; it is written soon."""
        text = msgspec.json.encode(value, order="deterministic").decode()
        if self._texts.get(key) != text:
            self._texts[key] = text
            self._unwritten.add(key)
            self._changed.set()

    async def run(self) -> None:
        """Read what there is, then write changes, until cancelled."""
        await self._until_it_works(self._load)
        self._loaded.set()
        while True:
            await self._changed.wait()
            await self._clock.sleep(GATHER_S)
            self._changed.clear()
            await self._until_it_works(self._write)

    async def _until_it_works(self, call: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await call()
            except KubeError as error:
                log.warning("cannot read or write what was learned, trying again", error=error)
                await self._clock.sleep(self._backoff.next_s(at_least_s=error.retry_after_s or 0.0))
            else:
                self._backoff.reset()
                return

    async def _load(self) -> None:
        try:
            found = await self._client.get(CONFIG_MAPS, CONFIG_MAP, namespace=self._namespace)
        except NotFound:
            return
        self._texts = {**(found.get("data") or {}), **{key: self._texts[key] for key in self._unwritten}}

    async def _write(self) -> None:
        written = {key: self._texts[key] for key in self._unwritten}
        try:
            await self._client.patch(CONFIG_MAPS, CONFIG_MAP, {"data": written}, namespace=self._namespace)
        except NotFound:
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIG_MAP}, "data": written}
            try:
                await self._client.create(CONFIG_MAPS, body, namespace=self._namespace)
            except AlreadyExists:  # an earlier creation was answered by an error all the same
                await self._client.patch(CONFIG_MAPS, CONFIG_MAP, {"data": written}, namespace=self._namespace)
        self._unwritten = {key for key in self._unwritten if self._texts[key] != written.get(key)}
