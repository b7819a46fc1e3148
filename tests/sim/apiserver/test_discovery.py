"""What clients learn about what is served."""

import pytest

from tests.runtime.kubememory.api import a_definition

pytestmark = pytest.mark.real_time

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


def by_name(rows, name="name"):
    return {row[name]: row for row in rows}


async def test_groups_and_versions_are_listed(http) -> None:
    assert (await http.get("/api")).body["versions"] == ["v1"]
    groups = by_name((await http.get("/apis")).body["groups"])
    assert groups["apps"]["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
    assert (await http.get("/apis/policy")).body["versions"] == [{"groupVersion": "policy/v1", "version": "v1"}]
    assert (await http.get("/apis/example.com")).status == 404


async def test_the_kinds_of_a_version_are_listed_with_their_parts(http) -> None:
    rows = by_name((await http.get("/api/v1")).body["resources"])
    assert (rows["pods"]["shortNames"], rows["pods"]["namespaced"], rows["nodes"]["namespaced"]) == (
        ["po"],
        True,
        False,
    )
    eviction = rows["pods/eviction"]
    assert (eviction["group"], eviction["version"], eviction["kind"], eviction["verbs"]) == (
        "policy",
        "v1",
        "Eviction",
        ["create"],
    )
    assert by_name((await http.get("/apis/apps/v1")).body["resources"])["deployments/scale"]["kind"] == "Scale"


async def test_everything_is_told_in_one_answer_to_who_can_read_it(http) -> None:
    answer = await http.get("/apis", accept=AGGREGATED)
    assert "as=APIGroupDiscoveryList" in answer.headers["Content-Type"]
    groups = {item["metadata"]["name"]: item["versions"][0] for item in answer.body["items"]}
    deployments = by_name(groups["apps"]["resources"], "resource")["deployments"]
    assert (deployments["scope"], deployments["shortNames"], deployments["categories"]) == (
        "Namespaced",
        ["deploy"],
        ["all"],
    )
    assert deployments["responseKind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert [one["subresource"] for one in deployments["subresources"]] == ["scale", "status"]
    core = await http.get("/api", accept=AGGREGATED)
    assert [item["metadata"]["name"] for item in core.body["items"]] == [""]


async def test_a_custom_kind_appears_and_disappears(http) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await http.post(definitions, a_definition())
    rows = by_name((await http.get("/apis/example.com/v1")).body["resources"])
    assert rows["widgets"]["shortNames"] == ["w"]
    await http.call("DELETE", f"{definitions}/widgets.example.com")
    assert (await http.get("/apis/example.com/v1")).status == 404


async def test_the_preferred_version_is_the_stable_one(http) -> None:
    definition = a_definition()
    version = definition["spec"]["versions"][0]
    definition["spec"]["versions"] = [
        version | {"name": "v1alpha5", "storage": False},
        version | {"name": "v1beta1", "storage": False},
        version | {"name": "v2"},
        version | {"name": "v10", "storage": False},
    ]
    await http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    versions = (await http.get("/apis/example.com")).body["versions"]
    assert [one["version"] for one in versions] == ["v10", "v2", "v1beta1", "v1alpha5"]


async def test_an_object_is_told_in_the_version_that_is_asked_for(http) -> None:
    definition = a_definition()
    version = definition["spec"]["versions"][0]
    definition["spec"]["versions"] = [version, version | {"name": "v2", "storage": False}]
    await http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    widget = {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}
    created = await http.post("/apis/example.com/v2/namespaces/default/widgets", widget)
    assert (created.status, created.body["apiVersion"]) == (201, "example.com/v2")
    for name in ("v1", "v2"):
        path = f"/apis/example.com/{name}/namespaces/default/widgets"
        assert (await http.get(f"{path}/a")).body["apiVersion"] == f"example.com/{name}"
        assert [one["apiVersion"] for one in (await http.get(path)).body["items"]] == [f"example.com/{name}"]


async def test_documents_say_what_kubectl_merges_and_validates_by(http) -> None:
    index = (await http.get("/openapi/v3")).body["paths"]
    assert index["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")
    document = (await http.get("/openapi/v3/apis/apps/v1")).body
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert "fieldValidation" in [one["name"] for one in patch["parameters"]]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    containers = document["components"]["schemas"]["io.k8s.api.apps.v1.PodSpec"]["properties"]["containers"]
    assert (containers["x-kubernetes-patch-merge-key"], containers["x-kubernetes-list-type"]) == ("name", "map")


async def test_every_reference_in_every_document_leads_somewhere(http) -> None:
    def references(value):
        if isinstance(value, dict):
            yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
            for inner in value.values():
                yield from references(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from references(inner)

    for place in (await http.get("/openapi/v3")).body["paths"]:
        document = (await http.get(f"/openapi/v3/{place}")).body
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert set(references(document)) <= known, place


async def test_the_document_of_a_custom_kind_is_its_schema(http) -> None:
    await http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", a_definition())
    before = (await http.get("/openapi/v3")).body["paths"]["apis/example.com/v1"]["serverRelativeURL"]
    schemas = (await http.get("/openapi/v3/apis/example.com/v1")).body["components"]["schemas"]
    widget = schemas["com.example.v1.Widget"]
    assert widget["x-kubernetes-group-version-kind"] == [{"group": "example.com", "version": "v1", "kind": "Widget"}]
    assert widget["properties"]["spec"]["properties"]["size"] == {"type": "integer", "minimum": 1}
    definition = (await http.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com")).body
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["shape"] = {"type": "string"}
    await http.call("PUT", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com", definition)
    assert (await http.get("/openapi/v3")).body["paths"]["apis/example.com/v1"]["serverRelativeURL"] != before
