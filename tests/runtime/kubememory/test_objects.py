"""Creating, replacing and patching objects, whatever their kind."""

import re

import pytest

from karpenter.runtime.kube import AlreadyExists, BadRequest, Conflict, Forbidden, Invalid, NotFound
from tests.runtime.kubememory.api import Api, a_config, a_deployment, a_node, a_pod


def test_a_new_object_gets_an_identity(api) -> None:
    metadata = api.create(a_config())["metadata"]
    assert re.fullmatch(r"[0-9a-f-]{36}", metadata["uid"])
    assert metadata["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert metadata["namespace"] == "default"
    assert metadata["resourceVersion"] == str(api.store.revision)


def test_each_write_has_the_next_resource_version(api) -> None:
    first = int(api.create(a_config("a"))["metadata"]["resourceVersion"])
    assert int(api.create(a_config("b"))["metadata"]["resourceVersion"]) == first + 1
    assert int(api.patch("configmaps", "a", {"data": {"k": "v"}})["metadata"]["resourceVersion"]) == first + 2


def test_a_name_is_generated_from_its_prefix(api) -> None:
    manifest = a_config()
    manifest["metadata"] = {"generateName": "settings-"}
    names = {api.create(manifest)["metadata"]["name"] for _ in range(20)}
    assert len(names) == 20
    assert all(re.fullmatch(r"settings-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


def test_the_same_seed_makes_the_same_names_and_uids() -> None:
    manifest = a_config()
    manifest["metadata"] = {"generateName": "a-"}
    assert Api(seed=3).create(manifest) == Api(seed=3).create(manifest)


def test_a_name_is_taken_once(api) -> None:
    api.create(a_config())
    with pytest.raises(AlreadyExists, match='configmaps "settings" already exists'):
        api.create(a_config())


def test_what_is_not_there_is_not_found_in_the_words_of_a_real_server(api) -> None:
    with pytest.raises(NotFound) as caught:
        api.get("deployments", "web")
    assert caught.value.message == 'deployments.apps "web" not found'
    assert caught.value.details == {"name": "web", "group": "apps", "kind": "deployments"}


def test_a_namespace_must_exist(api) -> None:
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        api.create(a_config(), namespace="nowhere")


def test_nothing_is_created_in_a_namespace_that_is_being_deleted(api) -> None:
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}})
    api.delete("namespaces", "going")
    with pytest.raises(Forbidden, match="because it is being terminated"):
        api.create(a_config(), namespace="going")


def test_the_namespace_of_a_body_is_the_one_of_its_request(api) -> None:
    with pytest.raises(BadRequest, match="does not match the namespace"):
        api.create(a_config(namespace="kube-system"))


def test_a_body_of_another_kind_is_refused(api) -> None:
    with pytest.raises(BadRequest, match="unknown conversion"):
        api.store.create(api.kind("configmaps"), a_pod(), namespace="default")


def test_all_that_is_wrong_with_metadata_is_told_at_once(api) -> None:
    manifest = a_config("Not_A_Name", labels={"-bad": "ok", "good": "not ok"}, finalizers=["a/b/c"])
    with pytest.raises(Invalid) as caught:
        api.create(manifest)
    fields = [cause["field"] for cause in caught.value.details["causes"]]
    assert fields == ["metadata.name", "metadata.labels", "metadata.labels", "metadata.finalizers"]


def test_a_label_that_is_no_string_is_a_bad_request(api) -> None:
    words = r"cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"
    with pytest.raises(BadRequest, match=words):
        api.create(a_config(labels={"a": 1}))


def test_replacing_needs_the_version_that_was_read(api) -> None:
    read = api.create(a_config())
    api.patch("configmaps", "settings", {"data": {"k": "v"}})
    with pytest.raises(Conflict, match="the object has been modified"):
        api.update(read | {"data": {"k": "mine"}})


def test_replacing_without_a_version_is_unconditional(api) -> None:
    read = api.create(a_config())
    del read["metadata"]["resourceVersion"]
    assert api.update(read | {"data": {"k": "mine"}})["data"] == {"k": "mine"}


