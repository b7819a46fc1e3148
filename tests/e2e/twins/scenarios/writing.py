"""Creating, editing, replacing, patching, applying and comparing."""

import json

from tests.e2e.twins.clusters import Cluster
from tests.e2e.twins.scenarios.manifests import CONTAINER, a_pod, a_workload, an_object, wanted
from tests.e2e.twins.stage import scenario

EDITOR = {"KUBE_EDITOR": "sed -i s/old/new/"}
BAD_EDITOR = {"KUBE_EDITOR": "sed -i s/replicas:/replicaz:/"}


@scenario
def every_common_kind_is_created_by_name(cluster: Cluster) -> None:
    lines = {
        "configmap": "configmap a --from-literal=k=v",
        "secret": "secret generic a --from-literal=k=v",
        "secret/docker": "secret docker-registry d --docker-username=u --docker-password=p --docker-server=s",
        "deployment": "deployment a --image=example.com/app:1 --replicas=0",
        "job": "job a --image=example.com/app:1 -- sleep 1",
        "cronjob": "cronjob a --image=example.com/app:1 --schedule='0 0 1 1 *' -- true",
        "service": "service clusterip a --tcp=80:8080",
        "service/n": "service nodeport n --tcp=80 --node-port=30123",
        "service/l": "service loadbalancer l --tcp=80",
        "service/e": "service externalname e --external-name=example.com",
        "ingress": "ingress a --rule='example.com/*=a:80' --class=nginx",
        "serviceaccount": "serviceaccount a",
        "role": "role a --verb=get,list --resource=pods",
        "rolebinding": "rolebinding a --role=a --serviceaccount=default:a",
        "pdb": "pdb a --selector=app=a --min-available=50%",
        "quota": "quota a --hard=pods=50",
    }
    for line in lines.values():
        cluster.kubectl(f"create {line}")
    for kind in ("configmap", "secret", "deployment", "cronjob", "service", "ingress", "serviceaccount", "role"):
        cluster.holds(f"{kind} a")
    cluster.holds("rolebinding a")
    for name in ("n", "l", "e"):
        cluster.holds(f"service {name}")
    cluster.quietly("wait --for=jsonpath={.status.observedGeneration}=1 pdb/a --timeout=30s")
    cluster.holds("pdb a")
    kinds = "configmap,secret,deployment,cronjob,service,ingress,serviceaccount,role,rolebinding,pdb"
    cluster.kubectl(f"get {kinds} --field-selector metadata.name=a")
    for kind in ("configmap", "secret", "deployment", "cronjob", "service", "ingress", "serviceaccount", "role", "pdb"):
        differs = "endpoints" if kind in ("service", "ingress") else ""
        cluster.kubectl(f"describe {kind} a --show-events=false", differs=differs)
    cluster.kubectl("create configmap a")
    cluster.kubectl("create nonsense a")


@scenario
def kinds_of_the_whole_cluster_are_created(cluster: Cluster) -> None:
    for line in (
        "clusterrole twins --verb=get --resource=nodes",
        "clusterrolebinding twins --clusterrole=twins --user=nobody",
        "priorityclass twins --value=1000 --description=ours",
    ):
        cluster.kubectl(f"create {line}")
    manifests = [
        an_object("StorageClass", "twins", api="storage.k8s.io/v1", provisioner="example.com/disk"),
        an_object("RuntimeClass", "twins", api="node.k8s.io/v1", handler="runc"),
        an_object("CSIDriver", "twins.example.com", api="storage.k8s.io/v1", spec={}),
    ]
    cluster.kubectl("create -f -", manifests)
    for what in (
        "clusterrole twins",
        "clusterrolebinding twins",
        "priorityclass twins",
        "storageclass twins",
        "runtimeclass twins",
        "csidriver twins.example.com",
    ):
        cluster.holds(what)
        cluster.kubectl(f"get {what}")
    cluster.kubectl("describe priorityclass twins --show-events=false")
    cluster.kubectl("describe storageclass twins --show-events=false")
    cluster.kubectl("delete clusterrole/twins clusterrolebinding/twins priorityclass/twins storageclass/twins")
    cluster.kubectl("delete runtimeclass/twins csidriver/twins.example.com")


@scenario
def a_pod_is_run(cluster: Cluster) -> None:
    cluster.kubectl("run a --image=example.com/app:1 --labels=x=y --env=A=b --port=80")
    cluster.quietly("wait --for=condition=Ready pod/a --timeout=60s")
    cluster.holds("pod a", only=wanted)
    cluster.kubectl("run a --image=example.com/app:1")
    cluster.kubectl("run b --image=example.com/app:1 --dry-run=server")
    cluster.kubectl('run b --image=example.com/app:1 --dry-run=server --overrides=\'{"spec": {"replicas": 1}}\'')
    cluster.kubectl("run Bad_Name --image=example.com/app:1")
    cluster.kubectl("expose pod a --port=80 --target-port=8080")
    cluster.holds("service a")


