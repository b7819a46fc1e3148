"""Deleting: finalizers, grace periods, preconditions, propagation."""

import pytest

from karpenter.runtime.kube import Conflict, Forbidden, Invalid, NotFound
from tests.runtime.kubememory.api import NOON, a_config, a_deployment, a_pod


def test_what_nothing_keeps_is_gone_at_once(api) -> None:
    api.create(a_config())
    assert api.delete("configmaps", "settings").is_gone
    with pytest.raises(NotFound):
        api.get("configmaps", "settings")


def test_a_finalizer_keeps_an_object_until_it_is_removed(api) -> None:
    api.create(a_config(finalizers=["example.com/wait"]))
    assert not api.delete("configmaps", "settings").is_gone
    assert api.get("configmaps", "settings")["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:20Z"
    api.patch("configmaps", "settings", {"metadata": {"finalizers": None}})
    assert api.names("configmaps") == []


def test_asking_twice_keeps_the_first_deletion_timestamp(api) -> None:
    api.create(a_config(finalizers=["example.com/wait"]))
    api.delete("configmaps", "settings")
    version = api.store.revision
    api.clock.moment += 60
    api.delete("configmaps", "settings")
    assert api.store.revision == version


def test_no_finalizer_can_be_added_to_what_is_being_deleted(api) -> None:
    api.create(a_config(finalizers=["example.com/wait"]))
    api.delete("configmaps", "settings")
    with pytest.raises(Invalid, match="no new finalizers can be added if the object is being deleted"):
        api.patch("configmaps", "settings", {"metadata": {"finalizers": ["example.com/wait", "example.com/more"]}})


def test_the_generation_rises_when_deletion_is_asked_for(api) -> None:
    manifest = a_deployment()
    manifest["metadata"]["finalizers"] = ["example.com/wait"]
    api.create(manifest)
    api.delete("deployments", "web")
    assert api.get("deployments", "web")["metadata"]["generation"] == 2


def test_another_uid_or_version_is_a_conflict(api) -> None:
    api.create(a_config())
    with pytest.raises(Conflict, match=r"the UID in the precondition \(other\) does not match"):
        api.delete("configmaps", "settings", uid="other")
    with pytest.raises(Conflict, match=r"the ResourceVersion in the precondition \(1\) does not match"):
        api.delete("configmaps", "settings", resource_version="1")


def test_a_pod_that_is_not_bound_goes_at_once(api) -> None:
    api.create(a_pod())
    assert api.delete("pods", "web").is_gone


def test_a_bound_pod_waits_for_its_kubelet(api) -> None:
    api.create(a_pod(spec={"nodeName": "n1", "terminationGracePeriodSeconds": 10}))
    assert not api.delete("pods", "web").is_gone
    metadata = api.get("pods", "web")["metadata"]
    assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == ("2023-11-14T22:13:30Z", 10)
    assert api.delete("pods", "web", grace_period_s=0).is_gone


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_goes_at_once(api, phase) -> None:
    api.create(a_pod(spec={"nodeName": "n1"}))
    api.set_status("pods", "web", {"phase": phase})
    assert api.delete("pods", "web").is_gone


def test_the_request_says_the_grace_period_if_it_wants_to(api) -> None:
    api.create(a_pod(spec={"nodeName": "n1"}))
    api.delete("pods", "web", grace_period_s=5)
    assert api.get("pods", "web")["metadata"]["deletionGracePeriodSeconds"] == 5


def test_a_grace_period_can_be_shortened_and_not_prolonged(api) -> None:
    api.create(a_pod(spec={"nodeName": "n1"}))
    api.delete("pods", "web", grace_period_s=60)
    api.delete("pods", "web", grace_period_s=90)
    assert api.get("pods", "web")["metadata"]["deletionGracePeriodSeconds"] == 60
    api.delete("pods", "web", grace_period_s=20)
    metadata = api.get("pods", "web")["metadata"]
    assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == ("2023-11-14T22:13:40Z", 20)


def test_a_shortened_deadline_is_not_in_the_past(api) -> None:
    api.create(a_pod(spec={"nodeName": "n1"}))
    api.delete("pods", "web", grace_period_s=60)
    api.clock.moment = type(NOON)(NOON + 30)
    api.delete("pods", "web", grace_period_s=10)
    assert api.get("pods", "web")["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:50Z"


def test_a_finalizer_keeps_a_pod_beyond_its_grace(api) -> None:
    api.create(a_pod(finalizers=["example.com/wait"], spec={"nodeName": "n1"}))
    assert not api.delete("pods", "web", grace_period_s=0).is_gone
    api.patch("pods", "web", {"metadata": {"finalizers": []}})
    assert api.names("pods") == []


@pytest.mark.parametrize("propagation, finalizer", [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
def test_the_garbage_collector_is_told_by_a_finalizer(api, propagation, finalizer) -> None:
    api.create(a_deployment())
    assert not api.delete("deployments", "web", propagation=propagation).is_gone
    assert api.get("deployments", "web")["metadata"]["finalizers"] == [finalizer]


def test_background_deletion_takes_the_garbage_collectors_finalizers_off(api) -> None:
    api.create(a_deployment())
    api.delete("deployments", "web", propagation="Foreground")
    assert api.delete("deployments", "web", propagation="Background").is_gone


def test_a_dry_run_deletes_nothing(api) -> None:
    api.create(a_config())
    assert api.delete("configmaps", "settings", dry_run=True).is_gone
    assert api.names("configmaps") == ["settings"]


def test_a_namespace_waits_until_it_is_finalized(api) -> None:
    namespace = api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    assert namespace["spec"]["finalizers"] == ["kubernetes"]
    api.delete("namespaces", "team")
    going = api.get("namespaces", "team")
    assert going["status"]["phase"] == "Terminating"
    api.update(going | {"spec": {"finalizers": []}}, subresource="finalize")
    assert "team" not in api.names("namespaces")


def test_the_finalizers_of_a_namespace_are_not_changed_in_passing(api) -> None:
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    assert api.patch("namespaces", "team", {"spec": {"finalizers": []}})["spec"]["finalizers"] == ["kubernetes"]


def test_a_cluster_keeps_its_first_namespaces(api) -> None:
    with pytest.raises(Forbidden, match="this namespace may not be deleted"):
        api.delete("namespaces", "default")
