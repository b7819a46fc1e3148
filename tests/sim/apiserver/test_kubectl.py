"""The stock kubectl against the API server, as a user types it. Skipped where there is no kubectl."""

import asyncio
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from karpenter.runtime.clock import WallClock
from karpenter.runtime.kubememory import MemoryStore
from karpenter.sim.apiserver import ApiServer
from tests.runtime.kubememory.api import a_config, a_definition, a_deployment, a_node, a_pod

KUBECTL = shutil.which("kubectl")
pytestmark = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")


class Kubectl:
    """kubectl on a server that runs in a thread of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.store = MemoryStore(WallClock())
        self.server = ApiServer(self.store)
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(home / "config")}

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.server.start(), self.loop).result(10)
        (self.home / "config").write_text(self.server.kubeconfig(), encoding="utf-8")

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self.server.stop(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def admit(self, hook: Any) -> None:
        self.loop.call_soon_threadsafe(self.store.admission.append, hook)

    def run(self, *words: str, stdin: Any = None, code: int = 0) -> str:
        """Return what kubectl prints, errors included; `stdin` is a manifest or several."""
        documents = stdin if isinstance(stdin, list) else [stdin]
        text = None if stdin is None else yaml.safe_dump_all(documents)
        done = subprocess.run(
            [KUBECTL, *words], env=self.environment, input=text, capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return (done.stdout + done.stderr).strip()

    @contextmanager
    def running(self, *words: str) -> Iterator[Iterator[str]]:
        """Yield the lines that a kubectl prints while it runs; it is ended with the block."""
        command = [KUBECTL, *words]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, env=self.environment, stdout=pipe, stderr=subprocess.STDOUT, text=True
        ) as running:
            yield iter(running.stdout)
            running.terminate()

    def json(self, *words: str) -> Any:
        return json.loads(self.run("get", *words, "-o", "json"))

    def rows(self, *words: str) -> list[list[str]]:
        """Return the printed columns, without headings; none when there is nothing."""
        printed = self.run("get", *words, "--no-headers")
        return [] if printed.startswith("No resources found") else [line.split() for line in printed.splitlines()]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Kubectl]:
    kubectl = Kubectl(tmp_path_factory.mktemp("kubectl"))
    kubectl.start()
    yield kubectl
    kubectl.stop()


@pytest.fixture
def kubectl(cluster, request) -> Kubectl:
    """kubectl in a namespace of the test's own."""
    name = f"t{abs(hash(request.node.name)) % 10**9}"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    cluster.run("create", "-f", "-", stdin=namespace)
    cluster.run("config", "set-context", "--current", "--namespace", name)
    return cluster