@scenario
def objects_are_edited_and_replaced(cluster: Cluster) -> None:
    cluster.quietly("create -f -", an_object("ConfigMap", "a", data={"k": "old"}))
    cluster.kubectl("edit configmap a", env=EDITOR)
    cluster.kubectl("edit configmap a", env=EDITOR)
    cluster.holds("configmap a")
    cluster.quietly("create -f -", a_workload("Deployment", "web", replicas=0))
    cluster.kubectl(
        "edit deployment web --validate=strict", env={"KUBE_EDITOR": "sed -i s/replicas:.0/replicas:\\ -1/"}
    )
    cluster.kubectl("replace -f -", an_object("ConfigMap", "a", data={"other": "1"}))
    cluster.holds("configmap a")
    cluster.kubectl("replace -f -", an_object("ConfigMap", "none", data={}))
    cluster.kubectl("replace --force -f -", an_object("ConfigMap", "a", data={"again": "1"}))
    cluster.kubectl("replace -f -", a_workload("Deployment", "web", replicas=0, selector={"matchLabels": {"app": "z"}}))
    stale = an_object("ConfigMap", "a", data={"x": "y"})
    stale["metadata"]["resourceVersion"] = "1"
    cluster.kubectl("replace -f -", stale)


@scenario
def objects_are_patched_in_every_way(cluster: Cluster) -> None:
    cluster.quietly("create -f -", a_workload("Deployment", "web", replicas=0))
    image = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "example.com/side:1"}]}}}}
    cluster.kubectl(f"patch deployment web -p '{json.dumps(image)}'")
    cluster.kubectl(f"patch deployment web -p '{json.dumps(image)}'")
    cluster.kubectl('patch deployment web --type=merge -p \'{"spec": {"paused": true}}\'')
    steps = [
        {"op": "test", "path": "/spec/replicas", "value": 0},
        {"op": "replace", "path": "/spec/replicas", "value": 1},
    ]
    cluster.kubectl(f"patch deployment web --type=json -p '{json.dumps(steps)}'")
    cluster.kubectl(f"patch deployment web --type=json -p '{json.dumps(steps)}'")
    cluster.kubectl('patch deployment web --type=json -p \'[{"op": "remove", "path": "/spec/nothing"}]\'')
    cluster.kubectl("patch deployment web --type=json -p '{}'")
    cluster.kubectl('patch deployment web -p \'{"spec": {"replicas": "many"}}\'')
    cluster.kubectl('patch deployment web -p \'{"spec": {"replicas": -2}}\'')
    cluster.kubectl("patch deployment web -p 'nonsense'")
    gone = {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}}
    cluster.kubectl(f"patch deployment web -p '{json.dumps(gone)}'")
    cluster.kubectl('patch deployment web --subresource=scale --type=merge -p \'{"spec": {"replicas": 2}}\'')
    cluster.kubectl("patch deployment none -p '{}'")
    cluster.holds("deployment web", only=lambda one: {key: one[key] for key in ("metadata", "spec")})
    cluster.http("PATCH", "/apis/apps/v1/namespaces/NS/deployments/web", {}, content_type="text/plain")


