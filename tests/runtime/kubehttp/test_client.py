"""The HTTP client: what it asks, what it makes of answers, when it asks again."""

import asyncio
import json

import pytest
from aiohttp import web

from karpenter.model import core
from karpenter.runtime.kube import (
    EVENTS,
    NODE_CLAIMS,
    NODES,
    PODS,
    AlreadyExists,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    MethodNotAllowed,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
)
from karpenter.runtime.kubehttp import Connection
from karpenter.runtime.kubehttp.connection import User
from tests.runtime.kubehttp.scripted_api import (
    a_pod,
    a_pod_list,
    a_reply,
    a_status,
    a_watch,
    hang_up,
)

pytestmark = pytest.mark.real_time

LOST_READ = (hang_up, hang_up)
"""aiohttp itself asks a second time when a GET is lost, before we hear of it."""


async def drained(stream) -> list:
    return [event async for event in stream]


def names(listing) -> list[str]:
    return [pod.metadata.name for pod in listing.items]


async def test_an_object_is_read_into_its_wire_struct(api, client) -> None:
    api.will(a_reply(a_pod("api-0", spec={"nodeName": "n1", "unknown": 1})))
    pod = await client.get(PODS, "api-0", namespace="web")
    assert isinstance(pod, core.Pod)
    assert (pod.metadata.name, pod.spec.node_name) == ("api-0", "n1")
    assert api.asked[0].path == "/api/v1/namespaces/web/pods/api-0"


async def test_resources_of_a_group_and_cluster_scoped_ones_have_their_own_paths(api, client) -> None:
    api.will(a_reply({"metadata": {"name": "x"}}), a_reply({"metadata": {"name": "n1"}}))
    await client.get(NODE_CLAIMS, "x")
    await client.get(NODES, "n1")
    assert [asked.path for asked in api.asked] == ["/apis/karpenter.sh/v1/nodeclaims/x", "/api/v1/nodes/n1"]


async def test_a_name_cannot_lead_to_another_path(api, client) -> None:
    api.will(a_reply(a_pod("x")))
    await client.get(PODS, "../../nodes", namespace="web")
    assert api.asked[0].path == "/api/v1/namespaces/web/pods/..%2F..%2Fnodes"


async def test_an_empty_name_or_namespace_is_refused_before_it_means_something_else(api, client) -> None:
    with pytest.raises(BadRequest, match="Node: a name is required"):
        await client.delete(NODES, "")
    with pytest.raises(BadRequest, match="Pod api-0: a namespace is required"):
        await client.get(PODS, "api-0")
    assert api.asked == []


async def test_a_list_is_read_page_by_page_with_its_selectors(api, client) -> None:
    api.will(a_pod_list(a_pod("a"), following="more"), a_pod_list(a_pod("b"), version=9))
    listing = await client.list(PODS, label_selector="app=web,tier!=db", field_selector="spec.nodeName=n1")
    assert (names(listing), listing.resource_version) == (["a", "b"], "9")
    selectors = {"labelSelector": "app=web,tier!=db", "fieldSelector": "spec.nodeName=n1", "limit": "500"}
    assert [(asked.path, asked.query) for asked in api.asked] == [
        ("/api/v1/pods", selectors),
        ("/api/v1/pods", {**selectors, "continue": "more"}),
    ]


async def test_a_list_in_one_namespace_asks_for_that_one(api, client) -> None:
    api.will(a_pod_list())
    assert names(await client.list(PODS, namespace="web")) == []
    assert api.asked[0].path == "/api/v1/namespaces/web/pods"


async def test_a_list_whose_pages_expire_starts_again_in_one_piece(api, client) -> None:
    api.will(
        a_pod_list(a_pod("a"), following="more"),
        a_status(410, "Expired", "the provided continue parameter is too old"),
        a_pod_list(a_pod("a"), a_pod("b"), version=12),
    )
    listing = await client.list(PODS)
    assert (names(listing), listing.resource_version) == (["a", "b"], "12")
    assert api.asked[2].query == {}


