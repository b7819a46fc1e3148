"""The bodies that clients read: how requests are refused."""

from tests.e2e.twins.clusters import Cluster
from tests.e2e.twins.scenarios.manifests import an_object
from tests.e2e.twins.stage import scenario

CONFIGS = "/api/v1/namespaces/NS/configmaps"


@scenario
def refusals_have_reasons_and_details(cluster: Cluster) -> None:
    cluster.http("GET", f"{CONFIGS}/none")
    cluster.http("GET", "/api/v1/namespaces/NS/nonsense")
    cluster.http("GET", "/apis/nonsense/v1/things")
    cluster.http("GET", "/nonsense")
    cluster.quietly("create configmap a --from-literal=k=v")
    cluster.http("POST", CONFIGS, an_object("ConfigMap", "a"))
    cluster.http("POST", CONFIGS, an_object("Pod", "a"))
    cluster.http("POST", CONFIGS, an_object("ConfigMap", ""))
    cluster.http("POST", CONFIGS, b"{nonsense", differs="unreadable bodies")
    cluster.http("POST", CONFIGS, b"[]", differs="unreadable bodies")
    other = an_object("ConfigMap", "b")
    other["metadata"]["namespace"] = "default"
    cluster.http("POST", CONFIGS, other)
    cluster.http("PUT", f"{CONFIGS}/a", an_object("ConfigMap", "b"))
    stale = an_object("ConfigMap", "a")
    stale["metadata"]["resourceVersion"] = "1"
    cluster.http("PUT", f"{CONFIGS}/a", stale)
    cluster.http("PUT", f"{CONFIGS}/none", an_object("ConfigMap", "none"))
    cluster.http(
        "PATCH", f"{CONFIGS}/a", {"metadata": {"resourceVersion": "1"}}, content_type="application/merge-patch+json"
    )
    cluster.http("DELETE", f"{CONFIGS}/a", {"preconditions": {"uid": "x"}})
    cluster.http("DELETE", f"{CONFIGS}/a", {"preconditions": {"resourceVersion": "1"}})
    cluster.http("POST", f"{CONFIGS}/a")
    cluster.http("DELETE", "/api/v1/namespaces/NS/pods/none/status")
    cluster.http("POST", f"{CONFIGS}?dryRun=Some", an_object("ConfigMap", "c"))
    cluster.http("POST", f"{CONFIGS}?fieldValidation=Perhaps", an_object("ConfigMap", "c"))
    cluster.http("PATCH", f"{CONFIGS}/a", an_object("ConfigMap", "a"), content_type="application/apply-patch+yaml")
    cluster.http("POST", "/api/v1/namespaces/nowhere/configmaps", an_object("ConfigMap", "c"))
    cluster.http("POST", CONFIGS, an_object("ConfigMap", "c", labels={"a b": "c", "d": "e f"}))


@scenario
def the_version_is_the_one_that_it_behaves_like(cluster: Cluster) -> None:
    """The patch release too: tools decide by it what they may ask for."""
    cluster.http("GET", "/version", only=lambda told: told["gitVersion"].partition("+")[0])


@scenario
def an_expired_token_of_a_list_is_gone(cluster: Cluster) -> None:
    cluster.http("GET", f"{CONFIGS}?resourceVersion=1&resourceVersionMatch=Exact")
    cluster.http("GET", f"{CONFIGS}?resourceVersion=1&resourceVersionMatch=Sometimes")
