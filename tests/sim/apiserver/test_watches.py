"""Watches over HTTP."""

import asyncio
import json

import pytest

from karpenter.sim.apiserver import ApiServer
from tests.runtime.kubememory.api import a_config, a_pod
from tests.sim.apiserver.conftest import TABLE, Http

pytestmark = pytest.mark.real_time

CONFIGS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


async def lines(response, count):
    """Return the next lines of a watch."""
    async with asyncio.timeout(5):
        return [json.loads(await response.content.readline()) for _ in range(count)]


def told(events):
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


async def test_changes_are_streamed(http) -> None:
    since = str(http.store.revision)
    async with http.stream(CONFIGS, watch="1", resourceVersion=since) as watch:
        await http.post(CONFIGS, a_config())
        await http.patch(f"{CONFIGS}/settings", {"data": {"a": "1"}})
        await http.call("DELETE", f"{CONFIGS}/settings")
        events = await lines(watch, 3)
    assert told(events) == [("ADDED", "settings"), ("MODIFIED", "settings"), ("DELETED", "settings")]


async def test_without_a_version_what_is_there_comes_first(http) -> None:
    await http.post(CONFIGS, a_config("a"))
    async with http.stream(CONFIGS, watch="true") as watch:
        assert told(await lines(watch, 1)) == [("ADDED", "a")]
        await http.post(CONFIGS, a_config("b"))
        assert told(await lines(watch, 1)) == [("ADDED", "b")]


async def test_a_watch_list_says_when_everything_was_told(http) -> None:
    await http.post(CONFIGS, a_config("a"))
    query = {"watch": "1", "sendInitialEvents": "true", "allowWatchBookmarks": "true"}
    async with http.stream(CONFIGS, **query, resourceVersionMatch="NotOlderThan") as watch:
        first, end = await lines(watch, 2)
    assert (first["type"], end["type"]) == ("ADDED", "BOOKMARK")
    assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert end["object"]["metadata"]["resourceVersion"] == str(http.store.revision)


async def test_selectors_narrow_a_watch(http) -> None:
    since = str(http.store.revision)
    async with http.stream("/api/v1/pods", watch="1", resourceVersion=since, labelSelector="app=a") as watch:
        await http.post(PODS, a_pod("b", labels={"app": "b"}))
        await http.post(PODS, a_pod("a", labels={"app": "a"}))
        await http.patch(f"{PODS}/a", {"metadata": {"labels": {"app": "b"}}})
        assert told(await lines(watch, 2)) == [("ADDED", "a"), ("DELETED", "a")]


async def test_a_watch_ends_when_its_time_is_over(http) -> None:
    since = str(http.store.revision)
    async with asyncio.timeout(5), http.stream(CONFIGS, watch="1", resourceVersion=since, timeoutSeconds="1") as watch:
        assert await watch.content.read() == b""


async def test_a_version_that_is_too_old_is_told_in_the_stream(http) -> None:
    since = str(http.store.revision)
    await http.post(CONFIGS, a_config())
    http.store.compact()
    async with http.stream(CONFIGS, watch="1", resourceVersion=since) as watch:
        [event] = await lines(watch, 1)
        assert (watch.status, event["type"]) == (200, "ERROR")
        assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
        assert await watch.content.read() == b""


async def test_rows_are_streamed_with_headings_only_once(http) -> None:
    async with http._session.get(CONFIGS, params={"watch": "1"}, headers={"Accept": TABLE}) as watch:
        await http.post(CONFIGS, a_config("a"))
        await http.post(CONFIGS, a_config("b"))
        first, second = await lines(watch, 2)
    assert [column["name"] for column in first["object"]["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert second["object"]["columnDefinitions"] is None
    assert [event["object"]["rows"][0]["cells"][0] for event in (first, second)] == ["a", "b"]


async def test_a_watch_whose_client_goes_away_is_forgotten(http) -> None:
    async with http.stream(CONFIGS, watch="1", resourceVersion=str(http.store.revision)) as watch:
        assert len(http.server._watches._open) == 1
        watch.close()
    async with asyncio.timeout(5):
        while http.server._watches._open:  # noqa: ASYNC110 - the server's side of the connection is waited for
            await asyncio.sleep(0.01)


async def test_a_server_that_stops_ends_its_watches_cleanly(http) -> None:
    server = ApiServer(http.store)
    await server.start()
    query = {"watch": "1", "resourceVersion": str(http.store.revision)}
    async with Http(server, http.store).session() as client, client.stream(CONFIGS, **query) as watch:
        loop = asyncio.get_running_loop()
        started = loop.time()
        stopping = asyncio.create_task(server.stop())
        assert await watch.content.read() == b""
        await stopping
        assert loop.time() - started < 1
