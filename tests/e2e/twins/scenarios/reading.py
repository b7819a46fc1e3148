"""Getting, describing, selecting, paging and watching."""

import json

from tests.e2e.twins.clusters import Cluster
from tests.e2e.twins.scenarios.manifests import a_pod, an_object, wanted
from tests.e2e.twins.stage import scenario


@scenario
def pods_are_printed_in_every_form(cluster: Cluster) -> None:
    cluster.kubectl("get pods")
    cluster.kubectl("create -f -", [a_pod("a", labels={"app": "x"}), a_pod("b", labels={"app": "y"})])
    cluster.quietly("wait --for=condition=Ready pod/a pod/b --timeout=60s")
    cluster.kubectl("get pods -o name")
    cluster.kubectl("get pods --show-labels -L app")
    cluster.holds("pod a", only=wanted)
    cluster.kubectl("get pods --no-headers -l app=x")
    cluster.kubectl("get pods --sort-by=.metadata.name -o custom-columns=N:.metadata.name,P:.status.phase")
    cluster.kubectl("get pods -o jsonpath='{.items[*].metadata.name}'")
    cluster.kubectl("get pod/a pod/b -o go-template='{{range .items}}{{.spec.restartPolicy}}{{end}}'")
    cluster.kubectl("get pod c")
    cluster.kubectl("get nonsense")
    cluster.kubectl("describe pod a --show-events=false", differs="token volumes")


@scenario
def fields_and_labels_select(cluster: Cluster) -> None:
    cluster.kubectl("create -f -", [a_pod(name, labels={"app": name, "tier": "t"}) for name in ("a", "b", "c")])
    cluster.quietly("wait --for=condition=Ready pod --all --timeout=60s")
    for selector in ("app=a", "app!=a", "app in (a,b)", "app notin (a)", "!app", "tier,app=c", "app==b"):
        cluster.kubectl(f"get pods -o name -l '{selector}'")
    for selector in (
        "metadata.name=a",
        "metadata.name!=a",
        "status.phase=Running",
        "status.phase=Running,metadata.name=b",
        "spec.restartPolicy=Always",
        "spec.schedulerName=default-scheduler",
        "spec.serviceAccountName=default",
        "spec.color=red",
        "nonsense",
    ):
        cluster.kubectl(f"get pods -o name --field-selector '{selector}'")
    cluster.kubectl("get pods -l 'app in'")
    cluster.kubectl("get secrets --field-selector type=Opaque")
    cluster.kubectl("get services --field-selector spec.type=ClusterIP")
    cluster.kubectl("get namespaces --field-selector status.phase=Active,metadata.name=default -o name")
    cluster.kubectl("get configmaps --field-selector data=x")


@scenario
def long_lists_come_in_pages(cluster: Cluster) -> None:
    cluster.quietly(
        "create -f -", [an_object("ConfigMap", f"page-{number}", labels={"of": "us"}) for number in range(5)]
    )
    path = "/api/v1/namespaces/NS/configmaps?labelSelector=of%3Dus&limit=2"

    def names(body):
        metadata = {key: value for key, value in body["metadata"].items() if key not in ("continue", "resourceVersion")}
        return {"metadata": metadata, "names": [one["metadata"]["name"] for one in body["items"]]}

    first = cluster.http("GET", path, only=names)
    token = first["metadata"]["continue"]
    cluster.quietly("create configmap page-0a")
    second = cluster.request("GET", f"{path}&continue={token}")[2]
    cluster.transcript.add_tree("second page", names(second))
    third = cluster.request("GET", f"{path}&continue={second['metadata']['continue']}")[2]
    cluster.transcript.add_tree("third page", names(third))
    cluster.transcript.add("an unreadable token", str(cluster.request("GET", f"{path}&continue=nonsense")[0]))
    cluster.http("GET", "/api/v1/namespaces/NS/configmaps?limit=abc")
    cluster.kubectl("get configmaps -l of=us --chunk-size=2 -o name")


@scenario
def watches_tell_what_is_there_and_what_comes(cluster: Cluster) -> None:
    cluster.quietly("create -f -", [an_object("ConfigMap", name, labels={"of": "us"}) for name in ("a", "b")])
    path = (
        "/api/v1/namespaces/NS/configmaps?watch=1&labelSelector=of%3Dus&timeoutSeconds=2"
        "&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    )
    cluster.http("GET", path, only=told)
    cluster.http("GET", path.replace("&resourceVersionMatch=NotOlderThan", ""), only=told)
    cluster.http("GET", path.replace("sendInitialEvents=true", "sendInitialEvents=false"), only=told)
    cluster.http(
        "GET", "/api/v1/namespaces/NS/configmaps?watch=1&resourceVersion=1&timeoutSeconds=2&labelSelector=of", only=told
    )
    cluster.http("GET", "/api/v1/namespaces/NS/configmaps?watch=1&resourceVersion=abc", only=told)
    cluster.http("GET", "/api/v1/namespaces/NS/configmaps?resourceVersion=99999999", only=told)
    cluster.http("GET", "/api/v1/namespaces/NS/configmaps?resourceVersion=1&resourceVersionMatch=Exact", only=told)
    cluster.http("GET", "/api/v1/namespaces/NS/configmaps?resourceVersionMatch=Exact", only=told)
    cluster.kubectl("get configmaps -l of=us --watch-only --request-timeout=1s")


def told(body):
    """Return the lines of a watch as (type, name, annotations)."""
    lines = [json.loads(line) for line in body.splitlines()] if isinstance(body, str) else [body]
    return [
        (line.get("type"), metadata.get("name"), metadata.get("annotations"), line["object"].get("code"))
        for line in lines
        if (metadata := line.get("object", {}).get("metadata", {})) is not None and "object" in line
    ]


@scenario
def nodes_are_described(cluster: Cluster) -> None:
    cluster.kubectl("get nodes -o name")
    cluster.kubectl("get nodes --no-headers -o custom-columns=N:.metadata.name,C:.status.allocatable.cpu")
    cluster.kubectl("get nodes -l kubernetes.io/hostname=node-a -o name")
    cluster.kubectl("label node node-a twins=yes")
    cluster.kubectl("label node node-a twins=no")
    cluster.kubectl("label node node-a twins=no --overwrite")
    cluster.kubectl("label node node-a twins-")
    cluster.kubectl("get node node-z")


@scenario
def events_are_listed(cluster: Cluster) -> None:
    cluster.quietly("create -f -", a_pod("a"))
    cluster.quietly("wait --for=condition=Ready pod/a --timeout=60s")
    cluster.kubectl("events --for pod/a --types=Warning")
    cluster.kubectl(
        "get events --field-selector involvedObject.name=a,reason=Scheduled -o custom-columns=R:.reason,T:.type"
    )
    cluster.kubectl("get events --field-selector involvedObject.name=nobody")
