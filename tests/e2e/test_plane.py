"""The control plane is a real one: each program does its part, seen through kubectl and helm of the same version."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from karpenter.model.quantity import millis
from tests.e2e import build
from tests.e2e.nodes import a_kwok_node
from tests.e2e.pki import NOBODY
from tests.e2e.plane import ControlPlane
from tests.e2e.processes import eventually

ALLOCATABLE = {"cpu": "4", "memory": "16Gi", "pods": "110"}
IMAGE = "registry.example.com/app:1"


@pytest.fixture
def node(plane: ControlPlane) -> Iterator[str]:
    """A node of four cores, Ready, that only pods which tolerate the taint of its name may use."""
    yield from launched(plane, "lonely")


def launched(plane: ControlPlane, name: str) -> Iterator[str]:
    plane.apply(a_kwok_node(name, allocatable=ALLOCATABLE, labels={"e2e": name}))
    plane.kubectl("wait", "--for=condition=Ready", f"node/{name}", "--timeout=60s")
    yield name
    plane.kubectl("delete", "node", name)


def a_pod_manifest(name: str = "app", *, cpu: str = "100m") -> dict:
    container = {"name": "main", "image": IMAGE, "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [container]},
    }


def a_workload(kind: str, name: str = "app", **spec: object) -> dict:
    pod = a_pod_manifest(name)
    template = {"metadata": {"labels": {"app": name}}, "spec": pod["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template, **spec},
    }


def in_namespace(namespace: str, *manifests: dict) -> list[dict]:
    return [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in manifests]


def names(plane: ControlPlane, *query: str) -> list[str]:
    return plane.kubectl("get", *query, "--output=name").split()


def test_client_and_server_are_of_the_version_that_go_mod_names(plane: ControlPlane) -> None:
    versions = json.loads(plane.kubectl("version", "--output=json"))
    asked_for = build.version("k8s.io/kubernetes")
    assert [versions[side]["gitVersion"] for side in ("clientVersion", "serverVersion")] == [asked_for, asked_for]


def test_a_user_without_rights_is_refused(plane: ControlPlane) -> None:
    refused = plane.try_kubectl("get", "pods", user=NOBODY)
    assert (refused.returncode, "pods is forbidden" in refused.stderr) == (1, True)


def test_pods_of_a_deployment_are_bound_and_run(plane: ControlPlane, namespace: str, node: str) -> None:
    plane.apply(*in_namespace(namespace, a_workload("Deployment", replicas=3)))
    plane.kubectl("rollout", "status", "deployment/app", f"--namespace={namespace}", "--timeout=60s")
    pods = json.loads(plane.kubectl("get", "pods", f"--namespace={namespace}", "--output=json"))["items"]
    assert [(pod["spec"]["nodeName"], pod["status"]["phase"]) for pod in pods] == [(node, "Running")] * 3


def test_a_daemon_set_runs_on_each_node(plane: ControlPlane, namespace: str, node: str) -> None:
    plane.apply(*in_namespace(namespace, a_workload("DaemonSet")))
    plane.kubectl("rollout", "status", "daemonset/app", f"--namespace={namespace}", "--timeout=60s")
    assert len(names(plane, "pods", f"--namespace={namespace}", f"--field-selector=spec.nodeName={node}")) == 1


def test_a_pod_that_fits_nowhere_is_called_unschedulable(plane: ControlPlane, namespace: str, node: str) -> None:
    plane.apply(*in_namespace(namespace, a_pod_manifest(cpu="64")))
    said = "jsonpath={.status.conditions[?(@.type=='PodScheduled')].reason}=Unschedulable"
    plane.kubectl("wait", f"--for={said}", "pod/app", f"--namespace={namespace}", "--timeout=60s")


def test_an_eviction_that_a_budget_forbids_is_answered_with_too_many_requests(
    plane: ControlPlane, namespace: str, node: str
) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "app"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "app"}}},
    }
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "app", "namespace": namespace}}
    evict = ("create", "--filename=-", f"--raw=/api/v1/namespaces/{namespace}/pods/app/eviction")
    plane.apply(*in_namespace(namespace, budget, a_pod_manifest()))
    healthy = "--for=jsonpath={.status.currentHealthy}=1"
    plane.kubectl("wait", healthy, "pdb/app", f"--namespace={namespace}", "--timeout=60s")

    forbidden = plane.try_kubectl(*evict, stdin=json.dumps(eviction))
    assert "Cannot evict pod as it would violate the pod's disruption budget" in forbidden.stderr

    plane.kubectl("delete", "pdb", "app", f"--namespace={namespace}")
    plane.kubectl(*evict, stdin=json.dumps(eviction))
    plane.kubectl("wait", "--for=delete", "pod/app", f"--namespace={namespace}", "--timeout=60s")


def test_what_a_deleted_object_owned_is_collected(plane: ControlPlane, namespace: str, node: str) -> None:
    plane.apply(*in_namespace(namespace, a_workload("Deployment", replicas=2)))
    plane.kubectl("rollout", "status", "deployment/app", f"--namespace={namespace}", "--timeout=60s")
    plane.kubectl("delete", "deployment/app", f"--namespace={namespace}", "--cascade=foreground", "--timeout=60s")
    assert names(plane, "replicasets,pods", f"--namespace={namespace}") == []


def test_usage_is_what_the_pods_annotations_say(plane: ControlPlane, namespace: str, node: str) -> None:
    busy = a_pod_manifest()
    busy["metadata"]["annotations"] = {"kwok.x-k8s.io/usage-cpu": "250m", "kwok.x-k8s.io/usage-memory": "64Mi"}
    plane.apply(*in_namespace(namespace, busy))
    top = ("top", "pods", f"--namespace={namespace}", "--no-headers")
    eventually(lambda: plane.try_kubectl(*top).stdout.split() != [], "metrics-server knows the pod")
    name, cpu, memory = plane.kubectl(*top).split()
    assert (name, memory) == ("app", "64Mi")
    assert millis(cpu) == pytest.approx(250, rel=0.1)  # a rate between two scrapes


def test_helm_installs_a_chart(plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    chart = {"apiVersion": "v2", "name": "small", "version": "1.0.0"}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-{{ .Release.Name }}"}}
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text(yaml.safe_dump(chart), encoding="utf-8")
    (tmp_path / "templates" / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    plane.helm("install", "first", str(tmp_path), f"--namespace={namespace}")
    assert names(plane, "configmap", "of-first", f"--namespace={namespace}") == ["configmap/of-first"]
