"""What requests are answered with: status codes, bodies, headers."""

import asyncio
import json

import msgspec
import pytest

from karpenter.model.units import ObjectKey
from tests.runtime.kubememory.api import a_config, a_definition, a_deployment, a_node, a_pod, a_widget
from tests.sim.apiserver.conftest import TABLE

pytestmark = pytest.mark.real_time

CONFIGS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PARTIAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


async def test_an_object_lives_over_http(http) -> None:
    created = await http.post(CONFIGS, a_config(data={"a": "1"}))
    assert (created.status, created.body["metadata"]["namespace"]) == (201, "default")
    assert (await http.get(f"{CONFIGS}/settings")).body == created.body
    replaced = await http.call("PUT", f"{CONFIGS}/settings", created.body | {"data": {"a": "2"}})
    assert (replaced.status, replaced.body["data"]) == (200, {"a": "2"})
    deleted = await http.call("DELETE", f"{CONFIGS}/settings")
    assert (deleted.status, deleted.body["status"], deleted.body["details"]["name"]) == (200, "Success", "settings")
    assert (await http.get(f"{CONFIGS}/settings")).status == 404


async def test_a_refusal_is_a_status_object(http) -> None:
    answer = await http.get(f"{DEPLOYMENTS}/web")
    assert answer.status == 404
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'deployments.apps "web" not found',
        "reason": "NotFound",
        "code": 404,
        "details": {"name": "web", "group": "apps", "kind": "deployments"},
    }


async def test_a_broken_rule_is_422_with_its_causes(http) -> None:
    answer = await http.post(DEPLOYMENTS, a_deployment(replicas=-1))
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert answer.body["details"]["causes"] == [
        {
            "reason": "FieldValueInvalid",
            "message": "Invalid value: -1: must be greater than or equal to 0",
            "field": "spec.replicas",
        }
    ]


async def test_without_the_token_nothing_is_told(http) -> None:
    for given in ("", "Bearer wrong", http.token):
        answer = await http.call("GET", "/api/v1/pods", None)
        assert answer.status == 200
        http._session.headers["Authorization"] = given
        refused = await http.get("/api/v1/pods")
        assert (refused.status, refused.body["reason"]) == (401, "Unauthorized")
        http._session.headers["Authorization"] = f"Bearer {http.token}"


async def test_anyone_may_ask_for_health_and_version(http) -> None:
    http._session.headers["Authorization"] = ""
    assert (await http.get("/readyz")).body == "ok"
    assert (await http.get("/version")).body["minor"] == "36"


@pytest.mark.parametrize(
    "path",
    ["/api/v1/gadgets", "/api/v1/namespaces/a/nodes"],
)
async def test_what_is_not_served_is_not_found(http, path) -> None:
    answer = await http.get(path)
    assert (answer.status, answer.body["message"]) == (404, "the server could not find the requested resource")


@pytest.mark.parametrize("path", ["/apis/example.com/v1/widgets", "/api/v2/pods", "/nothing"])
async def test_below_a_path_without_a_group_there_is_no_page(http, path) -> None:
    answer = await http.get(path)
    assert (answer.status, answer.body) == (404, "404 page not found\n")


async def test_a_method_that_makes_no_sense_is_refused(http) -> None:
    assert (await http.call("PUT", CONFIGS, a_config())).status == 405
    assert (await http.post("/api/v1/nodes/n1/status", {})).status == 405


async def test_a_body_that_cannot_be_read_is_a_bad_request(http) -> None:
    assert (await http.post(CONFIGS, "{not json")).status == 400
    assert (await http.post(CONFIGS, "[]")).status == 400
    assert (await http.post(CONFIGS, "a: [", content_type="application/yaml")).status == 400


async def test_yaml_is_read_like_json(http) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '1'}\n"
    answer = await http.post(CONFIGS, text, content_type="application/yaml")
    assert (answer.status, answer.body["data"]) == (201, {"a": "1"})


