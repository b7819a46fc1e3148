"""The scale subresource."""

import pytest

from karpenter.runtime.kube import Conflict, Invalid, NotFound
from karpenter.runtime.kubememory.scale import patch_scale, read_scale, write_scale
from karpenter.runtime.kubememory.writes import PLAIN_WRITE
from tests.runtime.kubememory.api import a_config, a_deployment, a_widget


def read(api, plural="deployments", name="web"):
    return read_scale(api.store, api.kind(plural), api.key(plural, name))


def write(api, scale, plural="deployments", name="web"):
    return write_scale(api.store, api.kind(plural), api.key(plural, name), scale=scale, options=PLAIN_WRITE)


def test_a_deployment_has_a_scale(api) -> None:
    api.create(a_deployment(replicas=3))
    api.set_status("deployments", "web", {"replicas": 2})
    scale = read(api)
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 3},
        {"replicas": 2, "selector": "app=web"},
    )


def test_writing_the_scale_sets_the_replicas(api) -> None:
    api.create(a_deployment())
    assert write(api, {"spec": {"replicas": 5}})["spec"] == {"replicas": 5}
    assert api.get("deployments", "web")["spec"]["replicas"] == 5


def test_a_scale_that_was_read_before_another_write_is_a_conflict(api) -> None:
    api.create(a_deployment())
    scale = read(api)
    api.patch("deployments", "web", {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Conflict):
        write(api, scale | {"spec": {"replicas": 5}})


def test_a_scale_is_patched(api) -> None:
    api.create(a_deployment())
    key = api.key("deployments", "web")
    patch = {"spec": {"replicas": 4}}
    kind = api.kind("deployments")
    assert patch_scale(api.store, kind, key, patch=patch, patch_type="merge", options=PLAIN_WRITE)["spec"] == {
        "replicas": 4
    }


@pytest.mark.parametrize("replicas", [-1, "two", True])
def test_a_number_of_replicas_is_a_count(api, replicas) -> None:
    api.create(a_deployment())
    with pytest.raises(Invalid):
        write(api, {"spec": {"replicas": replicas}})


def test_what_has_no_replicas_has_no_scale(api) -> None:
    api.create(a_config())
    with pytest.raises(NotFound):
        read(api, "configmaps", "settings")


def test_a_custom_kind_says_where_its_replicas_are(api) -> None:
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": size, "status": size}}}
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    api.define(schema=schema, subresources={"status": {}, "scale": paths})
    api.create(a_widget(size=2))
    assert write(api, {"spec": {"replicas": 6}}, "widgets", "w1")["spec"] == {"replicas": 6}
    assert api.get("widgets", "w1")["spec"]["size"] == 6