def a_running_pod(kubectl: Kubectl, name: str, *, node: str, **labels: str) -> None:
    """Create a ready pod that a ReplicaSet seems to own."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u1", "controller": True}
    pod = a_pod(
        name, labels=labels, ownerReferences=[owner], spec={"nodeName": node, "terminationGracePeriodSeconds": 0}
    )
    kubectl.run("create", "-f", "-", stdin=pod)
    status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    kubectl.run("patch", "pod", name, "--subresource=status", "--type=merge", "-p", json.dumps(status))


def test_get_prints_tables_and_the_other_forms(kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=[a_pod("a", labels={"app": "x"}), a_pod("b", spec={"nodeName": "n1"})])
    assert [row[:4] for row in kubectl.rows("pods")] == [["a", "0/1", "Pending", "0"], ["b", "0/1", "Pending", "0"]]
    assert kubectl.rows("pods", "-o", "wide")[1][5:7] == ["<none>", "n1"]
    assert kubectl.run("get", "pods", "-o", "name") == "pod/a\npod/b"
    assert yaml.safe_load(kubectl.run("get", "pod", "a", "-o", "yaml"))["spec"]["restartPolicy"] == "Always"
    assert kubectl.json("pods")["kind"] == "List"
    assert kubectl.run("get", "pods", "-l", "app=x", "-o", "name") == "pod/a"
    assert kubectl.run("get", "pods", "--field-selector", "spec.nodeName=n1", "-o", "name") == "pod/b"
    assert "app=x" in kubectl.run("get", "pods", "--show-labels")
    assert "field label not supported: spec.color" in kubectl.run(
        "get", "po", "--field-selector", "spec.color=x", code=1
    )
    assert 'pods "c" not found' in kubectl.run("get", "pod", "c", code=1)


def test_get_w_follows(kubectl) -> None:
    kubectl.run("apply", "-f", "-", stdin=a_config("first"))
    with kubectl.running("get", "configmaps", "-w", "--no-headers") as lines:
        assert next(lines).split()[:2] == ["first", "0"]
        kubectl.run("apply", "-f", "-", stdin=a_config("first", {"a": "1"}))
        assert next(lines).split()[:2] == ["first", "1"]
        kubectl.run("apply", "-f", "-", stdin=a_config("second"))
        assert next(lines).split()[:2] == ["second", "0"]


def test_apply_creates_leaves_alone_and_changes(kubectl) -> None:
    manifest = a_deployment(replicas=2)
    assert kubectl.run("apply", "-f", "-", stdin=manifest) == "deployment.apps/web created"
    assert kubectl.run("apply", "-f", "-", stdin=manifest) == "deployment.apps/web unchanged"
    manifest["spec"]["replicas"] = 3
    assert kubectl.run("apply", "-f", "-", stdin=manifest) == "deployment.apps/web configured"
    deployment = kubectl.json("deployment", "web")
    assert deployment["spec"]["replicas"] == 3
    assert "kubectl.kubernetes.io/last-applied-configuration" in deployment["metadata"]["annotations"]


def test_apply_merges_three_ways(kubectl) -> None:
    containers = [{"name": "main", "image": "app:1"}, {"name": "side", "image": "side:1"}]
    kubectl.run("apply", "-f", "-", stdin=a_deployment(template={"containers": containers}))
    mesh = {"spec": {"template": {"spec": {"containers": [{"name": "mesh", "image": "mesh:1"}]}}}}
    kubectl.run("patch", "deployment", "web", "-p", json.dumps(mesh))
    kubectl.run("apply", "-f", "-", stdin=a_deployment(template={"containers": containers[:1]}))
    names = [one["name"] for one in kubectl.json("deployment", "web")["spec"]["template"]["spec"]["containers"]]
    assert sorted(names) == ["main", "mesh"]


def test_apply_on_the_server_knows_owners(kubectl) -> None:
    manifest = a_deployment(replicas=2)
    assert kubectl.run("apply", "--server-side", "-f", "-", stdin=manifest) == "deployment.apps/web serverside-applied"
    kubectl.run("scale", "deployment", "web", "--replicas=5")
    manifest["spec"]["replicas"] = 3
    refused = kubectl.run("apply", "--server-side", "-f", "-", stdin=manifest, code=1)
    assert 'conflict with "kubectl"' in refused
    assert ".spec.replicas" in refused
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest)
    assert kubectl.json("deployment", "web")["spec"]["replicas"] == 3


def test_a_bad_manifest_is_told_with_its_fields(kubectl) -> None:
    assert 'unknown field "spec.replicaz"' in kubectl.run("apply", "-f", "-", stdin=a_deployment(replicaz=1), code=1)
    broken = a_deployment(replicas=-1, template={"containers": [{"name": "main"}]})
    told = kubectl.run("create", "-f", "-", stdin=broken, code=1)
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in told
    assert "spec.template.spec.containers[0].image: Required value" in told
    assert "already exists" in kubectl.run("create", "-f", "-", stdin=[a_config(), a_config()], code=1)


def test_the_three_kinds_of_patch(kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=a_deployment())
    image = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}}}
    kubectl.run("patch", "deploy", "web", "-p", json.dumps(image))
    kubectl.run("patch", "deploy", "web", "--type=merge", "-p", '{"spec": {"paused": true}}')
    steps = [{"op": "replace", "path": "/spec/replicas", "value": 7}]
    kubectl.run("patch", "deploy", "web", "--type=json", "-p", json.dumps(steps))
    spec = kubectl.json("deploy", "web")["spec"]
    assert (spec["replicas"], spec["paused"], spec["template"]["spec"]["containers"][0]["image"]) == (7, True, "app:2")


def test_scale_label_and_annotate(kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=a_deployment())
    assert kubectl.run("scale", "deployment/web", "--replicas=4") == "deployment.apps/web scaled"
    kubectl.run("label", "deployment", "web", "tier=front")
    assert "already has a value" in kubectl.run("label", "deployment", "web", "tier=back", code=1)
    kubectl.run("label", "deployment", "web", "tier=back", "--overwrite")
    kubectl.run("annotate", "deployment", "web", "example.com/note=hello")
    kubectl.run("annotate", "deployment", "web", "example.com/note-")
    deployment = kubectl.json("deployment", "web")
    assert deployment["spec"]["replicas"] == 4
    assert deployment["metadata"]["labels"] == {"tier": "back"}
    assert (
        "annotations" not in deployment["metadata"] or "example.com/note" not in deployment["metadata"]["annotations"]
    )


def test_taint_and_cordon(kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=a_node("taints"))
    assert kubectl.run("taint", "node", "taints", "a=b:NoSchedule") == "node/taints tainted"
    assert kubectl.run("cordon", "taints") == "node/taints cordoned"
    assert kubectl.rows("node", "taints")[0][1] == "Unknown,SchedulingDisabled"
    assert kubectl.json("node", "taints")["spec"]["taints"] == [{"key": "a", "value": "b", "effect": "NoSchedule"}]
    kubectl.run("uncordon", "taints")
    kubectl.run("taint", "node", "taints", "a-")
    assert kubectl.json("node", "taints")["spec"] == {}


def test_drain_asks_the_budgets(kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=a_node("drained"))
    a_running_pod(kubectl, "guarded", node="drained", app="guarded")
    a_running_pod(kubectl, "free", node="drained", app="free")
    selector = {"matchLabels": {"app": "guarded"}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "pdb"}}
    kubectl.run("create", "-f", "-", stdin=budget | {"spec": {"minAvailable": 1, "selector": selector}})
    counts = {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 0}
    patch = ("patch", "pdb", "pdb", "--subresource=status", "--type=merge", "-p")
    kubectl.run(*patch, json.dumps({"status": counts}))
    with kubectl.running("drain", "drained", "--timeout=20s") as lines:
        why = "Cannot evict pod as it would violate the pod's disruption budget."
        assert any(why in line for line in lines)
        assert kubectl.run("get", "pods", "-o", "name") == "pod/guarded"
        kubectl.run(*patch, json.dumps({"status": {"disruptionsAllowed": 1}}))
        assert any(line == "node/drained drained\n" for line in lines)
    assert kubectl.rows("pods") == []
    assert kubectl.rows("pdb")[0][3] == "0"


def test_delete_waits_for_finalizers(kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=a_config("kept", finalizers=["example.com/wait"]))
    kubectl.run("delete", "configmap", "kept", "--wait=false")
    assert "deletionTimestamp" in kubectl.json("configmap", "kept")["metadata"]
    told = kubectl.run("delete", "configmap", "kept", "--timeout=1s", code=1)
    assert "timed out waiting for the condition" in told
    kubectl.run("patch", "configmap", "kept", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    assert 'configmaps "kept" not found' in kubectl.run("get", "configmap", "kept", code=1)


def test_delete_by_file_label_grace_and_cascade(kubectl) -> None:
    pods = [a_pod("a", labels={"app": "x"}), a_pod("b", labels={"app": "x"}), a_pod("c", spec={"nodeName": "n1"})]
    kubectl.run("create", "-f", "-", stdin=[*pods, a_deployment()])
    kubectl.run("delete", "pods", "-l", "app=x")
    kubectl.run("delete", "pod", "c", "--wait=false", "--grace-period=60")
    assert kubectl.json("pod", "c")["metadata"]["deletionGracePeriodSeconds"] == 60
    assert "force deleted" in kubectl.run("delete", "pod", "c", "--force", "--grace-period=0")
    kubectl.run("delete", "deployment", "web", "--cascade=foreground", "--wait=false")
    assert kubectl.json("deployment", "web")["metadata"]["finalizers"] == ["foregroundDeletion"]
    kubectl.run("delete", "-f", "-", "--cascade=background", stdin=a_deployment())
    assert kubectl.rows("pods,deployments") == []


def test_describe_tells_events(kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=[a_pod(spec={"nodeName": "nowhere"}), a_deployment(), a_node("described")])
    pod = kubectl.json("pod", "web")["metadata"]
    about = {"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": pod["namespace"], "uid": pod["uid"]}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e1"},
        "involvedObject": about,
        "type": "Warning",
    }
    times = {"firstTimestamp": pod["creationTimestamp"], "lastTimestamp": pod["creationTimestamp"], "count": 1}
    kubectl.run("create", "-f", "-", stdin=event | times | {"reason": "FailedScheduling", "message": "no room at all"})
    assert "no room at all" in kubectl.run("describe", "pod", "web")
    assert "Image:         app:1" in kubectl.run("describe", "deployment", "web")
    assert "Unschedulable:      false" in kubectl.run("describe", "node", "described")
    assert "no room at all" in kubectl.run("events")
    assert "no room at all" in kubectl.run("events", "--for", "pod/web", "--types=Warning")
    assert kubectl.rows("events")[0][1:4] == ["Warning", "FailedScheduling", "pod/web"]


def test_custom_kinds_work_like_others(kubectl) -> None:
    columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
    kubectl.run("create", "-f", "-", stdin=a_definition(additionalPrinterColumns=columns))
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w1"}, "spec": {"size": 3}}
    assert kubectl.run("apply", "-f", "-", stdin=widget) == "widget.example.com/w1 created"
    assert kubectl.run("apply", "-f", "-", stdin=widget) == "widget.example.com/w1 unchanged"
    assert kubectl.rows("w") == [["w1", "3"]]
    widget["spec"]["size"] = 0
    assert "should be greater than or equal to 1" in kubectl.run("apply", "-f", "-", stdin=widget, code=1)
    assert "size\t<integer>" in kubectl.run("explain", "widget.spec")
    assert "Size:" in kubectl.run("describe", "widget", "w1")
    kubectl.run("delete", "crd", "widgets.example.com")
    assert kubectl.run("get", "widgets", code=1)


def test_create_of_the_common_kinds(kubectl) -> None:
    kubectl.run("create", "deployment", "web", "--image=app:1", "--replicas=0")
    kubectl.run("create", "configmap", "settings", "--from-literal=a=1")
    kubectl.run("create", "secret", "generic", "keys", "--from-literal=a=1")
    kubectl.run("create", "job", "sum", "--image=app:1")
    kubectl.run("create", "pdb", "web", "--selector=app=web", "--max-unavailable=25%")
    kubectl.run("expose", "deployment", "web", "--port=80")
    kubectl.run("run", "once", "--image=app:1")
    assert kubectl.json("deployment", "web")["spec"]["replicas"] == 0
    assert kubectl.json("secret", "keys")["data"] == {"a": "MQ=="}
    assert kubectl.json("pdb", "web")["spec"]["maxUnavailable"] == "25%"
    assert [row[0] for row in kubectl.rows("all")] == [
        "pod/once",
        "service/web",
        "deployment.apps/web",
        "job.batch/sum",
    ]
    assert kubectl.run("auth", "can-i", "create", "pods") == "yes"


def test_warnings_are_printed(kubectl) -> None:
    def hook(_operation, resource, new, _old):
        return new, ("mind the gap",) if new["metadata"]["name"] == "warned" else ()

    kubectl.admit(hook)
    assert "Warning: mind the gap" in kubectl.run("apply", "-f", "-", stdin=a_config("warned"))


def test_what_the_cluster_is(kubectl) -> None:
    assert "is running at https://127.0.0.1" in kubectl.run("cluster-info")
    assert "Server Version: v1.36" in kubectl.run("version")
    served = kubectl.run("api-resources", "--no-headers")
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in [line.split() for line in served.splitlines()]
    assert kubectl.run("api-resources", "--namespaced=false", "-o", "name").splitlines()[0] == "namespaces"
    assert "apps/v1" in kubectl.run("api-versions").splitlines()


def test_logs_and_exec_are_politely_refused(kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=a_pod())
    assert "this cluster is simulated" in kubectl.run("logs", "web", code=1)
    assert "this cluster is simulated" in kubectl.run("exec", "web", "--", "ls", code=1)