@scenario
def manifests_are_applied_by_the_client(cluster: Cluster) -> None:
    manifest = a_workload("Deployment", "web", replicas=0)
    cluster.kubectl("diff -f -", manifest)
    cluster.kubectl("apply -f -", manifest)
    cluster.kubectl("apply -f -", manifest)
    cluster.kubectl("diff -f -", manifest)
    manifest["spec"]["minReadySeconds"] = 5
    cluster.kubectl("apply --dry-run=server -f -", manifest)
    cluster.kubectl("apply -f -", manifest)
    del manifest["spec"]["minReadySeconds"]
    cluster.kubectl("apply -f -", manifest)
    cluster.holds("deployment web", only=lambda one: {key: one[key] for key in ("metadata", "spec")})
    manifest["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    cluster.kubectl("apply -f -", manifest)
    cluster.kubectl("apply view-last-applied deployment/web")
    cluster.kubectl("apply -f -", {"kind": "ConfigMap", "metadata": {"name": "x"}})
    cluster.kubectl("apply -f -", {"apiVersion": "v9", "kind": "Nothing", "metadata": {"name": "x"}})
    cluster.kubectl(
        "apply -f -",
        [an_object("ConfigMap", "kept", labels={"set": "a"}), an_object("ConfigMap", "pruned", labels={"set": "a"})],
    )
    cluster.kubectl(
        "apply --prune -l set=a --prune-allowlist=core/v1/ConfigMap -f -",
        an_object("ConfigMap", "kept", labels={"set": "a"}),
    )


@scenario
def manifests_are_applied_by_the_server(cluster: Cluster) -> None:
    manifest = a_workload("Deployment", "web", replicas=0)
    cluster.kubectl("apply --server-side -f -", manifest)
    cluster.kubectl("apply --server-side -f -", manifest)
    cluster.kubectl("scale deployment web --replicas=1")
    manifest["spec"]["replicas"] = 2
    cluster.kubectl("apply --server-side -f -", manifest)
    cluster.kubectl("apply --server-side --field-manager=other -f -", manifest)
    cluster.kubectl("apply --server-side --force-conflicts -f -", manifest)
    del manifest["spec"]["replicas"]
    cluster.kubectl("apply --server-side -f -", manifest)
    shared = an_object("ConfigMap", "a", data={"one": "1"})
    cluster.kubectl("apply --server-side --field-manager=first -f -", shared)
    cluster.kubectl("apply --server-side --field-manager=second -f -", an_object("ConfigMap", "a", data={"two": "2"}))
    cluster.kubectl("apply --server-side --field-manager=first -f -", an_object("ConfigMap", "a", data={}))
    cluster.holds("configmap a")
    cluster.kubectl("apply -f -", an_object("ConfigMap", "a", data={"three": "3"}))
    cluster.holds("configmap a")
    cluster.holds("deployment web", only=lambda one: {key: one[key] for key in ("metadata", "spec")})
    cluster.kubectl("apply --server-side -f -", an_object("ConfigMap", "b", data={"a": 1}))


@scenario
def bad_manifests_are_refused_with_their_fields(cluster: Cluster) -> None:
    bad = {"name": "main", "image": "", "ports": [{"containerPort": 0}], "imagePullPolicy": "Sometimes"}
    cluster.kubectl("create -f -", a_pod("a", containers=[bad]))
    cluster.kubectl("create -f -", a_pod("a", containers=[]))
    cluster.kubectl("create -f -", a_pod("A_b", containers=[CONTAINER, CONTAINER]))
    cluster.kubectl("create -f -", a_pod("a", restartPolicy="Perhaps", dnsPolicy="Nothing"))
    cluster.kubectl("create -f -", a_pod("a", colour="red"))
    cluster.kubectl("create --validate=ignore -f -", a_pod("ignored", colour="red"))
    cluster.kubectl("create --validate=warn -f -", a_pod("warned", colour="red"))
    cluster.kubectl("create -f -", a_pod("a", nodeSelector={"a b": "c"}, tolerations=[{"operator": "Maybe"}]))
    cluster.kubectl(
        "create -f -",
        a_pod("a", topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "x"}]),
    )
    resources = {"requests": {"cpu": "2"}, "limits": {"cpu": "1", "memory": "-1"}}
    cluster.kubectl("create -f -", a_pod("a", containers=[CONTAINER | {"resources": resources}]))
    cluster.kubectl("create -f -", a_pod("a", containers=[CONTAINER | {"resources": {"requests": {"cpu": "lots"}}}]))
    cluster.kubectl("create -f -", a_workload("Deployment", "web", replicas=-1, selector={"matchLabels": {"app": "x"}}))
    cluster.kubectl("create -f -", a_workload("StatefulSet", "web", podManagementPolicy="x"))
    cluster.kubectl("create -f -", a_workload("DaemonSet", "web", updateStrategy={"type": "Sometimes"}))
    cluster.kubectl("create -f -", an_object("Service", "Web", spec={"ports": [{"port": 0}]}))
    cluster.kubectl("create -f -", an_object("ConfigMap", "a", data={"bad key": "x"}))
    cluster.kubectl("create -f -", an_object("ConfigMap", "a", labels={"bad label!": "x"}))
    cluster.kubectl(
        "create -f -", an_object("Job", "j", api="batch/v1", spec={"template": {"spec": {"containers": [CONTAINER]}}})
    )
    cluster.kubectl(
        "create -f -", an_object("CronJob", "j", api="batch/v1", spec={"schedule": "x", "jobTemplate": {"spec": {}}})
    )
    cluster.kubectl(
        "create -f -",
        an_object("PodDisruptionBudget", "p", api="policy/v1", spec={"minAvailable": 1, "maxUnavailable": 1}),
    )
    cluster.kubectl("create -f -", an_object("PersistentVolumeClaim", "c", spec={}))
    cluster.kubectl("create -f -", an_object("PriorityClass", "p", api="scheduling.k8s.io/v1", value=2000000000))


@scenario
def what_is_out_of_date_is_warned_about(cluster: Cluster) -> None:
    cluster.kubectl("create -f -", a_pod("a", nodeSelector={"beta.kubernetes.io/os": "linux"}))
    cluster.kubectl(
        "create -f -",
        a_pod("b", containers=[CONTAINER, CONTAINER | {"name": "second", "env": [{"name": "A"}, {"name": "A"}]}]),
    )
    cluster.kubectl("create -f -", a_pod("c", annotations={}, hostIPC=True))
    cluster.kubectl(
        "apply -f -",
        a_pod(
            "d",
            tolerations=[{"key": "node.kubernetes.io/out-of-disk", "operator": "Exists"}],
            volumes=[{"name": "v", "gitRepo": {"repository": "x"}}],
        ),
    )
    ports = [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "name": "b"}]
    cluster.kubectl(
        "apply -f -",
        a_workload(
            "Deployment",
            "web",
            replicas=0,
            template={
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [CONTAINER | {"ports": ports}],
                    "nodeSelector": {"beta.kubernetes.io/arch": "amd64"},
                },
            },
        ),
    )
    fraction = CONTAINER | {"resources": {"requests": {"memory": "100m"}}}
    cluster.kubectl("create -f -", a_pod("e", containers=[fraction]))
