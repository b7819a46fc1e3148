"""Claims and the volumes that they are bound to."""

from typing import Any

from tests.e2e.twins.clusters import Cluster
from tests.e2e.twins.scenarios.manifests import CONTAINER, a_pod, an_object
from tests.e2e.twins.stage import scenario


def a_volume(name: str) -> dict[str, Any]:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "twins-none",
        "nfs": {"server": "10.0.0.1", "path": "/"},
    }
    return an_object("PersistentVolume", name, spec=spec)


def a_claim(name: str, **more: Any) -> dict[str, Any]:
    wanted = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    return an_object("PersistentVolumeClaim", name, spec=wanted | {"storageClassName": "twins-none"} | more)


@scenario
def claims_are_bound_and_protected(cluster: Cluster) -> None:
    cluster.kubectl("create -f -", [a_volume("twins-volume"), a_claim("data"), a_claim("waits")])
    cluster.until("get pvc data waits -o jsonpath='{.items[*].status.phase}'", "Bound")
    cluster.kubectl("get pv twins-volume -o jsonpath='{.status.phase} {.spec.claimRef.namespace}'")
    cluster.holds("pv twins-volume", only=lambda one: {**one["spec"], "claimRef": one["spec"]["claimRef"]["kind"]})
    bound = cluster.quietly("get pv twins-volume -o jsonpath='{.spec.claimRef.name}'").stdout
    pod = a_pod(
        "uses",
        containers=[CONTAINER | {"volumeMounts": [{"name": "v", "mountPath": "/data"}]}],
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": bound}}],
    )
    cluster.quietly("create -f -", pod)
    cluster.quietly("wait --for=condition=Ready pod/uses --timeout=60s")
    cluster.quietly(f"delete pvc {bound} --wait=false")
    cluster.kubectl("get pvc --no-headers -o custom-columns=P:.status.phase --sort-by=.status.phase")
    cluster.quietly("delete pod uses")
    cluster.until("get pv twins-volume -o jsonpath='{.status.phase}'", "Released")
    cluster.kubectl("get pv twins-volume -o jsonpath='{.spec.persistentVolumeReclaimPolicy}'")
    cluster.kubectl("delete pv twins-volume")
    cluster.kubectl(
        'patch pvc waits --type=merge -p \'{"spec": {"accessModes": ["ReadWriteMany"]}}\'', differs="immutable claims"
    )
    cluster.quietly(
        "create -f -", a_pod("lost", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}])
    )
    condition = "jsonpath='{.status.conditions[0].message}'"
    cluster.until(f"get pod lost -o {condition}", "not found")
