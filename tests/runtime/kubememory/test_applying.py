"""Server-side apply: who manages which field."""

import pytest

from karpenter.runtime.kube import BadRequest, Conflict, Invalid, KubeError
from karpenter.runtime.kubememory.scale import write_scale
from karpenter.runtime.kubememory.writes import WriteOptions
from tests.runtime.kubememory.api import a_config, a_deployment


def applied(api, manifest, manager, **options):
    plural = {"ConfigMap": "configmaps", "Deployment": "deployments"}[manifest["kind"]]
    return api.patch(plural, manifest["metadata"]["name"], manifest, "apply", field_manager=manager, **options)


def managers(tree):
    return {
        (entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in tree["metadata"].get("managedFields", ())
    }


def a_service_deployment(*names, **spec):
    containers = [{"name": name, "image": f"{name}:1"} for name in names]
    return a_deployment(template={"containers": containers}, **spec)


def test_applying_creates_what_is_missing(api) -> None:
    written = api.patched("configmaps", "settings", a_config(data={"a": "1"}), "apply", field_manager="me")
    assert written.created
    assert managers(written.record.decode()) == {("me", "Apply"): {"f:data": {"f:a": {}}}}


def test_applying_the_same_again_changes_nothing(api) -> None:
    first = applied(api, a_config(data={"a": "1"}), "me")
    api.clock.moment += 60
    assert applied(api, a_config(data={"a": "1"}), "me") == first


def test_a_field_that_is_applied_no_more_goes(api) -> None:
    applied(api, a_config(data={"a": "1", "b": "2"}), "me")
    assert applied(api, a_config(data={"a": "1"}), "me")["data"] == {"a": "1"}


def test_a_field_of_two_managers_stays_until_both_drop_it(api) -> None:
    applied(api, a_config(data={"a": "1", "b": "2"}), "me")
    applied(api, a_config(data={"b": "2"}), "you")
    assert applied(api, a_config(data={"a": "1"}), "me")["data"] == {"a": "1", "b": "2"}
    assert applied(api, a_config(), "you")["data"] == {"a": "1"}


def test_changing_anothers_field_is_a_conflict_that_names_it(api) -> None:
    applied(api, a_config(data={"a": "1"}), "me")
    with pytest.raises(Conflict) as caught:
        applied(api, a_config(data={"a": "2"}), "you")
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "me": .data.a'
    assert caught.value.details["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "me"', "field": ".data.a"}
    ]


def test_force_takes_the_field_over(api) -> None:
    applied(api, a_config(data={"a": "1", "b": "1"}), "me")
    forced = applied(api, a_config(data={"a": "2"}), "you", force=True)
    assert forced["data"] == {"a": "2", "b": "1"}
    assert managers(forced) == {("me", "Apply"): {"f:data": {"f:b": {}}}, ("you", "Apply"): {"f:data": {"f:a": {}}}}


def test_the_same_value_is_managed_together(api) -> None:
    applied(api, a_config(data={"a": "1"}), "me")
    both = applied(api, a_config(data={"a": "1"}), "you")
    assert managers(both) == {("me", "Apply"): {"f:data": {"f:a": {}}}, ("you", "Apply"): {"f:data": {"f:a": {}}}}


def test_a_map_that_was_empty_and_is_filled_stays(api) -> None:
    manifest = a_config(labels={})
    applied(api, manifest, "me")
    assert applied(api, a_config(labels={"a": "1"}), "me")["metadata"]["labels"] == {"a": "1"}


def test_list_items_are_managed_by_their_keys(api) -> None:
    applied(api, a_service_deployment("main", "side"), "me")
    sidecar = {"spec": {"template": {"spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}}}}
    partial = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, **sidecar}
    applied(api, partial, "mesh")
    names = [
        one["name"]
        for one in applied(api, a_service_deployment("main"), "me")["spec"]["template"]["spec"]["containers"]
    ]
    assert names == ["main", "proxy"]


def test_a_conflict_in_a_list_names_the_item(api) -> None:
    applied(api, a_service_deployment("main"), "me")
    other = a_service_deployment("main")
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "main:2"
    words = r'conflict with "me": \.spec\.template\.spec\.containers\[name="main"\]\.image'
    with pytest.raises(Conflict, match=words):
        applied(api, other, "you")


def test_several_conflicts_are_all_told(api) -> None:
    applied(api, a_config(data={"a": "1", "b": "1"}), "me")
    with pytest.raises(Conflict, match=r'2 conflicts: conflicts with "me":\n- \.data\.a\n- \.data\.b'):
        applied(api, a_config(data={"a": "2", "b": "2"}), "you")


def test_what_a_named_manager_patches_becomes_its_own(api) -> None:
    applied(api, a_config(data={"a": "1", "b": "1"}), "me")
    patched = api.patch("configmaps", "settings", {"data": {"a": "2"}}, field_manager="kubectl-edit")
    assert managers(patched) == {
        ("me", "Apply"): {"f:data": {"f:b": {}}},
        ("kubectl-edit", "Update"): {"f:data": {"f:a": {}}},
    }
    with pytest.raises(Conflict, match='conflict with "kubectl-edit" using v1'):
        applied(api, a_config(data={"a": "1", "b": "1"}), "me")


def test_what_was_there_before_the_first_apply_has_an_owner_too(api) -> None:
    api.create(a_config(data={"a": "1"}))
    with pytest.raises(Conflict, match='conflict with "before-first-apply" using v1'):
        applied(api, a_config(data={"a": "2"}), "me")


def test_writers_without_a_name_leave_no_trace_on_what_nobody_manages(api) -> None:
    api.create(a_config())
    assert managers(api.patch("configmaps", "settings", {"data": {"a": "1"}})) == {}


def test_a_status_write_is_managed_apart(api) -> None:
    applied(api, a_deployment(), "me")
    status = {"status": {"replicas": 1}}
    patched = api.patch("deployments", "web", status, subresource="status", field_manager="controller")
    entry = patched["metadata"]["managedFields"][-1]
    assert (entry["manager"], entry["subresource"]) == ("controller", "status")
    assert entry["fieldsV1"] == {"f:status": {"f:replicas": {}}}


def test_defaults_belong_to_nobody(api) -> None:
    tree = applied(api, a_deployment(), "me")
    assert tree["spec"]["replicas"] == 1
    assert "f:replicas" not in managers(tree)["me", "Apply"]["f:spec"]
    api.patch("deployments", "web", {"spec": {"replicas": 3}}, field_manager="kubectl-scale")
    assert applied(api, a_deployment(), "me")["spec"]["replicas"] == 3


def test_an_applied_object_names_no_managers_itself(api) -> None:
    with pytest.raises(BadRequest, match=r"metadata\.managedFields must be nil"):
        applied(api, a_config(managedFields=[{"manager": "x"}]), "me")


def test_the_owners_can_be_forgotten(api) -> None:
    applied(api, a_config(data={"a": "1"}), "me")
    assert managers(api.patch("configmaps", "settings", {"metadata": {"managedFields": []}})) == {}


def test_who_writes_a_new_map_owns_it_beside_what_is_in_it(api) -> None:
    made = api.create(a_config(data={"a": "1"}), field_manager="me")
    assert managers(made) == {("me", "Update"): {"f:data": {".": {}, "f:a": {}}}}
    edited = api.patch("configmaps", "settings", {"data": {"a": "2"}}, field_manager="you")
    assert managers(edited) == {("me", "Update"): {"f:data": {}}, ("you", "Update"): {"f:data": {"f:a": {}}}}


def test_nobody_owns_what_every_object_has_anyway(api) -> None:
    made = api.create(a_deployment(template={"nodeSelector": {"a": "b"}}), field_manager="me")
    (fields,) = managers(made).values()
    template = fields["f:spec"]["f:template"]
    assert "." not in template
    assert "." not in template["f:spec"]
    assert template["f:metadata"] == {"f:labels": {".": {}, "f:app": {}}}
    assert "f:status" not in fields


def test_scaling_is_noted_for_its_subresource(api) -> None:
    api.create(a_deployment(), field_manager="me")
    key = api.key("deployments", "web")
    options = WriteOptions(field_manager="kubectl")
    write_scale(api.store, api.kind("deployments"), key, scale={"spec": {"replicas": 3}}, options=options)
    entry = next(
        one for one in api.get("deployments", "web")["metadata"]["managedFields"] if one["manager"] == "kubectl"
    )
    assert (entry["subresource"], entry["fieldsV1"]) == ("scale", {"f:spec": {"f:replicas": {}}})


def test_a_value_of_a_wrong_type_is_told_in_the_words_of_the_kind_of_patch(api) -> None:
    with pytest.raises(KubeError, match=r"\.data\.a: expected string, got &value\.valueUnstructured\{Value:1\}"):
        applied(api, a_config(data={"a": 1}), "me")
    api.create(a_deployment())
    with pytest.raises(Invalid, match=r'"map\[spec:map\[replicas:many\]\]": unrecognized type: int32'):
        api.patch("deployments", "web", {"spec": {"replicas": "many"}}, "strategic")
