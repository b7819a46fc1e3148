"""Who somebody is and what they may do, usage, logs, and what is served at all."""

from tests.e2e.twins.clusters import Cluster
from tests.e2e.twins.scenarios.manifests import a_pod
from tests.e2e.twins.stage import scenario


@scenario
def the_administrator_may_everything(cluster: Cluster) -> None:
    cluster.kubectl("auth whoami")
    cluster.kubectl("auth can-i create pods")
    cluster.kubectl("auth can-i '*' '*'")
    cluster.kubectl("auth can-i get nonsense")
    cluster.kubectl("auth can-i --list")


@scenario
def service_accounts_have_tokens(cluster: Cluster) -> None:
    cluster.kubectl("create serviceaccount robot")
    token = cluster.quietly("create token robot").stdout.strip()
    cluster.transcript.add("kubectl create token robot", f"a token of {token.count('.') + 1} parts")
    cluster.kubectl("create token nobody")
    who = cluster.quietly(
        f"auth whoami --token={token} -o jsonpath='{{.status.userInfo.username}} {{.status.userInfo.groups}}'"
    )
    cluster.transcript.add("kubectl auth whoami --token", who.stdout + who.stderr)
    may = cluster.quietly(f"get pods --token={token}")
    cluster.transcript.add("kubectl get pods --token", may.stdout + may.stderr)
    cluster.quietly("create rolebinding robot --clusterrole=view --serviceaccount=service-accounts-have-tokens:robot")
    bad = cluster.quietly("get pods --token=nonsense")
    cluster.transcript.add("kubectl get pods --token=nonsense", bad.stdout + bad.stderr)


@scenario
def usage_is_told(cluster: Cluster) -> None:
    cluster.quietly("create -f -", a_pod("a"))
    cluster.quietly("wait --for=condition=Ready pod/a --timeout=60s")
    cluster.until("top pod a", "CPU(cores)")
    cluster.until("top node node-a", "CPU(cores)")
    cluster.transcript.add("kubectl top nodes", " ".join(cluster.quietly("top nodes").stdout.split()[:5]))
    cluster.transcript.add("kubectl top pods", " ".join(cluster.quietly("top pods").stdout.split()[:4]))
    cluster.kubectl("top pod none")
    cluster.kubectl("api-resources --api-group=metrics.k8s.io")


@scenario
def what_needs_containers_is_refused(cluster: Cluster) -> None:
    cluster.quietly("create -f -", a_pod("a"))
    cluster.quietly("wait --for=condition=Ready pod/a --timeout=60s")
    cluster.kubectl("logs a", differs="logs")
    cluster.kubectl("logs none")
    cluster.kubectl("exec a -- true", differs="logs")


@scenario
def kinds_are_explained_and_listed(cluster: Cluster) -> None:
    for path in ("pod.spec.nodeName", "deployment.spec.replicas", "service.spec.type", "nodes.spec.taints.effect"):
        cluster.kubectl(f"explain {path}", differs="explanations")
    cluster.kubectl("explain pod.spec.nonsense")
    cluster.kubectl("explain nonsense")
    for group in ("apps", "batch", "policy", "autoscaling"):
        cluster.kubectl(
            f"api-resources --api-group={group} --no-headers",
            differs="horizontal autoscalers" if group == "autoscaling" else "",
        )
