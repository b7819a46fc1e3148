"""A running API server over a store in memory, and a client that speaks plain HTTP to it."""

import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
import pytest
import yaml

from karpenter.runtime.clock import WallClock
from karpenter.runtime.kubememory import MemoryStore
from karpenter.sim.apiserver import ApiServer

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: Any
    body: Any


class Http:
    """Requests with the token and the authority of a server's kubeconfig."""

    def __init__(self, server: ApiServer, store: MemoryStore) -> None:
        self.server = server
        self.store = store
        config = yaml.safe_load(server.kubeconfig())
        self.url = config["clusters"][0]["cluster"]["server"]
        self.authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        self.token = config["users"][0]["user"]["token"]
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def session(self) -> AsyncIterator["Http"]:
        trust = ssl.create_default_context(cadata=self.authority)
        headers = {"Authorization": f"Bearer {self.token}", "User-Agent": "tests/1.0"}
        connector = aiohttp.TCPConnector(ssl=trust)
        async with aiohttp.ClientSession(self.url, headers=headers, connector=connector) as self._session:
            yield self

    def stream(self, path: str, **query: str) -> Any:
        return self._session.get(path, params=query)

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str = "",
        content_type: str = "application/json",
        **query,
    ) -> Answer:
        headers = {"Accept": accept} if accept else {}
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = body if isinstance(body, (str, bytes)) else msgspec.json.encode(body)
        async with self._session.request(method, path, data=data, headers=headers, params=query) as response:
            raw = await response.read()
            is_json = "json" in response.headers.get("Content-Type", "")
            return Answer(response.status, response.headers, msgspec.json.decode(raw) if is_json else raw.decode())

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.call("GET", path, **options)

    async def post(self, path: str, body: Any, **options: Any) -> Answer:
        return await self.call("POST", path, body, **options)

    async def patch(self, path: str, body: Any, kind: str = "merge", **options: Any) -> Answer:
        types = {"json": "json-patch+json", "merge": "merge-patch+json", "strategic": "strategic-merge-patch+json"}
        content_type = f"application/{types.get(kind, 'apply-patch+yaml')}"
        return await self.call("PATCH", path, body, content_type=content_type, **options)


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    store = MemoryStore(WallClock())
    server = ApiServer(store)
    await server.start()
    try:
        async with Http(server, store).session() as http:
            yield http
    finally:
        await server.stop()