async def test_the_four_kinds_of_patch(http) -> None:
    await http.post(DEPLOYMENTS, a_deployment())
    path = f"{DEPLOYMENTS}/web"
    containers = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:1"}]}}}}
    answer = await http.patch(path, containers, "strategic")
    assert [one["name"] for one in answer.body["spec"]["template"]["spec"]["containers"]] == ["main", "side"] or [
        one["name"] for one in answer.body["spec"]["template"]["spec"]["containers"]
    ] == ["side", "main"]
    answer = await http.patch(path, [{"op": "replace", "path": "/spec/replicas", "value": 4}], "json")
    assert answer.body["spec"]["replicas"] == 4
    answer = await http.patch(path, {"spec": {"replicas": 5}}, "merge")
    assert answer.body["spec"]["replicas"] == 5
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {a: b}}\n"
    answer = await http.patch(path, text, "apply", fieldManager="me")
    assert answer.body["metadata"]["labels"] == {"a": "b"}


async def test_another_kind_of_patch_is_refused(http) -> None:
    await http.post(CONFIGS, a_config())
    answer = await http.call("PATCH", f"{CONFIGS}/settings", {}, content_type="text/plain")
    assert (answer.status, answer.body["reason"]) == (415, "UnsupportedMediaType")


async def test_applying_needs_a_manager_and_creates(http) -> None:
    assert (await http.patch(f"{CONFIGS}/settings", json.dumps(a_config()), "apply")).status == 422
    answer = await http.patch(f"{CONFIGS}/settings", json.dumps(a_config()), "apply", fieldManager="me")
    assert answer.status == 201


async def test_warnings_are_headers(http) -> None:
    http.store.admission.append(lambda _operation, _kind, new, _old: (new, ('say "what"', "second")))
    answer = await http.post(CONFIGS, a_config())
    assert answer.headers.getall("Warning") == ['299 - "say \\"what\\""', '299 - "second"']


async def test_unknown_fields_are_warned_of_or_refused(http) -> None:
    manifest = a_deployment(replicaz=1)
    warned = await http.post(DEPLOYMENTS, manifest)
    assert warned.headers["Warning"] == '299 - "unknown field \\"spec.replicaz\\""'
    assert (await http.post(DEPLOYMENTS, manifest, fieldValidation="Strict")).status == 400
    assert (await http.post(DEPLOYMENTS, manifest, fieldValidation="Loose")).status == 422


async def test_a_dry_run_stores_nothing(http) -> None:
    assert (await http.post(CONFIGS, a_config(), dryRun="All")).status == 201
    assert (await http.get(f"{CONFIGS}/settings")).status == 404
    assert (await http.post(CONFIGS, a_config(), dryRun="Some")).status == 422


async def test_a_list_tells_the_version_to_watch_from(http) -> None:
    await http.post(CONFIGS, a_config())
    body = (await http.get(CONFIGS)).body
    assert (body["kind"], body["apiVersion"]) == ("ConfigMapList", "v1")
    assert body["metadata"]["resourceVersion"] == str(http.store.revision)
    assert [one["metadata"]["name"] for one in body["items"]] == ["settings"]


async def test_selectors_narrow_a_list(http) -> None:
    await http.post(PODS, a_pod("a", labels={"app": "x"}, spec={"nodeName": "n1"}))
    await http.post(PODS, a_pod("b", labels={"app": "x"}))
    found = await http.get("/api/v1/pods", labelSelector="app in (x)", fieldSelector="spec.nodeName=n1")
    assert [one["metadata"]["name"] for one in found.body["items"]] == ["a"]
    assert (await http.get("/api/v1/pods", fieldSelector="spec.color=red")).status == 400
    assert (await http.get("/api/v1/pods", labelSelector="a in b")).status == 400


