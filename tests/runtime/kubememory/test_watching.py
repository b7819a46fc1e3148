"""Following changes."""

import asyncio
from dataclasses import replace

import pytest

from karpenter.runtime.kube import CONFIG_MAPS, Gone
from karpenter.runtime.kubememory import MemoryKubeClient
from karpenter.runtime.kubememory.history import KEPT, Change, History
from karpenter.runtime.kubememory.selectors import select
from tests.runtime.kubememory.api import a_config, a_pod


async def test_a_watcher_sees_every_change_once_and_in_order(api) -> None:
    since = api.store.revision
    api.create(a_config())
    api.patch("configmaps", "settings", {"data": {"k": "v"}})
    api.delete("configmaps", "settings")
    with api.store.follow(api.kind("configmaps"), revision=since) as follower:
        changes = await follower.next()
    assert [(change.type, change.revision - since) for change in changes] == [
        ("ADDED", 1),
        ("MODIFIED", 2),
        ("DELETED", 3),
    ]


async def test_a_deletion_carries_the_last_state_at_the_version_of_the_deletion(api) -> None:
    created = api.create(a_config(data={"k": "v"}))
    api.delete("configmaps", "settings")
    with api.store.follow(api.kind("configmaps"), revision=api.store.revision - 1) as follower:
        [change] = await follower.next()
    last = change.after.decode()
    assert last["data"] == {"k": "v"}
    assert int(last["metadata"]["resourceVersion"]) == int(created["metadata"]["resourceVersion"]) + 1


async def test_an_object_enters_and_leaves_a_selection(api) -> None:
    api.create(a_config(labels={"app": "a"}))
    since = api.store.revision
    api.patch("configmaps", "settings", {"metadata": {"labels": {"app": "b"}}})
    api.patch("configmaps", "settings", {"data": {"k": "v"}})
    api.patch("configmaps", "settings", {"metadata": {"labels": {"app": "a"}}})
    with api.store.follow(api.kind("configmaps"), revision=since) as follower:
        changes = await follower.next()
    wanted = select(api.kind("configmaps"), label_selector="app=a")
    told = [change.seen_by(wanted) for change in changes]
    assert [found and found[0] for found in told] == ["DELETED", None, "ADDED"]
    gone = told[0][1].decode()
    assert gone["metadata"]["labels"] == {"app": "a"}
    assert int(gone["metadata"]["resourceVersion"]) == since + 1


async def test_a_pod_enters_the_selection_of_its_node_when_it_is_bound(api) -> None:
    api.create(a_pod())
    since = api.store.revision
    await MemoryKubeClient(api.store).bind("web", namespace="default", node="n1")
    with api.store.follow(api.kind("pods"), revision=since) as follower:
        [change] = await follower.next()
    assert change.seen_by(select(api.kind("pods"), field_selector="spec.nodeName=n1"))[0] == "ADDED"
    assert change.seen_by(select(api.kind("pods"), field_selector="spec.nodeName="))[0] == "DELETED"


async def test_a_watcher_waits_for_the_next_change(api) -> None:
    with api.store.follow(api.kind("configmaps"), revision=api.store.revision) as follower:
        waiting = asyncio.create_task(follower.next())
        await asyncio.sleep(1)
        assert not waiting.done()
        api.create(a_config())
        assert [change.type for change in await waiting] == ["ADDED"]


async def test_a_watcher_can_look_up_when_nothing_happens(api) -> None:
    loop = asyncio.get_running_loop()
    with api.store.follow(api.kind("configmaps"), revision=api.store.revision) as follower:
        assert await follower.next(within_s=30) == []
    assert loop.time() == 30


async def test_cut_watches_end_without_an_error_and_lose_nothing(api) -> None:
    client = MemoryKubeClient(api.store)
    heard = []

    async def listen(version: str) -> None:
        changes = client.watch(CONFIG_MAPS, resource_version=version)
        heard.extend([(event.type, event.object["metadata"]["name"]) async for event in changes])

    for name in ("a", "b"):
        listening = asyncio.create_task(listen(str(api.store.revision)))
        await asyncio.sleep(0)
        api.create(a_config(name))
        await asyncio.sleep(0.1)
        api.store.cut_watches()
        await listening
    assert heard == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_version_from_before_what_is_kept_is_gone(api) -> None:
    since = api.store.revision
    api.create(a_config())
    api.store.compact()
    with (
        pytest.raises(Gone, match="too old resource version"),
        api.store.follow(api.kind("configmaps"), revision=since) as follower,
    ):
        await follower.next()


async def test_a_quiet_kind_never_makes_its_watchers_list_again(api) -> None:
    since = api.store.revision
    for number in range(100):
        api.create(a_config(f"c{number}"))
    with api.store.follow(api.kind("pods"), revision=since) as follower:
        api.create(a_pod())
        assert [change.type for change in await follower.next()] == ["ADDED"]


def test_only_so_many_changes_are_kept(api) -> None:
    record = api.store.get(api.kind("configmaps"), api.key("configmaps", api.create(a_config())["metadata"]["name"]))
    history = History(0)
    for revision in range(1, 2 * KEPT + 2):
        history.append(Change("MODIFIED", record, replace(record, revision=revision)))
    assert len(history.since(KEPT + 1)) == KEPT
    with pytest.raises(Gone):
        history.since(KEPT)
