"""Deleting, waiting, draining, and namespaces that go."""

from typing import Any

from tests.e2e.twins.clusters import Cluster
from tests.e2e.twins.scenarios.manifests import a_pod, a_template, a_workload, an_object
from tests.e2e.twins.stage import scenario

HELD = {"finalizers": ["example.com/held"]}


def held(name: str) -> dict[str, Any]:
    config = an_object("ConfigMap", name)
    config["metadata"] |= HELD
    return config


@scenario
def objects_are_deleted_and_waited_for(cluster: Cluster) -> None:
    configs = [an_object("ConfigMap", name, labels={"of": "us"}) for name in ("a", "b", "c")]
    cluster.quietly("create -f -", [*configs, held("held")])
    cluster.kubectl("delete configmap a")
    cluster.kubectl("delete configmap a")
    cluster.kubectl("delete configmap a --ignore-not-found")
    cluster.kubectl("delete configmap b --dry-run=server")
    cluster.kubectl("delete configmaps -l of=us")
    cluster.kubectl("delete configmaps -l of=us")
    cluster.kubectl("delete configmap held --wait=false")
    cluster.holds("configmap held", only=lambda one: sorted(one["metadata"]))
    cluster.kubectl("delete configmap held --timeout=1s")
    cluster.kubectl("wait --for=delete configmap/held --timeout=1s")
    cluster.kubectl('patch configmap held --type=merge -p \'{"metadata": {"finalizers": ["example.com/more"]}}\'')
    cluster.kubectl('patch configmap held --type=merge -p \'{"metadata": {"finalizers": null}}\'')
    cluster.kubectl("wait --for=delete configmap/held --timeout=10s")
    cluster.kubectl("get configmap held")
    cluster.kubectl("delete -f -", an_object("ConfigMap", "none"))


@scenario
def children_go_with_their_parents_or_stay(cluster: Cluster) -> None:
    for name in ("background", "foreground", "orphan"):
        cluster.quietly("create -f -", a_workload("ReplicaSet", name, replicas=1))
        cluster.until(f"get replicaset {name} -o jsonpath='{{.status.readyReplicas}}'", "1")
    cluster.kubectl("delete replicaset background")
    cluster.until("get pods -l app=background", "No resources found")
    cluster.kubectl("delete replicaset foreground --cascade=foreground")
    cluster.kubectl("get pods -l app=foreground")
    cluster.kubectl("delete replicaset orphan --cascade=orphan")
    cluster.kubectl("get pods -l app=orphan -o jsonpath='{.items[*].metadata.ownerReferences}{.items[*].status.phase}'")
    cluster.kubectl("delete pods -l app=orphan --cascade=sometimes")
    for policy in ("Foreground", "Orphan"):
        cluster.quietly("create -f -", a_workload("ReplicaSet", "kept", replicas=0))
        cluster.quietly('patch replicaset kept --type=merge -p \'{"metadata": {"finalizers": ["example.com/held"]}}\'')
        cluster.http(
            "DELETE",
            f"/apis/apps/v1/namespaces/NS/replicasets/kept?propagationPolicy={policy}",
            only=lambda one: one["kind"],
        )
        cluster.quietly('patch replicaset kept --type=merge -p \'{"metadata": {"finalizers": null}}\'')
        cluster.quietly("wait --for=delete replicaset/kept --timeout=20s")
    cluster.http("DELETE", "/apis/apps/v1/namespaces/NS/replicasets/kept?propagationPolicy=Sometimes")


@scenario
def pods_go_with_grace(cluster: Cluster) -> None:
    cluster.quietly("create -f -", [a_pod("a", terminationGracePeriodSeconds=30), a_pod("b")])
    cluster.quietly("wait --for=condition=Ready pod/a pod/b --timeout=60s")
    cluster.kubectl("delete pod b --wait=false")
    cluster.kubectl("wait --for=delete pod/b --timeout=30s")
    cluster.kubectl("delete pod a --grace-period=0 --force")
    cluster.kubectl("wait --for=delete pod/a --timeout=30s")
    cluster.kubectl("delete pod a --now")


@scenario
def conditions_and_fields_are_waited_for(cluster: Cluster) -> None:
    cluster.quietly("create -f -", a_pod("a"))
    cluster.kubectl("wait --for=condition=Ready pod/a --timeout=60s")
    cluster.kubectl("wait --for=condition=Ready=false pod/a --timeout=1s")
    cluster.kubectl("wait --for=jsonpath='{.status.phase}'=Running pod/a --timeout=30s")
    cluster.kubectl("wait --for=jsonpath='{.spec.nodeName}' pod/a --timeout=30s")
    cluster.kubectl("wait --for=create pod/b --timeout=1s")
    cluster.kubectl("wait --for=condition=Ready pod/b --timeout=1s")
    cluster.kubectl("wait --for=condition=Ready pod -l app=none --timeout=1s")