async def test_items_of_a_raw_list_get_the_kind_that_lists_leave_out(api, client) -> None:
    api.will(a_reply({"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "e"}}]}))
    listing = await client.list(EVENTS)
    assert listing.items == ({"metadata": {"name": "e"}, "apiVersion": "v1", "kind": "Event"},)


async def test_nulls_in_maps_and_lists_are_read_as_nothing(api, client) -> None:
    pod = a_pod("a", spec={"containers": [None, {"name": "c", "ports": None}], "nodeSelector": None})
    pod["metadata"]["labels"] = {"app": "web", "odd": None}
    api.will(a_reply(pod), a_reply({"metadata": {"resourceVersion": "7"}, "items": None}))
    read = await client.get(PODS, "a", namespace="web")
    assert read.metadata.labels == {"app": "web"}
    assert read.spec.containers == (core.Container(name="c"),)
    assert (await client.list(PODS)).items == ()


async def test_an_answer_that_is_no_such_object_names_kind_and_place(api, client) -> None:
    api.will(a_reply(a_pod("a", spec={"nodeName": 5})))
    with pytest.raises(KubeError, match=r"Pod from the API server: Expected `str`, got `int` - at `\$.spec.nodeName`"):
        await client.get(PODS, "a", namespace="web")


async def test_an_answer_that_is_no_json_is_an_error(api, client) -> None:
    api.will(a_watch("<html>"))
    with pytest.raises(KubeError, match="Pod from the API server: JSON is malformed"):
        await client.get(PODS, "a", namespace="web")


@pytest.mark.parametrize(
    "code, reason, error",
    [
        (400, "BadRequest", BadRequest),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (405, "MethodNotAllowed", MethodNotAllowed),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Gone),
        (410, "Gone", Gone),
        (415, "UnsupportedMediaType", UnsupportedMediaType),
        (422, "Invalid", Invalid),
        (500, "InternalError", KubeError),
        (404, "", NotFound),
        (409, "", Conflict),
    ],
)
async def test_a_status_becomes_the_error_of_its_reason_else_of_its_code(api, client, code, reason, error) -> None:
    api.will(a_status(code, reason, "why not", kind="pods", name="a"))
    with pytest.raises(KubeError) as caught:
        await client.create(PODS, a_pod("a"))
    assert type(caught.value) is error
    assert (caught.value.message, caught.value.details) == ("why not", {"kind": "pods", "name": "a"})


async def test_an_error_page_of_a_proxy_is_quoted_briefly(api, client) -> None:
    api.will(web.Response(status=404, text="<h1>404</h1>\n\npage   not found" + "x" * 1000))
    with pytest.raises(NotFound, match=r"^HTTP 404: <h1>404</h1> page not foundx{200,300}$"):
        await client.get(PODS, "a", namespace="web")


async def test_a_redirect_is_not_followed(api, client) -> None:
    api.will(a_reply({}, status=302, headers={"Location": "http://127.0.0.1:9/"}))
    with pytest.raises(KubeError, match="HTTP 302"):
        await client.get(PODS, "a", namespace="web")


async def test_a_create_sends_kind_and_field_manager_to_the_objects_namespace(api, client) -> None:
    api.will(a_reply(a_pod("a"), status=201))
    await client.create(PODS, {"metadata": {"name": "a", "namespace": "web"}})
    (asked,) = api.asked
    assert (asked.method, asked.path, asked.query) == (
        "POST",
        "/api/v1/namespaces/web/pods",
        {"fieldManager": "karpenter"},
    )
    assert asked.body == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "web"}}


