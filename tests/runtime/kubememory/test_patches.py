"""JSON, merge and strategic merge patches."""

import pytest

from karpenter.runtime.kube import BadRequest, Invalid, UnsupportedMediaType
from karpenter.runtime.kubememory.schema.builtin import builtin_schema
from karpenter.runtime.kubememory.strategic import merge_strategically
from tests.runtime.kubememory.api import a_config, a_deployment, a_node, a_pod, a_widget


def merged(tree, patch, kind="Pod", group=""):
    return merge_strategically(tree, patch, builtin_schema(group, kind))


def spec(**fields):
    return {"spec": fields}


def test_a_merge_patch_sets_and_removes_fields(api) -> None:
    api.create(a_config(data={"a": "1", "b": "2"}))
    assert api.patch("configmaps", "settings", {"data": {"a": None, "c": "3"}})["data"] == {"b": "2", "c": "3"}


def test_a_merge_patch_replaces_lists(api) -> None:
    api.create(a_node(taints=[{"key": "a", "effect": "NoSchedule"}]))
    taints = [{"key": "b", "effect": "NoExecute"}]
    assert api.patch("nodes", "n1", {"spec": {"taints": taints}})["spec"]["taints"] == taints


def test_a_json_patch_is_done_step_by_step(api) -> None:
    api.create(a_config(data={"a": "1"}))
    steps = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "2"},
        {"op": "add", "path": "/metadata/labels", "value": {"app": "x"}},
    ]
    patched = api.patch("configmaps", "settings", steps, "json")
    assert (patched["data"], patched["metadata"]["labels"]) == ({"a": "2"}, {"app": "x"})


def test_a_json_patch_whose_test_fails_changes_nothing(api) -> None:
    api.create(a_config(data={"a": "1"}))
    steps = [{"op": "add", "path": "/data/b", "value": "2"}, {"op": "test", "path": "/data/a", "value": "other"}]
    with pytest.raises(Invalid, match="error in our request"):
        api.patch("configmaps", "settings", steps, "json")
    assert api.get("configmaps", "settings")["data"] == {"a": "1"}


@pytest.mark.parametrize(
    "patch, refusal",
    [({"op": "add"}, BadRequest), ([{"op": "jump", "path": "/a"}], Invalid), ([{"op": "add"}], Invalid)],
)
def test_a_json_patch_that_is_none_is_refused(api, patch, refusal) -> None:
    api.create(a_config())
    with pytest.raises(refusal):
        api.patch("configmaps", "settings", patch, "json")


def test_a_patch_cannot_rename(api) -> None:
    api.create(a_config())
    with pytest.raises(BadRequest, match=r"the name of the object \(other\) does not match the name on the URL"):
        api.patch("configmaps", "settings", {"metadata": {"name": "other"}})


def test_a_caller_keeps_its_patch_as_it_was(api) -> None:
    api.create(a_deployment())
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}}}
    api.patch("deployments", "web", patch)
    assert patch == {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}}}


def test_a_custom_kind_takes_no_strategic_patch(api) -> None:
    api.define()
    api.create(a_widget())
    with pytest.raises(UnsupportedMediaType, match=r"application/merge-patch\+json"):
        api.patch("widgets", "w1", {"spec": {"size": 1}}, "strategic")


