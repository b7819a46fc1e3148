"""Bookmarks, which come once a minute: in virtual time, without a socket."""

import asyncio
import json
from unittest.mock import AsyncMock, Mock

from aiohttp.test_utils import make_mocked_request

from karpenter.runtime.kubememory import MemoryStore
from karpenter.sim.apiserver.targets import find_target
from karpenter.sim.apiserver.watching import Watches
from tests.runtime.kubememory.api import a_config

PATH = "/api/v1/namespaces/default/configmaps"


class Wire:
    """Keeps what is sent to a client, in place of a connection."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    async def write(self, data: bytes) -> None:
        self.lines.append(data)

    def __getattr__(self, name: str):
        return AsyncMock() if name in ("write_headers", "write_eof", "drain") else Mock()


async def watched(store: MemoryStore, query: str) -> list[tuple[str, str]]:
    """Return the type and version of every event until the watch ends."""
    wire = Wire()
    request = make_mocked_request("GET", f"{PATH}?watch=1&resourceVersion={store.revision}&{query}", writer=wire)
    await Watches(store).watch(request, find_target(PATH, store.registry))
    events = [json.loads(line) for line in wire.lines]
    return [(event["type"], event["object"]["metadata"]["resourceVersion"]) for event in events]


async def test_a_bookmark_a_minute_tells_the_version_of_the_whole_store(clock) -> None:
    store = MemoryStore(clock)
    secrets = store.registry.find("", "v1", "secrets")
    before = store.revision
    store.create(secrets, {"metadata": {"name": "elsewhere"}}, namespace="default")
    assert await watched(store, "allowWatchBookmarks=true&timeoutSeconds=150") == [
        ("BOOKMARK", str(before + 1)),
        ("BOOKMARK", str(before + 1)),
    ]


async def test_who_does_not_ask_for_bookmarks_gets_none(clock) -> None:
    assert await watched(MemoryStore(clock), "timeoutSeconds=150") == []


async def test_bookmarks_come_although_others_change_all_the_time(clock) -> None:
    store = MemoryStore(clock)

    async def write() -> None:
        kind = store.registry.find("", "v1", "configmaps")
        for number in range(14):
            await asyncio.sleep(10)
            store.create(kind, a_config(f"c{number}", labels={"app": "other"}), namespace="default")

    writing = asyncio.create_task(write())
    events = await watched(store, "allowWatchBookmarks=true&timeoutSeconds=130&labelSelector=app%3Dmine")
    await writing
    assert [kind for kind, _ in events] == ["BOOKMARK", "BOOKMARK"]
