"""What every `KubeClient` does, whichever way it reaches its API server. One suite, run for each of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from karpenter.model.units import ObjectKey
from karpenter.runtime.clock import WallClock
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import (
    CONFIG_MAPS,
    NODES,
    PDBS,
    PODS,
    AlreadyExists,
    BadRequest,
    Conflict,
    Gone,
    Invalid,
    KubeClient,
    KubeError,
    NotFound,
    Resource,
    TooManyRequests,
    WatchEvent,
)
from karpenter.runtime.kubehttp import HttpKubeClient, find_connection
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.sim.apiserver import ApiServer

pytestmark = pytest.mark.real_time


@dataclass
class Server:
    """An API server, a client of it, and what it can be made to do."""

    kube: KubeClient
    store: MemoryStore

    @property
    def quick(self) -> KubeClient:
        """A client that spares the network and has no limits, to fill the server with."""
        return MemoryKubeClient(self.store)

    def cut_watches(self) -> None:
        self.store.cut_watches()

    def forget_history(self) -> None:
        self.store.compact()


@asynccontextmanager
async def in_memory(folder: Path) -> AsyncIterator[Server]:
    store = MemoryStore(WallClock())
    yield Server(MemoryKubeClient(store), store)


@asynccontextmanager
async def over_http(folder: Path) -> AsyncIterator[Server]:
    """Over TLS on loopback, with the kubeconfig that the embedded API server writes for kubectl."""
    clock = WallClock()
    store = MemoryStore(clock)
    api = ApiServer(store)
    await api.start()
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(api.kubeconfig())
    client = HttpKubeClient(find_connection({}, kubeconfig=kubeconfig), clock=clock)
    try:
        yield Server(client, store)
    finally:
        await client.close()
        await api.stop()


SERVERS = {"memory": in_memory, "http": over_http}


@pytest.fixture(params=SERVERS)
async def server(request, tmp_path) -> AsyncIterator[Server]:
    async with SERVERS[request.param](tmp_path) as server:
        yield server


@pytest.fixture
def kube(server) -> KubeClient:
    return server.kube


def a_config(name: str, data: dict[str, str] | None = None, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "data": data or {}}


def a_pod(name: str, *, node: str = "", grace_s: int = 0, **labels: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "app"}], "terminationGracePeriodSeconds": grace_s}
    return {"metadata": {"name": name, "labels": labels}, "spec": {**spec, **({"nodeName": node} if node else {})}}


def names(objects) -> list[str]:
    return sorted(obj["metadata"]["name"] if isinstance(obj, dict) else obj.metadata.name for obj in objects)


async def put(kube: KubeClient, body: dict[str, Any], *, namespace: str = "default") -> dict[str, Any]:
    return await kube.create(CONFIG_MAPS, body, namespace=namespace)


async def events(
    kube: KubeClient, count: int, *, since: str, resource: Resource = CONFIG_MAPS, **scope: str
) -> list[str]:
    """Return the next changes as `ADDED name`."""
    heard: list[str] = []
    async with asyncio.timeout(10):
        async for event in kube.watch(resource, resource_version=since, **scope):
            if event.object is not None:
                heard.append(f"{event.type} {names([event.object])[0]}")
            if len(heard) == count:
                break
    return heard


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while not await condition():  # noqa: ASYNC110 - it is the server's state that is waited for
            await asyncio.sleep(0.01)


async def is_gone(kube: KubeClient, resource: Resource, name: str, namespace: str = "default") -> bool:
    try:
        await kube.get(resource, name, namespace=namespace)
    except NotFound:
        return True
    return False


# objects --------------------------------------------------------------------------------------------------------------


async def test_an_object_is_read_as_it_was_stored_with_the_servers_stamps(kube) -> None:
    stored = await put(kube, a_config("a", {"key": "value"}, app="web"))
    assert stored == await kube.get(CONFIG_MAPS, "a", namespace="default")
    metadata = stored["metadata"]
    assert (stored["kind"], stored["apiVersion"], stored["data"]) == ("ConfigMap", "v1", {"key": "value"})
    assert (metadata["name"], metadata["namespace"], metadata["labels"]) == ("a", "default", {"app": "web"})
    assert all(metadata[field] for field in ("uid", "resourceVersion", "creationTimestamp"))


async def test_the_namespace_of_the_object_counts_when_none_is_given(kube) -> None:
    await kube.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "kube-system"}})
    assert (await kube.get(CONFIG_MAPS, "a", namespace="kube-system"))["metadata"]["namespace"] == "kube-system"


async def test_wire_structs_are_decoded(kube) -> None:
    pod = await kube.create(PODS, a_pod("a", node="n1", app="web"), namespace="default")
    assert (pod.metadata.key, pod.spec.node_name, pod.metadata.labels) == (
        ObjectKey("default", "a"),
        "n1",
        {"app": "web"},
    )


async def test_a_generated_name_begins_as_asked_and_differs_each_time(kube) -> None:
    made = [await put(kube, {"metadata": {"generateName": "claim-"}}) for _ in range(2)]
    first, second = (obj["metadata"]["name"] for obj in made)
    assert first.startswith("claim-")
    assert first != second


async def test_a_name_that_is_taken_already_exists(kube) -> None:
    await put(kube, a_config("a"))
    with pytest.raises(AlreadyExists) as caught:
        await put(kube, a_config("a"))
    assert caught.value.details["name"] == "a"


async def test_what_is_not_there_is_not_found(kube) -> None:
    with pytest.raises(NotFound, match=r'configmaps "a" not found'):
        await kube.get(CONFIG_MAPS, "a", namespace="default")
    with pytest.raises(NotFound):
        await kube.patch(CONFIG_MAPS, "a", {"data": {}}, namespace="default")
    with pytest.raises(NotFound):
        await kube.delete(CONFIG_MAPS, "a", namespace="default")
    with pytest.raises(NotFound):
        await put(kube, a_config("a"), namespace="no-such-namespace")
    with pytest.raises(NotFound):
        await kube.list(Resource("nobody.example.com", "v1", "things", "Thing", dict))


async def test_an_object_that_cannot_be_is_invalid(kube) -> None:
    with pytest.raises(Invalid):
        await put(kube, {"metadata": {"name": "Not A Name"}})


async def test_an_object_without_a_name_is_refused(kube) -> None:
    with pytest.raises((Invalid, BadRequest)):
        await put(kube, {"metadata": {}})


# lists ----------------------------------------------------------------------------------------------------------------


async def test_a_list_has_what_its_namespace_and_selectors_say(kube) -> None:
    await put(kube, a_config("a", app="web"))
    await put(kube, a_config("b", app="db"))
    await put(kube, a_config("c", app="web"), namespace="kube-system")

    async def listed(**scope: str) -> list[str]:
        return names((await kube.list(CONFIG_MAPS, **scope)).items)

    assert await listed(label_selector="app") == ["a", "b", "c"]  # of all namespaces; a server has its own as well
    assert await listed(namespace="default") == ["a", "b"]
    assert await listed(label_selector="app=web") == ["a", "c"]
    assert await listed(label_selector="app in (db, cache)") == ["b"]
    assert await listed(namespace="default", label_selector="app!=web") == ["b"]
    assert await listed(namespace="default", label_selector="!app") == []
    assert await listed(field_selector="metadata.name=b") == ["b"]
    assert await listed(namespace="default", label_selector="app=web", field_selector="metadata.name!=b") == ["a"]


async def test_pods_can_be_listed_by_their_node(kube) -> None:
    await kube.create(PODS, a_pod("a", node="n1"), namespace="default")
    await kube.create(PODS, a_pod("b"), namespace="default")
    assert names((await kube.list(PODS, field_selector="spec.nodeName=n1")).items) == ["a"]
    assert names((await kube.list(PODS, field_selector="spec.nodeName=")).items) == ["b"]


async def test_a_list_longer_than_a_page_is_whole_and_in_order(server, kube) -> None:
    for number in range(1_100):
        await put(server.quick, a_config(f"c{number:04}"))
    listing = await kube.list(CONFIG_MAPS, namespace="default")
    assert [obj["metadata"]["name"] for obj in listing.items] == [f"c{number:04}" for number in range(1_100)]


async def test_the_items_of_a_list_say_what_they_are(kube) -> None:
    await put(kube, a_config("a"))
    (item,) = (await kube.list(CONFIG_MAPS, namespace="default")).items
    assert (item["kind"], item["apiVersion"]) == ("ConfigMap", "v1")


async def test_a_selector_that_cannot_be_read_is_a_bad_request(kube) -> None:
    with pytest.raises(BadRequest):
        await kube.list(CONFIG_MAPS, label_selector="app in web")


# patches --------------------------------------------------------------------------------------------------------------


async def test_a_merge_patch_changes_what_it_names_and_removes_what_it_nulls(kube) -> None:
    await put(kube, a_config("a", {"keep": "1", "change": "1", "drop": "1"}))
    patched = await kube.patch(CONFIG_MAPS, "a", {"data": {"change": "2", "drop": None}}, namespace="default")
    assert patched["data"] == {"keep": "1", "change": "2"}
    assert patched == await kube.get(CONFIG_MAPS, "a", namespace="default")


async def test_a_patch_that_names_an_old_version_conflicts(kube) -> None:
    first = await put(kube, a_config("a"))
    version = first["metadata"]["resourceVersion"]
    await kube.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, namespace="default")
    with pytest.raises(Conflict):
        await kube.patch(
            CONFIG_MAPS, "a", {"metadata": {"resourceVersion": version}, "data": {"x": "2"}}, namespace="default"
        )


async def test_a_patch_that_changes_nothing_is_no_new_version(kube) -> None:
    stored = await put(kube, a_config("a", {"x": "1"}))
    patched = await kube.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, namespace="default")
    assert patched["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]


async def test_a_json_patch_is_applied_and_its_tests_hold(kube) -> None:
    await put(kube, a_config("a", {"x": "1"}))
    patch = [{"op": "test", "path": "/data/x", "value": "1"}, {"op": "add", "path": "/data/y", "value": "2"}]
    patched = await kube.patch(CONFIG_MAPS, "a", patch, namespace="default", patch_type="json")
    assert patched["data"] == {"x": "1", "y": "2"}
    with pytest.raises(KubeError):
        await kube.patch(
            CONFIG_MAPS,
            "a",
            [{"op": "test", "path": "/data/x", "value": "9"}],
            namespace="default",
            patch_type="json",
        )


async def test_a_strategic_patch_merges_lists_by_their_keys(kube) -> None:
    await kube.create(NODES, {"metadata": {"name": "n1"}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    for patch in (
        {"status": {"conditions": [condition]}},
        {"status": {"conditions": [{"type": "Disk", "status": "False"}]}},
    ):
        node = await kube.patch(NODES, "n1", patch, patch_type="strategic", subresource="status")
    assert sorted(one.type for one in node.status.conditions) == ["Disk", "Ready"]


async def test_an_applied_object_is_created_and_then_changed(kube) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1", "y": "1"}}
    created = await kube.patch(CONFIG_MAPS, "a", body, namespace="default", patch_type="apply")
    changed = await kube.patch(CONFIG_MAPS, "a", {**body, "data": {"x": "2"}}, namespace="default", patch_type="apply")
    assert (created["data"], changed["data"]) == ({"x": "1", "y": "1"}, {"x": "2"})
    assert created["metadata"]["uid"] == changed["metadata"]["uid"]


async def test_status_is_written_at_its_own_place_and_nowhere_else(kube) -> None:
    await kube.create(NODES, {"metadata": {"name": "n1"}})
    ignored = await kube.patch(NODES, "n1", {"status": {"capacity": {"cpu": "4"}}, "spec": {"unschedulable": True}})
    assert (ignored.status.capacity, ignored.spec.unschedulable) == ({}, True)
    both = {"status": {"capacity": {"cpu": "4"}}, "spec": {"unschedulable": False}}
    node = await kube.patch(NODES, "n1", both, subresource="status")
    assert (node.status.capacity, node.spec.unschedulable) == ({"cpu": "4"}, True)


# deletion -------------------------------------------------------------------------------------------------------------


async def test_a_deleted_object_is_gone(kube) -> None:
    await put(kube, a_config("a"))
    await kube.delete(CONFIG_MAPS, "a", namespace="default")
    assert await is_gone(kube, CONFIG_MAPS, "a")


async def test_finalizers_keep_an_object_until_they_are_off(kube) -> None:
    await kube.create(NODES, {"metadata": {"name": "n1", "finalizers": ["karpenter.sh/termination"]}})
    await kube.delete(NODES, "n1")
    node = await kube.get(NODES, "n1")
    assert node.metadata.is_deleting
    await kube.delete(NODES, "n1")
    await kube.patch(NODES, "n1", {"metadata": {"finalizers": None}})
    assert await is_gone(kube, NODES, "n1", namespace="")


async def test_a_deletion_of_another_uid_conflicts(kube) -> None:
    stored = await put(kube, a_config("a"))
    with pytest.raises(Conflict):
        await kube.delete(CONFIG_MAPS, "a", namespace="default", uid="another")
    await kube.delete(CONFIG_MAPS, "a", namespace="default", uid=stored["metadata"]["uid"])
    assert await is_gone(kube, CONFIG_MAPS, "a")


async def test_a_running_pod_gets_its_grace_and_can_be_deleted_at_once(kube) -> None:
    await kube.create(PODS, a_pod("a", node="n1", grace_s=30), namespace="default")
    await kube.delete(PODS, "a", namespace="default")
    pod = await kube.get(PODS, "a", namespace="default")
    assert (pod.metadata.is_deleting, pod.metadata.deletion_grace_period_seconds) == (True, 30)
    await kube.delete(PODS, "a", namespace="default", grace_period_s=0)
    assert await is_gone(kube, PODS, "a")


# pods -----------------------------------------------------------------------------------------------------------------


async def test_an_eviction_deletes_a_pod_that_no_budget_covers(kube) -> None:
    pod = await kube.create(PODS, a_pod("a", node="n1"), namespace="default")
    with pytest.raises(Conflict):
        await kube.evict("a", namespace="default", uid="another")
    await kube.evict("a", namespace="default", uid=pod.metadata.uid, grace_period_s=0)
    assert await is_gone(kube, PODS, "a")
    with pytest.raises(NotFound):
        await kube.evict("a", namespace="default")


async def test_an_eviction_that_a_budget_forbids_is_too_many_requests_with_the_budget_as_cause(kube) -> None:
    await kube.create(PODS, a_pod("a", node="n1", app="db"), namespace="default")
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await kube.patch(PODS, "a", {"status": running}, namespace="default", subresource="status")
    budget = {"metadata": {"name": "db"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}}}
    stored = await kube.create(PDBS, budget, namespace="default")
    status = {"observedGeneration": stored.metadata.generation, "disruptionsAllowed": 0, "currentHealthy": 1}
    status |= {"desiredHealthy": 1, "expectedPods": 1}
    await kube.patch(PDBS, "db", {"status": status}, namespace="default", subresource="status")
    with pytest.raises(TooManyRequests) as caught:
        await kube.evict("a", namespace="default")
    assert [cause["reason"] for cause in caught.value.details["causes"]] == ["DisruptionBudget"]
    assert not (await kube.get(PODS, "a", namespace="default")).metadata.is_deleting


async def test_a_pod_is_bound_to_a_node_once(kube) -> None:
    pod = await kube.create(PODS, a_pod("a"), namespace="default")
    await kube.bind("a", namespace="default", node="n1", uid=pod.metadata.uid)
    assert (await kube.get(PODS, "a", namespace="default")).spec.node_name == "n1"
    with pytest.raises(Conflict):
        await kube.bind("a", namespace="default", node="n2")
    with pytest.raises(NotFound):
        await kube.bind("b", namespace="default", node="n1")


# watches --------------------------------------------------------------------------------------------------------------


async def test_a_watch_tells_what_happened_since_a_list_and_what_happens_then(kube) -> None:
    since = (await kube.list(CONFIG_MAPS)).resource_version
    await put(kube, a_config("a"))
    watching = asyncio.create_task(events(kube, 4, since=since))
    await kube.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, namespace="default")
    await put(kube, a_config("b"))
    await kube.delete(CONFIG_MAPS, "a", namespace="default")
    assert await watching == ["ADDED a", "MODIFIED a", "ADDED b", "DELETED a"]


async def test_versions_rise_along_a_watch_and_any_of_them_can_be_resumed_from(kube) -> None:
    since = (await kube.list(CONFIG_MAPS)).resource_version
    for name in "abc":
        await put(kube, a_config(name))
    heard: list[WatchEvent[Any]] = []
    async with asyncio.timeout(10):
        async for event in kube.watch(CONFIG_MAPS, resource_version=since):
            heard.append(event)
            if len(heard) == 3:
                break
    versions = [int(event.resource_version) for event in heard]
    assert versions == sorted(set(versions))
    assert await events(kube, 1, since=heard[1].resource_version) == ["ADDED c"]


async def test_a_watch_with_selectors_tells_of_objects_that_come_into_view_and_leave_it(kube) -> None:
    await put(kube, a_config("a", app="db"))
    since = (await kube.list(CONFIG_MAPS)).resource_version
    await put(kube, a_config("elsewhere", app="web"), namespace="kube-system")
    for app in ("web", "web2", "web", "db"):
        await kube.patch(CONFIG_MAPS, "a", {"metadata": {"labels": {"app": app}}}, namespace="default")
    scope = {"namespace": "default", "label_selector": "app=web"}
    assert await events(kube, 4, since=since, **scope) == ["ADDED a", "DELETED a", "ADDED a", "DELETED a"]


async def test_a_deleted_event_carries_the_last_object_at_the_version_of_its_deletion(kube) -> None:
    stored = await put(kube, a_config("a", {"x": "1"}))
    since = stored["metadata"]["resourceVersion"]
    await kube.delete(CONFIG_MAPS, "a", namespace="default")
    async with asyncio.timeout(10):
        event = await anext(kube.watch(CONFIG_MAPS, resource_version=since))
    assert (event.type, event.object["data"]) == ("DELETED", {"x": "1"})
    assert int(event.resource_version) > int(since)


async def test_a_watch_ends_without_an_error_when_the_server_cuts_it(server, kube) -> None:
    since = (await kube.list(CONFIG_MAPS)).resource_version
    await put(kube, a_config("a"))
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def watch() -> None:
        async for event in kube.watch(CONFIG_MAPS, resource_version=since):
            heard.put_nowait(event.type)

    watching = asyncio.create_task(watch())
    async with asyncio.timeout(10):
        assert await heard.get() == "ADDED"
        server.cut_watches()
        await watching


async def test_a_watch_from_a_forgotten_version_is_gone(server, kube) -> None:
    since = (await kube.list(CONFIG_MAPS)).resource_version
    await put(kube, a_config("a"))
    await kube.delete(CONFIG_MAPS, "a", namespace="default")
    server.forget_history()
    with pytest.raises(Gone):
        await events(kube, 1, since=since)


async def test_an_informer_stays_right_through_cuts_and_forgotten_history(server, kube) -> None:
    informer = Informer(kube, CONFIG_MAPS, clock=WallClock())
    running = asyncio.create_task(informer.run())
    await informer.wait_synced()

    async def agrees() -> bool:
        listed = (await kube.list(CONFIG_MAPS)).items
        seen = {obj["metadata"]["uid"]: obj["metadata"]["resourceVersion"] for obj in informer.values()}
        return seen == {obj["metadata"]["uid"]: obj["metadata"]["resourceVersion"] for obj in listed}

    for round_number in range(4):
        await put(kube, a_config(f"stays-{round_number}"))
        await put(kube, a_config("comes-and-goes"))
        await until(agrees)
        server.cut_watches()
        await kube.delete(CONFIG_MAPS, "comes-and-goes", namespace="default")
        if round_number % 2:
            server.forget_history()
        await until(agrees)
    running.cancel()