def test_containers_are_merged_by_name_and_new_ones_come_first() -> None:
    tree = spec(containers=[{"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}])
    patch = spec(containers=[{"name": "a", "image": "a:2", "env": [{"name": "Y", "value": "2"}]}, {"name": "c"}])
    assert merged(tree, patch)["spec"]["containers"] == [
        {"name": "a", "image": "a:2", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]},
        {"name": "c"},
        {"name": "b"},
    ]


def test_an_item_is_deleted_by_its_key() -> None:
    tree = spec(containers=[{"name": "a"}, {"name": "b"}])
    assert merged(tree, spec(containers=[{"name": "a", "$patch": "delete"}])) == spec(containers=[{"name": "b"}])


def test_a_list_is_replaced_on_demand() -> None:
    tree = spec(containers=[{"name": "a"}, {"name": "b"}])
    assert merged(tree, spec(containers=[{"$patch": "replace"}, {"name": "c"}])) == spec(containers=[{"name": "c"}])


def test_a_map_is_replaced_or_deleted_on_demand() -> None:
    tree = {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}}
    patch = {"metadata": {"labels": {"$patch": "replace", "c": "3"}, "annotations": {"$patch": "delete"}}}
    assert merged(tree, patch) == {"metadata": {"labels": {"c": "3"}}}


def test_tolerations_have_no_key_and_are_replaced() -> None:
    tree = spec(tolerations=[{"key": "a", "operator": "Exists"}])
    patch = spec(tolerations=[{"key": "b", "operator": "Exists"}])
    assert merged(tree, patch) == patch


def test_taints_are_replaced_conditions_merged_by_type() -> None:
    tree = {"spec": {"taints": [{"key": "a"}]}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    patch = {"spec": {"taints": [{"key": "b"}]}, "status": {"conditions": [{"type": "Disk", "status": "True"}]}}
    assert merged(tree, patch, "Node") == {
        "spec": {"taints": [{"key": "b"}]},
        "status": {"conditions": [{"type": "Disk", "status": "True"}, {"type": "Ready", "status": "False"}]},
    }


def test_finalizers_are_a_set() -> None:
    tree = {"metadata": {"finalizers": ["a", "b"]}}
    patch = {"metadata": {"finalizers": ["b", "c"], "$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert merged(tree, patch) == {"metadata": {"finalizers": ["b", "c"]}}


def test_owners_are_merged_by_uid() -> None:
    tree = {"metadata": {"ownerReferences": [{"uid": "1", "name": "a"}]}}
    patch = {"metadata": {"ownerReferences": [{"uid": "1", "name": "b"}, {"uid": "2", "name": "c"}]}}
    assert merged(tree, patch) == patch


def test_a_strategy_keeps_the_named_keys_only() -> None:
    tree = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert merged(tree, patch, "Deployment", "apps") == {"spec": {"strategy": {"type": "Recreate"}}}


def test_a_patch_orders_the_items_that_it_names() -> None:
    tree = spec(containers=[{"name": "a"}, {"name": "b"}, {"name": "server-side"}])
    order = [{"name": "c"}, {"name": "b"}, {"name": "a"}]
    patch = {"spec": {"$setElementOrder/containers": order, "containers": [{"name": "c"}]}}
    names = [one["name"] for one in merged(tree, patch)["spec"]["containers"]]
    assert names == ["c", "b", "a", "server-side"]


def test_a_patch_orders_plain_values() -> None:
    tree = {"metadata": {"finalizers": ["a", "b"]}}
    patch = {"metadata": {"$setElementOrder/finalizers": ["b", "a"]}}
    assert merged(tree, patch) == {"metadata": {"finalizers": ["b", "a"]}}


def test_directives_are_not_stored_with_new_parts() -> None:
    patch = spec(
        volumes=[{"name": "v", "$retainKeys": ["name", "emptyDir"], "emptyDir": {}}],
        affinity={"nodeAffinity": {"$patch": "replace", "gone": None}},
    )
    assert merged({}, patch) == spec(volumes=[{"name": "v", "emptyDir": {}}], affinity={"nodeAffinity": {}})


def test_an_item_without_its_key_is_refused() -> None:
    with pytest.raises(BadRequest, match="does not contain declared merge key: name"):
        merged(spec(containers=[]), spec(containers=[{"image": "a"}]))


def test_an_unknown_directive_is_refused() -> None:
    with pytest.raises(BadRequest, match="unknown patch type 'explode'"):
        merged({}, {"spec": {"$patch": "explode"}})


def test_a_pod_is_labelled_by_a_strategic_patch(api) -> None:
    api.create(a_pod(labels={"a": "1"}))
    patched = api.patch("pods", "web", {"metadata": {"labels": {"b": "2"}}}, "strategic")
    assert patched["metadata"]["labels"] == {"a": "1", "b": "2"}