@pytest.mark.parametrize(
    "patch_type, content_type, query",
    [
        ("merge", "application/merge-patch+json", {}),
        ("json", "application/json-patch+json", {}),
        ("strategic", "application/strategic-merge-patch+json", {}),
        ("apply", "application/apply-patch+yaml", {"force": "true"}),
    ],
)
async def test_every_kind_of_patch_has_its_content_type(api, client, patch_type, content_type, query) -> None:
    api.will(a_reply({"metadata": {"name": "n1"}}))
    await client.patch(NODES, "n1", {"spec": {"unschedulable": True}}, patch_type=patch_type)
    (asked,) = api.asked
    assert (asked.method, asked.path, asked.headers["Content-Type"]) == ("PATCH", "/api/v1/nodes/n1", content_type)
    assert (asked.query, asked.body) == ({"fieldManager": "karpenter", **query}, {"spec": {"unschedulable": True}})


async def test_a_subresource_is_patched_at_its_own_path(api, client) -> None:
    api.will(a_reply({"metadata": {"name": "x"}}))
    await client.patch(NODE_CLAIMS, "x", {"status": {}}, subresource="status")
    assert api.asked[0].path == "/apis/karpenter.sh/v1/nodeclaims/x/status"


async def test_a_delete_says_how(api, client) -> None:
    api.will(a_reply({"kind": "Status"}), a_reply({"kind": "Status"}))
    await client.delete(NODES, "n1")
    await client.delete(PODS, "a", namespace="web", uid="u", grace_period_s=0, propagation="Foreground")
    assert [asked.body for asked in api.asked] == [
        {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"},
        {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Foreground",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": "u"},
        },
    ]


async def test_an_eviction_names_the_pod_and_how(api, client) -> None:
    api.will(a_reply({"kind": "Status"}, status=201))
    await client.evict("a", namespace="web", uid="u", grace_period_s=30)
    (asked,) = api.asked
    assert (asked.method, asked.path) == ("POST", "/api/v1/namespaces/web/pods/a/eviction")
    assert asked.body == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "a", "namespace": "web"},
        "deleteOptions": {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": "u"},
            "gracePeriodSeconds": 30,
        },
    }


async def test_a_binding_names_pod_and_node(api, client) -> None:
    api.will(a_reply({"kind": "Status"}, status=201))
    await client.bind("a", namespace="web", node="n1")
    (asked,) = api.asked
    assert asked.path == "/api/v1/namespaces/web/pods/a/binding"
    assert asked.body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a", "namespace": "web"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }


async def test_a_refused_eviction_is_the_callers_to_repeat(api, client, swift) -> None:
    """TV-128: the eviction queue has the back-off, not the client."""
    cause = {
        "reason": "DisruptionBudget",
        "message": "The disruption budget db needs 1 healthy pods and has 1 currently",
    }
    api.will(a_status(429, "TooManyRequests", "Cannot evict pod", causes=[cause]))
    with pytest.raises(TooManyRequests) as caught:
        await client.evict("a", namespace="web")
    assert caught.value.details == {"causes": [cause]}
    assert (len(api.asked), swift.waits) == (1, [])


async def test_told_to_slow_down_the_client_waits_as_long_as_it_is_told(api, client, swift) -> None:
    api.will(
        a_status(429, "TooManyRequests", headers={"Retry-After": "7"}),
        a_status(429, "TooManyRequests", retryAfterSeconds=3),
        a_reply(a_pod("a"), status=201),
    )
    await client.create(PODS, a_pod("a"))
    assert swift.waits == [7.0, 3.0]


async def test_a_wait_longer_than_half_a_minute_is_left_to_the_caller(api, client, swift) -> None:
    api.will(a_status(429, "TooManyRequests", headers={"Retry-After": "120"}))
    with pytest.raises(TooManyRequests) as caught:
        await client.get(PODS, "a", namespace="web")
    assert (caught.value.retry_after_s, swift.waits) == (120.0, [])


