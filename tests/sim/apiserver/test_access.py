"""Tokens of service accounts, what roles let them do, and what pods are said to use."""

from typing import Any

import pytest

from tests.runtime.kubememory.api import a_node, a_pod

pytestmark = pytest.mark.real_time

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
PODS = "/api/v1/namespaces/default/pods"


async def a_token(http, name: str = "robot", **spec: Any) -> str:
    await http.post(ACCOUNTS, {"metadata": {"name": name}})
    made = await http.post(f"{ACCOUNTS}/{name}/token", {"spec": spec})
    assert made.status == 201
    return made.body["status"]["token"]


async def bind(http, verbs: list[str], resources: list[str], **more: Any) -> None:
    rule = {"apiGroups": [""], "verbs": verbs, "resources": resources, **more}
    await http.post(f"{ROLES}/roles", {"metadata": {"name": "r"}, "rules": [rule]})
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    await http.post(f"{ROLES}/rolebindings", {"metadata": {"name": "b"}, "roleRef": role, "subjects": [subject]})


@pytest.fixture
async def robot(http):
    """The same server, as a service account sees it."""
    token = await a_token(http)
    admin, http.token = http.token, token
    async with http.session():
        yield http
    http.token = admin


async def test_a_service_account_is_who_its_token_says_and_may_nothing(robot) -> None:
    asked = await robot.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert asked.body["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"
    refused = await robot.get(PODS)
    assert refused.status == 403
    assert refused.body["message"] == (
        'pods is forbidden: User "system:serviceaccount:default:robot" cannot list resource "pods" in API group "" in '
        'the namespace "default"'
    )
    assert 'nodes "n1" is forbidden' in (await robot.get("/api/v1/nodes/n1")).body["message"]


async def test_roles_let_it_do_what_they_name_where_they_are(http) -> None:
    await bind(http, ["get", "list"], ["pods", "pods/log"])
    admin, http.token = http.token, await a_token(http)
    async with http.session():
        assert (await http.get(PODS)).status == 200
        assert (await http.get(f"{PODS}/none")).status == 404
        assert (await http.post(PODS, a_pod("a"))).status == 403
        assert (await http.get("/api/v1/namespaces/kube-system/pods")).status == 403
        spec = {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"}}
        may = await http.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": spec})
        assert may.body["status"]["allowed"] is True
    http.token = admin


async def test_a_token_ends_with_its_account(http) -> None:
    token = await a_token(http)
    await http.call("DELETE", f"{ACCOUNTS}/robot")
    http.token = token
    async with http.session():
        assert (await http.get(PODS)).status == 401


async def test_a_token_that_was_changed_is_none(http) -> None:
    token = await a_token(http)
    head, body, signature = token.split(".")
    for wrong in (f"{head}.{body}x.{signature}", f"{head}.{body}", "nonsense", "a.b.c"):
        http.token = wrong
        async with http.session():
            assert (await http.get(PODS)).status == 401


async def test_a_token_lasts_ten_minutes_at_least(http) -> None:
    await http.post(ACCOUNTS, {"metadata": {"name": "robot"}})
    refused = await http.post(f"{ACCOUNTS}/robot/token", {"spec": {"expirationSeconds": 5}})
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")


async def test_running_pods_use_what_they_request(http) -> None:
    await http.post("/api/v1/nodes", a_node("n1"))
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}}}
    for name in ("runs", "waits"):
        await http.post(PODS, a_pod(name, spec={"nodeName": "n1", "containers": [container]}))
    await http.call(
        "PATCH",
        f"{PODS}/runs/status",
        {"status": {"phase": "Running"}},
        content_type="application/merge-patch+json",
    )
    usage = "/apis/metrics.k8s.io/v1beta1"
    node = (await http.get(f"{usage}/nodes/n1")).body
    assert (node["kind"], node["usage"]) == ("NodeMetrics", {"cpu": "250m", "memory": "64Mi"})
    pods = (await http.get(f"{usage}/namespaces/default/pods")).body
    assert [(one["metadata"]["name"], one["containers"][0]["name"]) for one in pods["items"]] == [("runs", "main")]
    assert (await http.get(f"{usage}/namespaces/default/pods/waits")).status == 404
