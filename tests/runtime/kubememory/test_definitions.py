"""Custom kinds: served from their definition, judged by their schema, gone with it."""

import pytest

from karpenter.runtime.kube import BadRequest, Invalid, NotFound
from tests.runtime.kubememory.api import a_definition, a_widget


def causes(caught):
    return [(cause["field"], cause["message"]) for cause in caught.value.details["causes"]]


def schema(**spec):
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}}


def test_a_kind_is_served_as_soon_as_it_is_defined(api) -> None:
    status = api.define()["status"]
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert api.create(a_widget(size=3))["spec"] == {"size": 3, "color": "red"}
    assert api.kind("widgets").short_names == ("w",)


def test_a_kind_that_is_not_defined_is_not_served(api) -> None:
    with pytest.raises(NotFound, match="the server could not find the requested resource"):
        api.store.registry.find("example.com", "v1", "widgets")


def test_defaults_are_filled_in_where_the_schema_has_them(api) -> None:
    nested = {"type": "object", "properties": {"mode": {"type": "string", "default": "fast"}}}
    api.define(schema=schema(list={"type": "array", "items": nested}, one=nested, auto=nested | {"default": {}}))
    spec = api.create(a_widget(list=[{}, {"mode": "slow"}]))["spec"]
    assert spec == {"list": [{"mode": "fast"}, {"mode": "slow"}], "auto": {"mode": "fast"}}


def test_a_default_is_not_shared_between_objects(api) -> None:
    api.define(schema=schema(tags={"type": "array", "default": [], "items": {"type": "string"}}))
    api.create(a_widget("a"))
    api.patch("widgets", "a", {"spec": {"tags": ["x"]}})
    assert api.create(a_widget("b"))["spec"]["tags"] == []


def test_unknown_fields_are_dropped_with_a_warning(api) -> None:
    api.define()
    written = api.write(a_widget(size=1, colour="red"))
    assert written.record.decode()["spec"] == {"size": 1, "color": "red"}
    assert written.warnings == ('unknown field "spec.colour"',)


def test_unknown_fields_are_refused_by_strict_validation_and_ignored_on_demand(api) -> None:
    api.define()
    with pytest.raises(BadRequest, match=r'strict decoding error: unknown field "spec\.colour"'):
        api.write(a_widget(colour="red"), field_validation="Strict")
    assert api.write(a_widget(colour="red"), field_validation="Ignore").warnings == ()


def test_unknown_fields_stay_where_the_schema_says_so(api) -> None:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}}
    api.define(schema=schema(free=free))
    assert api.create(a_widget(free={"a": "1", "b": {"c": 2}}))["spec"] == {"free": {"a": "1", "b": {"c": 2}}}