async def test_a_read_is_repeated_with_growing_waits_while_the_server_is_away(api, client, swift) -> None:
    api.will(*LOST_READ, a_status(503, "ServiceUnavailable"), a_status(504, "Timeout"), a_reply(a_pod("a")))
    await client.get(PODS, "a", namespace="web")
    assert len(swift.waits) == 3
    assert all(low <= wait <= 2 * low for wait, low in zip(swift.waits, (0.1, 0.2, 0.4), strict=True))


async def test_a_read_is_given_up_after_five_attempts(api, client, swift) -> None:
    api.will(*[a_status(503, "ServiceUnavailable", f"attempt {number}") for number in range(1, 9)])
    with pytest.raises(Unavailable, match="attempt 5"):
        await client.get(PODS, "a", namespace="web")
    assert len(api.asked) == 5


async def test_a_create_that_may_have_arrived_is_not_sent_again(api, client, swift) -> None:
    api.will(hang_up)
    with pytest.raises(Unavailable, match=r"connection to .* failed"):
        await client.create(PODS, a_pod("a"))
    assert (len(api.asked), swift.waits) == (1, [])


async def test_a_create_is_sent_again_when_the_server_says_when(api, client, swift) -> None:
    api.will(a_status(503, "ServiceUnavailable", headers={"Retry-After": "1"}), a_reply(a_pod("a"), status=201))
    await client.create(PODS, a_pod("a"))
    assert swift.waits == [1.0]


async def test_a_json_patch_is_sent_once_and_a_merge_patch_again(api, client) -> None:
    api.will(hang_up)
    with pytest.raises(Unavailable):
        await client.patch(NODES, "n1", [{"op": "add", "path": "/spec/taints/-", "value": {}}], patch_type="json")
    api.will(hang_up, a_reply({"metadata": {"name": "n1"}}))
    await client.patch(NODES, "n1", {"spec": {"unschedulable": True}})


async def test_what_never_reached_the_server_is_sent_again_whatever_it_is(swift, make_client, unused_tcp_port) -> None:
    client = make_client(connection=Connection(server=f"http://127.0.0.1:{unused_tcp_port}", origin="a test"))
    with pytest.raises(Unavailable, match="cannot be reached"):
        await client.create(PODS, a_pod("a"))
    assert len(swift.waits) == 4


async def test_a_conflict_is_never_repeated(api, client) -> None:
    api.will(a_status(409, "Conflict"))
    with pytest.raises(Conflict):
        await client.patch(NODES, "n1", {"metadata": {"resourceVersion": "5"}})
    assert len(api.asked) == 1


async def test_requests_beyond_the_burst_wait_for_the_rate(api, swift, make_client) -> None:
    client = make_client(qps=2.0, burst=3)
    api.will(*[a_reply(a_pod("a")) for _ in range(6)])
    await asyncio.gather(*[client.get(PODS, "a", namespace="web") for _ in range(6)])
    assert swift.waits == pytest.approx([0.5, 1.0, 1.5], abs=0.05)


async def test_requests_are_counted_by_code_and_timed(api, client, metrics) -> None:
    api.will(*LOST_READ, a_reply(a_pod("a")), a_status(404, "NotFound"))
    await client.get(PODS, "a", namespace="web")
    with pytest.raises(NotFound):
        await client.get(PODS, "a", namespace="web")
    count = metrics.registry.get_sample_value
    assert {
        code: count("client_go_request_total", {"code": code, "method": "GET"}) for code in ("200", "404", "<error>")
    } == {"200": 1, "404": 1, "<error>": 1}
    labels = {"verb": "get", "group": "", "version": "v1", "kind": "Pod", "subresource": ""}
    assert count("client_go_request_duration_seconds_count", labels) == 3