async def test_pages_are_of_one_version(http) -> None:
    for name in "abcde":
        await http.post(CONFIGS, a_config(name))
    first = (await http.get(CONFIGS, limit="2")).body
    assert first["metadata"]["remainingItemCount"] == 3
    await http.call("DELETE", f"{CONFIGS}/c")
    await http.post(CONFIGS, a_config("f"))
    second = (await http.get(CONFIGS, limit="2", **{"continue": first["metadata"]["continue"]})).body
    third = (await http.get(CONFIGS, limit="2", **{"continue": second["metadata"]["continue"]})).body
    names = [one["metadata"]["name"] for page in (first, second, third) for one in page["items"]]
    assert names == ["a", "b", "c", "d", "e"]
    assert {page["metadata"]["resourceVersion"] for page in (first, second, third)} == {
        first["metadata"]["resourceVersion"]
    }
    assert "continue" not in third["metadata"]


async def test_a_page_of_a_forgotten_version_is_gone(http) -> None:
    for name in "abc":
        await http.post(CONFIGS, a_config(name))
    token = (await http.get(CONFIGS, limit="1")).body["metadata"]["continue"]
    await http.post(CONFIGS, a_config("d"))
    http.store.compact()
    answer = await http.get(CONFIGS, **{"continue": token})
    assert (answer.status, answer.body["reason"]) == (410, "Expired")
    assert (await http.get(CONFIGS, **{"continue": "nonsense"})).status == 400


async def test_metadata_alone_is_told_to_who_asks_for_it(http) -> None:
    await http.post(CONFIGS, a_config(data={"a": "1"}))
    body = (await http.get(CONFIGS, accept=PARTIAL)).body
    assert body["kind"] == "PartialObjectMetadataList"
    assert [sorted(one) for one in body["items"]] == [["apiVersion", "kind", "metadata"]]


async def test_a_form_that_we_do_not_have_is_not_acceptable(http) -> None:
    assert (await http.get(CONFIGS, accept="application/vnd.kubernetes.protobuf")).status == 406
    both = "application/vnd.kubernetes.protobuf,application/json"
    assert (await http.get(CONFIGS, accept=both)).status == 200


async def test_deletion_takes_its_options_from_body_and_query(http) -> None:
    await http.post(PODS, a_pod(spec={"nodeName": "n1"}))
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 7, "preconditions": {"uid": "other"}}
    assert (await http.call("DELETE", f"{PODS}/web", body)).status == 409
    answer = await http.call("DELETE", f"{PODS}/web", body | {"preconditions": {}})
    assert answer.body["metadata"]["deletionGracePeriodSeconds"] == 7
    answer = await http.call("DELETE", f"{PODS}/web", None, gracePeriodSeconds="0")
    assert answer.status == 200
    assert (await http.get(f"{PODS}/web")).status == 404
    assert (await http.call("DELETE", f"{PODS}/web", None, propagationPolicy="Sideways")).status == 422


async def test_many_are_deleted_at_once(http) -> None:
    for name, app in (("a", "x"), ("b", "x"), ("c", "y")):
        await http.post(CONFIGS, a_config(name, labels={"app": app}))
    answer = await http.call("DELETE", CONFIGS, None, labelSelector="app=x")
    assert [one["metadata"]["name"] for one in answer.body["items"]] == ["a", "b"]
    assert [one["metadata"]["name"] for one in (await http.get(CONFIGS)).body["items"]] == ["c"]


async def test_a_pod_is_bound_and_evicted_over_http(http) -> None:
    await http.post(PODS, a_pod(labels={"app": "web"}))
    target = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web"},
        "target": {"kind": "Node", "name": "n1"},
    }
    assert (await http.post(f"{PODS}/web/binding", target)).status == 201
    assert (await http.post(f"{PODS}/web/binding", target)).status == 409
    await http.patch(f"{PODS}/web/status", {"status": {"phase": "Running"}})
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "pdb"}}
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await http.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget | {"spec": spec})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web", "namespace": "default"}}
    refused = await http.post(f"{PODS}/web/eviction", eviction)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "10")
    assert refused.body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    status = {"status": {"observedGeneration": 1, "disruptionsAllowed": 1}}
    await http.patch("/apis/policy/v1/namespaces/default/poddisruptionbudgets/pdb/status", status)
    assert (await http.post(f"{PODS}/web/eviction", eviction)).status == 201
    assert "deletionTimestamp" in (await http.get(f"{PODS}/web")).body["metadata"]