def test_every_broken_rule_is_told_in_the_words_of_a_real_server(api) -> None:
    api.define(
        schema=schema(
            title={"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
            count={"type": "integer", "minimum": 1, "maximum": 10},
            mode={"type": "string", "enum": ["a", "b"]},
            share={"x-kubernetes-int-or-string": True},
            tags={"type": "array", "items": {"type": "string"}, "minItems": 1, "x-kubernetes-list-type": "set"},
            labels={"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1},
        )
    )
    with pytest.raises(Invalid) as caught:
        api.create(
            a_widget(title="ABCDEF", count=11, mode="c", share=True, tags=["x", "y", "x"], labels={"a": "1", "b": 2})
        )
    assert causes(caught) == [
        ("spec.title", "Too long: may not be more than 5 bytes"),
        ("spec.title", "Invalid value: \"ABCDEF\": spec.title in body should match '^[a-z]+$'"),
        ("spec.count", "Invalid value: 11: spec.count in body should be less than or equal to 10"),
        ("spec.mode", 'Unsupported value: "c": supported values: "a", "b"'),
        (
            "spec.share",
            'Invalid value: "boolean": spec.share in body must be of type integer or string: "boolean"',
        ),
        ("spec.tags[2]", 'Duplicate value: "x"'),
        ("spec.labels.b", 'Invalid value: "integer": spec.labels.b in body must be of type string: "integer"'),
        ("spec.labels", "Too many: 2: must have at most 1 items"),
    ]


def test_required_fields_are_missed(api) -> None:
    spec = {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}}
    api.define(schema={"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {"spec": spec}}})
    with pytest.raises(Invalid) as caught:
        api.create(a_widget())
    assert caught.value.message == 'Widget.example.com "w1" is invalid: spec.size: Required value'


def test_null_is_a_value_only_where_it_may_be(api) -> None:
    api.define(schema=schema(some={"type": "string", "nullable": True}, none={"type": "string"}))
    assert api.create(a_widget(some=None, none=None))["spec"] == {"some": None}


def test_null_in_a_list_is_refused(api) -> None:
    api.define(schema=schema(some={"type": "array", "items": {"type": "string"}}))
    with pytest.raises(Invalid, match=r'spec\.some\[0\] in body must be of type string: "null"'):
        api.create(a_widget(some=[None]))


def test_alternatives_are_weighed(api) -> None:
    one = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    api.define(schema=schema(one=one | {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}))
    api.create(a_widget("a", one={"a": "1"}))
    with pytest.raises(Invalid, match=r"must validate one and only one schema \(oneOf\)"):
        api.create(a_widget("b", one={"a": "1", "b": "2"}))


def test_items_of_a_map_list_differ_in_their_keys(api) -> None:
    item = {"type": "object", "properties": {"key": {"type": "string"}, "value": {"type": "string"}}}
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"]}
    api.define(schema=schema(items={"type": "array", "items": item} | keyed))
    with pytest.raises(Invalid) as caught:
        api.create(a_widget(items=[{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]))
    assert causes(caught) == [("spec.items[1]", 'Duplicate value: {"key":"a"}')]


def test_status_is_written_apart_and_leaves_metadata_alone(api) -> None:
    api.define()
    api.create(a_widget(size=1) | {"status": {"phase": "Ready"}})
    assert "status" not in api.get("widgets", "w1")
    patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"size": 2}, "status": {"phase": "Ready"}}
    written = api.patch("widgets", "w1", patch, subresource="status")
    assert (written["spec"]["size"], written["status"]) == (1, {"phase": "Ready"})
    assert "labels" not in written["metadata"]


def test_without_a_status_subresource_status_is_a_field_like_others(api) -> None:
    api.define(subresources={})
    assert api.create(a_widget() | {"status": {"phase": "Ready"}})["status"] == {"phase": "Ready"}
    with pytest.raises(NotFound):
        api.patch("widgets", "w1", {"status": {}}, subresource="status")


def test_the_status_of_a_custom_kind_is_judged_too(api) -> None:
    api.define()
    api.create(a_widget())
    with pytest.raises(Invalid, match=r"status\.phase in body must be of type string"):
        api.patch("widgets", "w1", {"status": {"phase": 3}}, subresource="status")


def test_what_an_update_leaves_alone_is_not_judged_again(api) -> None:
    api.define()
    api.create(a_widget(size=1))
    definition = api.get("customresourcedefinitions", "widgets.example.com")
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["size"]["minimum"] = 10
    api.update(definition)
    assert api.patch("widgets", "w1", {"status": {"phase": "Ready"}}, subresource="status")["status"]
    with pytest.raises(Invalid, match=r"spec\.size in body should be greater than or equal to 10"):
        api.patch("widgets", "w1", {"spec": {"size": 2}})


def test_a_changed_definition_counts_from_then_on(api) -> None:
    api.define()
    definition = api.get("customresourcedefinitions", "widgets.example.com")
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["shape"] = {"type": "string"}
    api.update(definition)
    assert api.create(a_widget(shape="round"))["spec"]["shape"] == "round"


def test_a_version_that_is_served_no_more_is_not_found(api) -> None:
    api.define()
    definition = api.get("customresourcedefinitions", "widgets.example.com")
    definition["spec"]["versions"].append(definition["spec"]["versions"][0] | {"name": "v2", "storage": False})
    api.update(definition)
    assert api.store.registry.find("example.com", "v2", "widgets")
    definition = api.get("customresourcedefinitions", "widgets.example.com")
    definition["spec"]["versions"].pop()
    api.update(definition)
    with pytest.raises(NotFound):
        api.store.registry.find("example.com", "v2", "widgets")


def test_objects_go_with_their_definition(api) -> None:
    api.define()
    api.create(a_widget())
    api.delete("customresourcedefinitions", "widgets.example.com")
    assert api.names("customresourcedefinitions") == []
    with pytest.raises(StopIteration):
        api.kind("widgets")


def test_a_definition_waits_for_objects_that_something_keeps(api) -> None:
    api.define()
    manifest = a_widget()
    manifest["metadata"]["finalizers"] = ["example.com/wait"]
    api.create(manifest)
    api.delete("customresourcedefinitions", "widgets.example.com")
    assert api.names("customresourcedefinitions") == ["widgets.example.com"]
    api.patch("widgets", "w1", {"metadata": {"finalizers": []}})
    assert api.names("customresourcedefinitions") == []


@pytest.mark.parametrize(
    "change, field",
    [
        ({"group": "other.com"}, "metadata.name"),
        ({"scope": "Galaxy"}, "spec.scope"),
        ({"names": {"plural": "widgets"}}, "spec.names.kind"),
        ({"versions": []}, "spec.versions"),
    ],
)
def test_a_definition_that_breaks_a_rule_is_refused(api, change, field) -> None:
    definition = a_definition()
    definition["spec"] |= change
    with pytest.raises(Invalid) as caught:
        api.create(definition)
    assert field in [cause["field"] for cause in caught.value.details["causes"]]


@pytest.mark.parametrize(
    "version, field",
    [
        ({"name": "V1"}, "spec.versions[0].name"),
        ({"storage": False}, "spec.versions"),
        ({"schema": None}, "spec.versions[0].schema.openAPIV3Schema"),
        (
            {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}},
            "spec.versions[0].schema.openAPIV3Schema.properties[a].type",
        ),
    ],
)
def test_a_version_that_breaks_a_rule_is_refused(api, version, field) -> None:
    with pytest.raises(Invalid) as caught:
        api.define(**version)
    assert [cause["field"] for cause in caught.value.details["causes"]] == [field]


def test_hooks_change_warn_and_refuse(api) -> None:
    def hook(operation, resource, new, old):
        if resource.kind != "Widget":
            return new, ()
        return {**new, "spec": {**new["spec"], "seen": operation}}, ("look out",)

    api.define(schema=schema(seen={"type": "string"}, size={"type": "integer"}))
    api.store.admission.append(hook)
    written = api.write(a_widget(size=1))
    assert written.record.decode()["spec"] == {"size": 1, "seen": "CREATE"}
    assert written.warnings == ("look out",)
    assert api.patched("widgets", "w1", {"spec": {"size": 2}}).record.decode()["spec"]["seen"] == "UPDATE"


def test_hooks_do_not_see_status_writes(api) -> None:
    api.define()
    api.create(a_widget())
    seen = []

    def hook(operation, _resource, new, _old):
        seen.append(operation)
        return new, ()

    api.store.admission.append(hook)
    api.patch("widgets", "w1", {"status": {"phase": "Ready"}}, subresource="status")
    assert seen == []
