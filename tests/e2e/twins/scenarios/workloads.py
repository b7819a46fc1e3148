"""Deployments, StatefulSets, DaemonSets, Jobs and CronJobs as users handle them."""

from tests.e2e.twins.clusters import Cluster
from tests.e2e.twins.scenarios.manifests import CONTAINER, a_pod, a_template, a_workload, an_object
from tests.e2e.twins.stage import scenario


def without_history(workload):
    """Return what a user asked for and what came of it, without who wrote it."""
    status = {key: value for key, value in workload["status"].items() if key != "observedGeneration"}
    return {"spec": workload["spec"], "status": status, "labels": workload["metadata"].get("labels")}


@scenario
def deployments_roll_forward_and_back(cluster: Cluster) -> None:
    cluster.kubectl("create deployment web --image=example.com/app:1 --replicas=2")
    cluster.until("rollout status deployment/web --timeout=60s", "successfully rolled out")
    cluster.kubectl("rollout status deployment/web")
    cluster.kubectl("get deployment web")
    cluster.kubectl("set image deployment/web app=example.com/app:2")
    cluster.until("rollout status deployment/web --timeout=60s", "successfully rolled out")
    cluster.kubectl("annotate deployment/web kubernetes.io/change-cause=second")
    cluster.until("get replicasets -o jsonpath='{.items[*].metadata.annotations}'", "second")
    cluster.kubectl("rollout history deployment/web")
    cluster.kubectl("rollout history deployment/web --revision=1")
    cluster.kubectl("rollout history deployment/web --revision=9")
    cluster.kubectl("rollout undo deployment/web")
    cluster.until("rollout status deployment/web --timeout=60s", "successfully rolled out")
    cluster.kubectl("get deployment web -o jsonpath='{.spec.template.spec.containers[0].image}'")
    cluster.until("rollout history deployment/web", "3 ")
    cluster.kubectl("rollout history deployment/web")
    cluster.kubectl("rollout undo deployment/web --to-revision=7")
    cluster.kubectl("rollout pause deployment/web")
    cluster.kubectl("rollout pause deployment/web")
    cluster.kubectl("rollout undo deployment/web")
    cluster.kubectl("rollout restart deployment/web")
    cluster.kubectl("rollout resume deployment/web")
    cluster.kubectl("rollout restart deployment/web")
    cluster.until("rollout status deployment/web --timeout=60s", "successfully rolled out")
    cluster.kubectl("scale deployment/web --replicas=3 --current-replicas=5")
    cluster.kubectl("scale deployment/web --replicas=3")
    cluster.until("get deployment web -o jsonpath='{.status.readyReplicas}'", "3")
    cluster.kubectl("autoscale deployment/web --max=3", differs="horizontal autoscalers")
    cluster.kubectl("get replicasets --no-headers --sort-by=.spec.replicas -o custom-columns=W:.spec.replicas")
    cluster.kubectl("describe deployment web --show-events=false", in_order=False)
    cluster.kubectl("expose deployment web --port=80")
    cluster.kubectl("set resources deployment/web --requests=cpu=100m")
    cluster.kubectl("set env deployment/web A=b")
    cluster.kubectl("set env deployment/web --list")
    cluster.until("rollout status deployment/web --timeout=60s", "successfully rolled out")
    cluster.kubectl("get deployments,replicasets,services -l app=web -o name")


@scenario
def important_pods_make_others_leave(cluster: Cluster) -> None:
    large = {"containers": [CONTAINER | {"resources": {"requests": {"cpu": "3"}}}]}
    for name, value, policy in (
        ("low", 0, "PreemptLowerPriority"),
        ("high", 1000, "PreemptLowerPriority"),
        ("meek", 1000, "Never"),
    ):
        levels = an_object("PriorityClass", f"preempting-{name}", api="scheduling.k8s.io/v1", value=value)
        cluster.kubectl("create -f -", levels | {"preemptionPolicy": policy})
    here = {"kubernetes.io/hostname": "node-b"}
    cluster.quietly("create -f -", a_pod("low", priorityClassName="preempting-low", nodeSelector=here, **large))
    cluster.until("get pod low", "Running")
    cluster.quietly("create -f -", a_pod("meek", priorityClassName="preempting-meek", nodeSelector=here, **large))
    cluster.until("get pod meek -o jsonpath='{.status.conditions[*].message}'", "preemptionPolicy=Never")
    cluster.kubectl("get pod meek -o jsonpath='{.status.conditions[*].message}'", differs="words of the scheduler")
    cluster.kubectl("delete pod meek")
    cluster.quietly("create -f -", a_pod("high", priorityClassName="preempting-high", nodeSelector=here, **large))
    cluster.until("get pod high", "Running")
    cluster.kubectl("get pods -o custom-columns=N:.metadata.name,P:.spec.priority,W:.spec.nodeName")
    cluster.kubectl("events --for=pod/low --types=Normal -o custom-columns=R:.reason,M:.message", in_order=False)
    cluster.kubectl("delete priorityclass preempting-low preempting-high preempting-meek")