async def test_scale_is_read_and_written(http) -> None:
    await http.post(DEPLOYMENTS, a_deployment(replicas=2))
    scale = (await http.get(f"{DEPLOYMENTS}/web/scale")).body
    assert scale["spec"] == {"replicas": 2}
    assert (await http.call("PUT", f"{DEPLOYMENTS}/web/scale", scale | {"spec": {"replicas": 4}})).status == 200
    assert (await http.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 6}})).body["spec"] == {"replicas": 6}
    assert (await http.get(f"{DEPLOYMENTS}/web")).body["spec"]["replicas"] == 6


@pytest.mark.parametrize("part", ["log", "exec", "attach", "portforward"])
async def test_what_needs_containers_is_politely_refused(http, part) -> None:
    await http.post(PODS, a_pod())
    answer = await http.get(f"{PODS}/web/{part}")
    assert answer.status == 400
    assert f'pod "web" has no {part}: this cluster is simulated' in answer.body["message"]
    assert (await http.get(f"{PODS}/missing/{part}")).status == 404


async def test_the_caller_may_everything(http) -> None:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}}
    answer = await http.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert (answer.status, answer.body["status"]["allowed"]) == (201, True)


async def test_a_custom_kind_is_served_once_it_is_defined(http) -> None:
    path = "/apis/example.com/v1/namespaces/default/widgets"
    assert (await http.get(path)).status == 404
    await http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", a_definition())
    assert (await http.post(path, a_widget(size=2))).status == 201
    assert (await http.patch(f"{path}/w1", {"spec": {"size": 3}}, "strategic")).status == 415


async def test_a_fault_of_ours_is_told_and_ends_nothing(http, caplog) -> None:
    def broken(*_):
        raise RuntimeError("a bug")

    http.store.admission.append(broken)
    answer = await http.post(CONFIGS, a_config())
    assert (answer.status, answer.body["message"]) == (500, "Internal error occurred: a bug")
    http.store.admission.pop()
    assert (await http.post(CONFIGS, a_config())).status == 201
    assert "request failed" in caplog.text


async def test_rows_tell_what_kubectl_prints(http) -> None:
    await http.post(PODS, a_pod())
    table = (await http.get(PODS, accept=TABLE)).body
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [column["name"] for column in table["columnDefinitions"]][:5] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]
    assert table["rows"][0]["cells"][:4] == ["web", "0/1", "Pending", "0"]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_rows_carry_what_the_client_asks_for(http) -> None:
    await http.post(PODS, a_pod())
    whole = (await http.get(PODS, accept=TABLE, includeObject="Object")).body
    assert whole["rows"][0]["object"]["spec"]["containers"]
    assert "object" not in (await http.get(PODS, accept=TABLE, includeObject="None")).body["rows"][0]


async def test_one_object_is_a_table_of_one_row(http) -> None:
    await http.post("/api/v1/nodes", a_node())
    table = (await http.get("/api/v1/nodes/n1", accept=TABLE)).body
    assert [row["cells"][:3] for row in table["rows"]] == [["n1", "Unknown", "<none>"]]


async def test_a_list_of_many_is_put_together_from_what_is_stored(http) -> None:
    for number in range(300):
        http.store.create(
            http.store.registry.find("", "v1", "configmaps"), a_config(f"c{number:03}"), namespace="default"
        )
    body = (await http.get(CONFIGS)).body
    stored = http.store.get(http.store.registry.find("", "v1", "configmaps"), ObjectKey("default", "c007"))
    assert body["items"][7] == msgspec.json.decode(stored.data)
    assert len(body["items"]) == 300


async def test_writes_of_many_clients_at_once_all_count(http) -> None:
    await http.post(CONFIGS, a_config())
    patches = [{"data": {f"k{number}": "v"}} for number in range(20)]
    answers = await asyncio.gather(*(http.patch(f"{CONFIGS}/settings", patch) for patch in patches))
    assert {answer.status for answer in answers} == {200}
    assert len((await http.get(f"{CONFIGS}/settings")).body["data"]) == 20
