"""What the server knows of single kinds: defaults and rules."""

import base64

import pytest

from karpenter.runtime.kube import BadRequest, Invalid
from tests.runtime.kubememory.api import a_deployment, a_node


def fields(caught):
    return [cause["field"] for cause in caught.value.details["causes"]]


def a_workload(kind, version="apps/v1", **spec):
    return a_deployment(**spec) | {"apiVersion": version, "kind": kind}


def a_job(**spec):
    template = {"spec": {"containers": [{"name": "main", "image": "app"}], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sum"},
        "spec": {"template": template, **spec},
    }


def a_claim(**spec):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec}


def test_a_deployment_is_filled_in(api) -> None:
    spec = api.create(a_deployment())["spec"]
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (1, 10, 600)
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    assert spec["template"]["spec"]["restartPolicy"] == "Always"


def test_a_recreating_deployment_rolls_nothing(api) -> None:
    assert api.create(a_deployment(strategy={"type": "Recreate"}))["spec"]["strategy"] == {"type": "Recreate"}


def test_the_other_workloads_are_filled_in_their_way(api) -> None:
    assert api.create(a_workload("ReplicaSet"))["status"] == {"replicas": 0}
    daemon = api.create(a_workload("DaemonSet"))["spec"]["updateStrategy"]
    assert daemon == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    stateful = api.create(a_workload("StatefulSet", serviceName="web"))["spec"]
    assert (stateful["podManagementPolicy"], stateful["updateStrategy"]["rollingUpdate"]) == (
        "OrderedReady",
        {"partition": 0},
    )


def test_a_job_selects_its_pods_by_its_uid(api) -> None:
    job = api.create(a_job())
    uid = job["metadata"]["uid"]
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert job["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] == uid
    assert (job["spec"]["completions"], job["spec"]["parallelism"], job["spec"]["backoffLimit"]) == (1, 1, 6)


def test_a_work_queue_job_has_no_number_of_completions(api) -> None:
    assert "completions" not in api.create(a_job(parallelism=3))["spec"]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"])
def test_a_workload_needs_a_selector_that_fits_its_template(api, kind) -> None:
    without = a_workload(kind)
    del without["spec"]["selector"]
    with pytest.raises(Invalid) as caught:
        api.create(without)
    assert fields(caught) == ["spec.selector", "spec.template.metadata.labels"]
    with pytest.raises(Invalid) as caught:
        api.create(a_workload(kind, selector={"matchLabels": {"app": "other"}}))
    assert fields(caught) == ["spec.template.metadata.labels"]
    with pytest.raises(Invalid, match="empty selector is invalid"):
        api.create(a_workload(kind, selector={}))


def test_a_selector_is_for_life(api) -> None:
    api.create(a_deployment())
    change = {"spec": {"selector": {"matchLabels": {"tier": "x"}}, "template": {"metadata": {"labels": {"tier": "x"}}}}}
    with pytest.raises(Invalid, match="field is immutable") as caught:
        api.patch("deployments", "web", change)
    assert caught.value.status == 422


def test_the_rules_of_pods_hold_in_templates(api) -> None:
    with pytest.raises(Invalid) as caught:
        api.create(a_deployment(template={"containers": [{"name": "main"}], "restartPolicy": "Never"}, replicas=-1))
    assert fields(caught) == [
        "spec.replicas",
        "spec.template.spec.containers[0].image",
        "spec.template.spec.restartPolicy",
    ]


def test_a_job_says_what_happens_when_its_pods_end(api) -> None:
    job = a_job()
    del job["spec"]["template"]["spec"]["restartPolicy"]
    with pytest.raises(Invalid, match=r'restartPolicy: Required value: valid values: "OnFailure", "Never"'):
        api.create(job)


def test_little_of_a_stateful_set_can_be_changed(api) -> None:
    api.create(a_workload("StatefulSet", serviceName="web"))
    assert api.patch("statefulsets", "web", {"spec": {"replicas": 3}})["spec"]["replicas"] == 3
    with pytest.raises(Invalid, match="updates to statefulset spec for fields other than 'replicas'"):
        api.patch("statefulsets", "web", {"spec": {"serviceName": "other"}})


def test_containers_of_a_stateful_set_mount_its_claims_and_nothing_else_that_is_not_there(api) -> None:
    stateful = a_workload("StatefulSet", serviceName="web")
    stateful["spec"]["volumeClaimTemplates"] = [
        {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }
    ]
    container = stateful["spec"]["template"]["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "logs", "mountPath": "/logs"}]
    with pytest.raises(Invalid) as caught:
        api.create(stateful)
    assert fields(caught) == ["spec.template.spec.containers[0].volumeMounts[0].name"]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    assert "volumes" not in api.create(stateful)["spec"]["template"]["spec"]


def test_a_cron_job_needs_a_schedule(api) -> None:
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "daily"}}
    with pytest.raises(Invalid) as caught:
        api.create(cron | {"spec": {"jobTemplate": {"spec": a_job()["spec"]}}})
    assert fields(caught) == ["spec.schedule"]
    spec = api.create(cron | {"spec": {"schedule": "@daily", "jobTemplate": {"spec": a_job()["spec"]}}})["spec"]
    assert (spec["concurrencyPolicy"], spec["successfulJobsHistoryLimit"]) == ("Allow", 3)