async def test_the_client_says_who_it_is(api, make_client) -> None:
    api.will(a_reply(a_pod("a")), a_reply(a_pod("a")))
    groups = (("Impersonate-User", "jane"), ("Impersonate-Group", "dev"))
    await make_client(User(token="secret", impersonation=groups)).get(PODS, "a", namespace="web")
    await make_client(User(username="jane", password="p:w")).get(PODS, "a", namespace="web")
    first, second = (asked.headers for asked in api.asked)
    assert first["User-Agent"].startswith("karpenter/")
    assert (first["Authorization"], first["Impersonate-User"], first["Impersonate-Group"]) == (
        "Bearer secret",
        "jane",
        "dev",
    )
    assert second["Authorization"] == "Basic amFuZTpwOnc="


async def test_a_watch_yields_changes_and_bookmarks_and_ends_when_it_is_cut(api, client) -> None:
    api.will(
        a_watch(
            {"type": "ADDED", "object": a_pod("a", 8)},
            {"type": "MODIFIED", "object": a_pod("a", 9)},
            {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "12"}}},
            {"type": "DELETED", "object": a_pod("a", 13)},
        )
    )
    events = await drained(client.watch(PODS, resource_version="7", label_selector="app=web"))
    assert [(event.type, event.object and event.object.metadata.name, event.resource_version) for event in events] == [
        ("ADDED", "a", "8"), ("MODIFIED", "a", "9"), ("BOOKMARK", None, "12"), ("DELETED", "a", "13"),
    ]  # fmt: skip
    query = api.asked[0].query
    assert 300 <= int(query.pop("timeoutSeconds")) <= 600
    assert query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "labelSelector": "app=web",
    }


async def test_a_connection_that_breaks_in_the_middle_of_a_line_is_a_cut(api, client) -> None:
    api.will(a_watch({"type": "ADDED", "object": a_pod("a", 8)}, '{"type":"MODI', abort=True))
    events = await drained(client.watch(PODS, resource_version="7"))
    assert [event.resource_version for event in events] == ["8"]


async def test_a_watch_from_too_long_ago_is_gone_at_once_or_later(api, client) -> None:
    api.will(a_status(410, "Expired", "too old resource version: 7 (90)"))
    with pytest.raises(Gone, match="too old resource version"):
        await drained(client.watch(PODS, resource_version="7"))
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 7 (90)"}
    api.will(a_watch({"type": "ERROR", "object": status}))
    with pytest.raises(Gone, match="too old resource version"):
        await drained(client.watch(PODS, resource_version="7"))


async def test_an_event_may_be_as_large_as_an_object_can_be(api, client) -> None:
    large = a_pod("a", 8)
    large["metadata"]["annotations"] = {"data": "x" * 1_500_000}
    api.will(a_watch({"type": "ADDED", "object": large}))
    (event,) = await drained(client.watch(PODS, resource_version="7"))
    assert len(event.object.metadata.annotations["data"]) == 1_500_000


async def test_a_watch_that_cannot_be_opened_is_an_error_and_not_repeated_here(api, client, swift) -> None:
    api.will(a_status(503, "ServiceUnavailable"))
    with pytest.raises(Unavailable):
        await drained(client.watch(PODS, resource_version="7"))
    assert swift.waits == []


async def test_a_raw_event_keeps_everything(api, client) -> None:
    claim = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "x", "resourceVersion": "8"}}
    api.will(a_watch({"type": "ADDED", "object": {**claim, "spec": {"anything": [1, None]}}}))
    (event,) = await drained(client.watch(NODE_CLAIMS, resource_version="7"))
    assert event.object == {**claim, "spec": {"anything": [1, None]}}
    assert json.dumps(event.object)


async def test_a_cancelled_watch_closes_its_connection(api, client) -> None:
    opened, closed = asyncio.Event(), asyncio.Event()

    async def forever(request):
        response = await a_watch({"type": "ADDED", "object": a_pod("a", 8)})(request)
        opened.set()
        try:
            await asyncio.sleep(3600)
        finally:
            closed.set()
        return response

    api.will(forever)
    watching = asyncio.create_task(drained(client.watch(PODS, resource_version="7")))
    await opened.wait()
    watching.cancel()
    await client.close()
    async with asyncio.timeout(10):
        await closed.wait()