@scenario
def stuck_rollouts_say_so(cluster: Cluster) -> None:
    nowhere = a_template("web", nodeSelector={"is": "nowhere"})
    cluster.quietly(
        "create -f -", a_workload("Deployment", "web", replicas=1, template=nowhere, progressDeadlineSeconds=3)
    )
    cluster.until("get deployment web -o jsonpath='{.status.conditions[*].reason}'", "ProgressDeadlineExceeded")
    cluster.kubectl("rollout status deployment/web")
    cluster.kubectl("get pods -l app=web --no-headers -o custom-columns=P:.status.phase")
    message = "jsonpath='{.items[0].status.conditions[0].message}'"
    cluster.kubectl(f"get pods -l app=web -o {message}", differs="words of the scheduler")
    cluster.holds("deployment web", only=without_history)
    cluster.kubectl("get events --field-selector reason=FailedScheduling -o jsonpath='{.items[0].type}'")
    count = "jsonpath='{.status.terminatingReplicas}'"
    cluster.kubectl(f"get deployment web -o {count}", differs="pods that are terminating")


@scenario
def stateful_sets_count_their_pods(cluster: Cluster) -> None:
    service = an_object("Service", "db", spec={"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"port": 1}]})
    cluster.quietly("create -f -", [service, a_workload("StatefulSet", "db", replicas=2, serviceName="db")])
    cluster.until("rollout status statefulset/db --timeout=60s", "partitioned roll out complete")
    cluster.kubectl("get statefulset db")
    cluster.kubectl("get pods -l app=db -o name")
    cluster.holds("statefulset db", only=lambda one: {"spec": one["spec"], "status": sorted(one["status"])})
    cluster.kubectl("set image statefulset/db main=example.com/app:2")
    cluster.until("get pod db-0 -o jsonpath='{.spec.containers[0].image}'", "app:2")
    cluster.until("rollout status statefulset/db --timeout=60s", "complete")
    cluster.kubectl("rollout history statefulset/db")
    cluster.kubectl("rollout undo statefulset/db")
    cluster.until("get pod db-0 -o jsonpath='{.spec.containers[0].image}'", "app:1")
    cluster.kubectl("scale statefulset/db --replicas=1")
    cluster.until("get pods -l app=db -o name --no-headers", "pod/db-0")
    cluster.kubectl("describe statefulset db --show-events=false")
    cluster.kubectl("replace -f -", a_workload("StatefulSet", "db", replicas=1, serviceName="other"))
    cluster.kubectl("delete statefulset db")


@scenario
def daemon_sets_are_on_every_node(cluster: Cluster) -> None:
    cluster.quietly("create -f -", a_workload("DaemonSet", "agent"))
    cluster.until("rollout status daemonset/agent --timeout=60s", "successfully rolled out")
    cluster.kubectl("get daemonset agent")
    cluster.kubectl("get pods -l app=agent --no-headers -o custom-columns=N:.spec.nodeName --sort-by=.spec.nodeName")
    cluster.holds("daemonset agent", only=without_history)
    cluster.kubectl("rollout restart daemonset/agent")
    cluster.until("rollout status daemonset/agent --timeout=60s", "successfully rolled out")
    cluster.kubectl("rollout history daemonset/agent")
    cluster.kubectl("rollout undo daemonset/agent")
    cluster.kubectl("scale daemonset/agent --replicas=1")
    cluster.kubectl("delete daemonset agent")


@scenario
def jobs_run_to_their_end(cluster: Cluster) -> None:
    cluster.kubectl("create job once --image=example.com/app:1 -- true")
    cluster.until("get job once -o jsonpath='{.status.active}{.status.succeeded}'", "1")
    cluster.holds("job once", only=lambda job: {"spec": job["spec"], "labels": job["metadata"].get("labels")})
    cluster.kubectl(
        "create -f -",
        an_object(
            "Job",
            "held",
            api="batch/v1",
            spec={"suspend": True, "template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}},
        ),
    )
    cluster.until("get job held -o jsonpath='{.status.conditions}'", "JobSuspended")
    cluster.kubectl("get job held")
    cluster.holds("job held", only=lambda job: job["status"])
    cluster.kubectl("describe job held --show-events=false")
    cluster.kubectl('patch job held --type=merge -p \'{"spec": {"completions": 2}}\'')
    cluster.kubectl('patch job held --type=merge -p \'{"spec": {"parallelism": 0}}\'')
    cluster.kubectl("delete job held once")


@scenario
def cron_jobs_wait_for_their_time(cluster: Cluster) -> None:
    cluster.kubectl("create cronjob yearly --image=example.com/app:1 --schedule='0 0 1 1 *' -- true")
    cluster.kubectl("get cronjob yearly")
    cluster.kubectl("create job now --from=cronjob/yearly")
    cluster.holds(
        "job now",
        only=lambda job: {
            "spec": job["spec"],
            "annotations": job["metadata"]["annotations"],
            "owners": [one["kind"] for one in job["metadata"]["ownerReferences"]],
        },
    )
    cluster.kubectl('patch cronjob yearly -p \'{"spec": {"suspend": true}}\'')
    cluster.kubectl("get cronjob yearly")
    cluster.kubectl("describe cronjob yearly --show-events=false")
    cluster.kubectl("delete cronjob yearly")