def test_some_kinds_are_replaced_only_by_who_says_what_it_read(api) -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l", "namespace": "default"}}
    api.create(lease)
    with pytest.raises(Invalid, match=r"metadata\.resourceVersion: Invalid value: 0: must be specified for an update"):
        api.update(lease)


def test_a_merge_patch_with_a_stale_version_is_a_conflict(api) -> None:
    read = api.create(a_config())
    api.patch("configmaps", "settings", {"data": {"k": "v"}})
    stale = {"metadata": {"resourceVersion": read["metadata"]["resourceVersion"]}, "data": {"k": "w"}}
    with pytest.raises(Conflict):
        api.patch("configmaps", "settings", stale)


def test_a_write_for_another_uid_is_a_conflict(api) -> None:
    api.create(a_config())
    with pytest.raises(Conflict, match="Precondition failed: UID in precondition: other"):
        api.patch("configmaps", "settings", {"metadata": {"uid": "other"}})


def test_a_write_that_changes_nothing_makes_no_version(api) -> None:
    read = api.create(a_config(data={"k": "v"}))
    assert api.patch("configmaps", "settings", {"data": {"k": "v"}}) == read
    assert api.store.revision == int(read["metadata"]["resourceVersion"])


def test_identity_and_life_are_not_the_writers(api) -> None:
    read = api.create(a_config())
    changed = {
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "generation": 9,
        "deletionTimestamp": "2001-01-01T00:00:00Z",
    }
    assert api.patch("configmaps", "settings", {"metadata": changed}) == read


def test_the_generation_counts_changes_of_the_desired_state_only(api) -> None:
    assert api.create(a_deployment())["metadata"]["generation"] == 1
    assert api.patch("deployments", "web", {"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"] == 1
    assert api.set_status("deployments", "web", {"replicas": 1})["metadata"]["generation"] == 1
    assert api.patch("deployments", "web", {"spec": {"replicas": 2}})["metadata"]["generation"] == 2


def test_status_and_the_rest_are_written_apart(api) -> None:
    api.create(a_deployment() | {"status": {"replicas": 7}})
    assert api.get("deployments", "web")["status"] == {}
    both = {"spec": {"replicas": 3}, "status": {"replicas": 3}}
    assert api.patch("deployments", "web", both)["status"] == {}
    written = api.patch(
        "deployments", "web", {"spec": {"replicas": 5}, "status": {"replicas": 3}}, subresource="status"
    )
    assert (written["spec"]["replicas"], written["status"]) == (3, {"replicas": 3})


def test_a_node_may_bring_its_status(api) -> None:
    node = api.create(a_node() | {"status": {"capacity": {"cpu": 4}}})
    assert node["status"] == {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}


def test_a_dry_run_tells_the_outcome_and_stores_nothing(api) -> None:
    before = api.store.revision
    assert api.create(a_config(), dry_run=True)["metadata"]["uid"]
    assert (api.names("configmaps"), api.store.revision) == ([], before)


def test_a_caller_can_do_what_it_likes_with_what_it_got(api) -> None:
    read = api.create(a_config(data={"k": "v"}))
    read["data"]["k"] = "changed"
    assert api.get("configmaps", "settings")["data"] == {"k": "v"}


def test_every_cluster_starts_with_the_usual_namespaces_and_priorities(api) -> None:
    assert api.names("namespaces") == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert api.names("priorityclasses") == ["system-cluster-critical", "system-node-critical"]


def test_lists_are_ordered_by_namespace_and_name(api) -> None:
    for name in ("b", "a", "c"):
        api.create(a_config(name))
    api.create(a_config("z"), namespace="kube-system")
    api.delete("configmaps", "b")
    assert api.names("configmaps") == ["a", "c", "z"]


def test_a_list_can_be_taken_as_of_an_earlier_version(api) -> None:
    api.create(a_config("a"))
    api.create(a_config("b", data={"k": "old"}))
    then = api.store.revision
    api.patch("configmaps", "b", {"data": {"k": "new"}})
    api.delete("configmaps", "a")
    api.create(a_config("c"))
    found = [record.decode() for record in api.store.list(api.kind("configmaps"), revision=then)]
    assert [(one["metadata"]["name"], one["data"]) for one in found] == [("a", {}), ("b", {"k": "old"})]