def test_a_node_has_each_taint_once_and_a_known_effect(api) -> None:
    taints = [
        {"key": "a", "effect": "NoSchedule"},
        {"key": "a", "effect": "NoSchedule"},
        {"key": "b", "effect": "Never"},
    ]
    with pytest.raises(Invalid) as caught:
        api.create(a_node(taints=taints))
    assert fields(caught) == ["spec.taints[1]", "spec.taints[2].effect"]


def test_a_provider_id_is_given_once(api) -> None:
    api.create(a_node())
    api.patch("nodes", "n1", {"spec": {"providerID": "sim:///a/1"}})
    with pytest.raises(Invalid, match="node updates may not change providerID"):
        api.patch("nodes", "n1", {"spec": {"providerID": "sim:///a/2"}})


def test_a_budget_is_of_one_kind(api) -> None:
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    with pytest.raises(Invalid, match="minAvailable and maxUnavailable cannot be both set"):
        api.create(budget | {"spec": {"minAvailable": 1, "maxUnavailable": "10%"}})
    with pytest.raises(Invalid, match="valid percent string"):
        api.create(budget | {"spec": {"minAvailable": "10"}})


def test_a_new_budget_allows_nothing_until_it_was_counted(api) -> None:
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": {}}
    assert api.create(budget)["status"]["disruptionsAllowed"] == 0


def test_services_get_addresses_of_their_own(api) -> None:
    def create(name):
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
        return api.create(body)["spec"]

    first, second = create("a"), create("b")
    assert first["clusterIP"].startswith("10.96.")
    assert first["clusterIP"] != second["clusterIP"]
    assert first["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]


def test_the_address_of_a_service_stays(api) -> None:
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    address = api.create(body)["spec"]["clusterIP"]
    assert api.patch("services", "a", {"spec": {"ports": [{"port": 81}]}})["spec"]["clusterIP"] == address


def test_a_headless_service_stays_without(api) -> None:
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"clusterIP": "None"}}
    assert api.create(body)["spec"]["clusterIP"] == "None"


def test_a_claim_asks_for_something(api) -> None:
    claim = api.create(a_claim())
    assert (claim["spec"]["resources"]["requests"]["storage"], claim["status"]) == ("1Gi", {"phase": "Pending"})
    with pytest.raises(Invalid) as caught:
        api.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "b"}})
    assert fields(caught) == ["spec.accessModes", "spec.resources[storage]"]


def test_a_claim_without_a_class_gets_the_default_one(api) -> None:
    body = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "ebs.csi.aws.com"}
    api.create(body | {"metadata": {"name": "slow"}})
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    assert api.create(body | {"metadata": {"name": "fast", "annotations": mark}})["volumeBindingMode"] == "Immediate"
    assert api.create(a_claim())["spec"]["storageClassName"] == "fast"


def test_a_secret_keeps_plain_text_encoded(api) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "value"}}
    secret = api.create(body)
    assert (secret["type"], secret["data"]) == ("Opaque", {"key": base64.b64encode(b"value").decode()})
    assert "stringData" not in secret


def test_a_secret_whose_data_is_not_encoded_is_refused(api) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"key": "plain text"}}
    with pytest.raises(BadRequest, match=r"Secret.data of type \[\]uint8"):
        api.create(body)


def test_an_event_is_where_its_object_is(api) -> None:
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}}
    with pytest.raises(Invalid) as caught:
        api.create(event | {"involvedObject": {"kind": "Pod", "namespace": "kube-system"}})
    assert fields(caught) == ["involvedObject.namespace"]
    assert api.create(event | {"involvedObject": {"kind": "Node", "name": "n1"}})


def test_a_priority_stays_what_it_was(api) -> None:
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}
    api.create(body)
    with pytest.raises(Invalid, match="may not be changed in an update"):
        api.patch("priorityclasses", "high", {"value": 11})
    with pytest.raises(Invalid, match="maximum allowed value of a user defined priority is 1000000000"):
        api.create(body | {"metadata": {"name": "top"}, "value": 1_000_000_001})


def test_unknown_fields_of_kubernetes_own_kinds_are_told(api) -> None:
    written = api.write(a_deployment(replicaz=2))
    assert written.warnings == ('unknown field "spec.replicaz"',)
    with pytest.raises(BadRequest, match=r'unknown field "spec\.template\.spec\.foo", unknown field "spec\.replicaz"'):
        api.write(a_deployment("b", replicaz=2, template={"foo": 1}), field_validation="Strict")


def test_a_value_of_a_wrong_type_is_refused_like_by_a_go_program(api) -> None:
    words = "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int"
    with pytest.raises(BadRequest, match=words):
        api.create(a_deployment(replicas="two"))


def test_quantities_are_kept_canonical(api) -> None:
    node = api.create(
        a_node() | {"status": {"capacity": {"cpu": 4, "memory": "16384Mi"}, "allocatable": {"cpu": "3.92"}}}
    )
    assert node["status"] == {"capacity": {"cpu": "4", "memory": "16Gi"}, "allocatable": {"cpu": "3920m"}}


def test_a_claim_stays_as_it_is_but_for_its_size_and_its_volume(api) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec}
    api.create(claim)
    api.patch("persistentvolumeclaims", "data", {"spec": {"volumeName": "v"}})
    api.patch("persistentvolumeclaims", "data", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    for change in ({"accessModes": ["ReadWriteMany"]}, {"volumeName": "w"}):
        with pytest.raises(Invalid, match="spec is immutable after creation"):
            api.patch("persistentvolumeclaims", "data", {"spec": change})