@scenario
def namespaces_live_and_go(cluster: Cluster) -> None:
    inner = "namespaces-live-and-go-inner"
    cluster.kubectl(f"create namespace {inner}")
    cluster.holds(f"namespace {inner}")
    cluster.kubectl(f"get namespace {inner}")
    cluster.kubectl(f"create namespace {inner}")
    cluster.quietly(f"wait --for=create serviceaccount/default -n {inner} --timeout=30s")
    cluster.quietly(f"create -n {inner} -f -", held("held"))
    cluster.kubectl(f"create configmap a -n {inner}")
    cluster.kubectl(f"delete namespace {inner} --wait=false")
    cluster.until(f"get namespace {inner} -o jsonpath='{{.status.phase}}'", "Terminating")
    cluster.until(f"get configmap a -n {inner}", "NotFound")
    cluster.kubectl(f"create configmap b -n {inner}")
    cluster.until(f"get namespace {inner} -o jsonpath='{{.status.conditions}}'", "NamespaceFinalizersRemaining")
    cluster.kubectl(
        f"get namespace {inner} -o jsonpath='{{range .status.conditions[*]}}{{.type}}={{.status}}:{{.reason}};{{end}}'"
    )
    cluster.quietly(f'patch configmap held -n {inner} --type=merge -p \'{{"metadata": {{"finalizers": null}}}}\'')
    cluster.quietly(f"wait --for=delete namespace/{inner} --timeout=60s")
    cluster.kubectl("create configmap a -n nowhere")
    cluster.kubectl("delete namespace default")
    cluster.kubectl("delete namespace kube-system")


@scenario
def nodes_are_cordoned_and_drained(cluster: Cluster) -> None:
    place = {"nodeSelector": {"kubernetes.io/hostname": "node-b"}}
    cluster.quietly(
        "create -f -",
        [a_workload("ReplicaSet", "web", replicas=2, template=a_template("web", **place)), a_pod("bare", **place)],
    )
    cluster.until("get replicaset web -o jsonpath='{.status.readyReplicas}'", "2")
    cluster.quietly("wait --for=condition=Ready pod/bare --timeout=60s")
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    cluster.quietly("create -f -", an_object("PodDisruptionBudget", "web", api="policy/v1", spec=budget))
    cluster.until("get pdb web -o jsonpath='{.status.disruptionsAllowed}'", "1")
    cluster.kubectl("cordon node-b")
    cluster.kubectl("cordon node-b")
    cluster.kubectl("get node node-b -o jsonpath='{.spec}'", differs="provider ids")
    cluster.kubectl("drain node-b --pod-selector=app=web --timeout=3s --skip-wait-for-delete-timeout=1")
    cluster.kubectl("drain node-b")
    cluster.kubectl("get pdb web")
    cluster.kubectl("uncordon node-b")
    cluster.kubectl("uncordon node-b")
    cluster.kubectl("taint node node-b a=b:NoSchedule")
    cluster.kubectl("taint node node-b a=b:NoSchedule")
    cluster.kubectl("taint node node-b a=c:NoSchedule --overwrite")
    cluster.kubectl("taint node node-b a=b:Sometimes")
    cluster.kubectl("taint node node-b a-")
    cluster.kubectl("taint node node-b a-")


@scenario
def budgets_refuse_evictions(cluster: Cluster) -> None:
    cluster.quietly("create -f -", a_workload("ReplicaSet", "web", replicas=1))
    cluster.until("get replicaset web -o jsonpath='{.status.readyReplicas}'", "1")
    budget = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}}
    cluster.quietly("create -f -", an_object("PodDisruptionBudget", "web", api="policy/v1", spec=budget))
    cluster.until("get pdb web -o jsonpath='{.status.currentHealthy}'", "1")
    name = cluster.quietly("get pods -o jsonpath='{.items[0].metadata.name}'").stdout
    eviction = an_object("Eviction", name, api="policy/v1")
    cluster.http("POST", f"/api/v1/namespaces/NS/pods/{name}/eviction", eviction)
    cluster.http("POST", f"/api/v1/namespaces/NS/pods/{name}/eviction", an_object("Eviction", "other", api="policy/v1"))
    cluster.http("POST", "/api/v1/namespaces/NS/pods/none/eviction", an_object("Eviction", "none", api="policy/v1"))
    cluster.quietly("delete pdb web")
    cluster.until("get pdb web", "NotFound")
    cluster.http("POST", f"/api/v1/namespaces/NS/pods/{name}/eviction", eviction)
