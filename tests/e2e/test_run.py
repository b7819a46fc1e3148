"""`karpenter run` against a real control plane: its scheduler binds the pods, its controllers own them.

The whole story of machines that nobody has to think about, each test on a pool of its own.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.karpenter import Karpenter, until
from tests.e2e.plane import ControlPlane

pytestmark = pytest.mark.timeout(300)

DISCOVERY = "karpenter.sh/discovery"
ZONE = "topology.kubernetes.io/zone"
TEMPLATE = {
    "apiVersion": "karpenter.k8s.aws/v1alpha1",
    "kind": "AWSNodeTemplate",
    "metadata": {"name": "story"},
    "spec": {"subnetSelector": {DISCOVERY: "story"}, "securityGroupSelector": {DISCOVERY: "story"}},
}


@pytest.fixture(scope="module")
def karpenter(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Karpenter]:
    """The process, and a node template."""
    with Karpenter.running(plane, tmp_path_factory.mktemp("run")) as running:
        plane.apply(TEMPLATE)
        yield running
        plane.kubectl("delete", "awsnodetemplate", "story")


@pytest.fixture
def pool(karpenter: Karpenter, namespace: str) -> Iterator[str]:
    """A Provisioner named like the namespace, for pods that ask for it; gives empty nodes back after five seconds."""
    karpenter.plane.apply(
        {
            "apiVersion": "karpenter.sh/v1alpha5",
            "kind": "Provisioner",
            "metadata": {"name": namespace},
            "spec": {"providerRef": {"name": "story"}, "ttlSecondsAfterEmpty": 5},
        }
    )
    yield namespace
    karpenter.plane.kubectl("delete", "deployments", "--all", f"--namespace={namespace}")
    karpenter.give_back("provisioner", namespace)


def a_deployment(pool: str, replicas: int, **pod: Any) -> dict[str, Any]:
    labels = {"app": "story"}
    container = {"name": "main", "image": "example.com/app", "resources": {"requests": {"cpu": "500m"}}}
    spec = {
        "nodeSelector": {"karpenter.sh/provisioner-name": pool},
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        **pod,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "story", "namespace": pool},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def test_pods_get_nodes_and_an_empty_node_goes_when_its_ttl_has_passed(karpenter: Karpenter, pool: str) -> None:
    karpenter.plane.apply(a_deployment(pool, 20))
    until(lambda: len(karpenter.running_pods(pool)) == 20, "20 pods running")
    assert len(karpenter.nodes(pool)) == len(karpenter.objects("nodeclaims")) > 0
    karpenter.plane.kubectl("delete", "deployment", "story", f"--namespace={pool}")
    until(lambda: not karpenter.nodes(pool) and not karpenter.objects("nodeclaims"), "empty nodes gone")


def test_nodes_of_a_deleted_provisioner_go_with_it(karpenter: Karpenter, pool: str) -> None:
    karpenter.plane.apply(a_deployment(pool, 3))
    until(lambda: len(karpenter.running_pods(pool)) == 3, "3 pods running")
    karpenter.give_back("provisioner", pool)
    assert pool not in [each["metadata"]["name"] for each in karpenter.objects("provisioners")]


@pytest.mark.parametrize("kind", ["node", "nodeclaim"])
def test_pods_of_a_node_that_is_deleted_by_hand_get_another(karpenter: Karpenter, pool: str, kind: str) -> None:
    karpenter.plane.apply(a_deployment(pool, 3))
    until(lambda: len(karpenter.running_pods(pool)) == 3, "3 pods running")
    before = {node["metadata"]["name"] for node in karpenter.nodes(pool)}
    names = before if kind == "node" else {each["metadata"]["name"] for each in karpenter.objects("nodeclaims")}
    karpenter.plane.kubectl("delete", kind, *names, "--wait=false")

    def moved() -> bool:
        now = {node["metadata"]["name"] for node in karpenter.nodes(pool)}
        return bool(now) and not now & before and len(karpenter.running_pods(pool)) == 3

    until(moved, "pods running elsewhere")


def test_a_pod_gets_a_node_in_the_zone_of_its_volume(karpenter: Karpenter, pool: str) -> None:
    in_zone = {"key": ZONE, "operator": "In", "values": ["us-west-2b"]}
    size, once = {"storage": "1Gi"}, ["ReadWriteOnce"]
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": pool},
        "spec": {
            "capacity": size,
            "accessModes": once,
            "nfs": {"server": "10.0.0.1", "path": "/"},  # a disk would need its driver, to be attached
            "claimRef": {"namespace": pool, "name": "data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [in_zone]}]}},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": pool},
        "spec": {
            "volumeName": pool,
            "storageClassName": "",
            "accessModes": once,
            "resources": {"requests": size},
        },
    }
    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    karpenter.plane.apply(volume, claim, a_deployment(pool, 1, volumes=mounted))
    until(lambda: karpenter.running_pods(pool), "the pod running")
    assert [node["metadata"]["labels"][ZONE] for node in karpenter.nodes(pool)] == ["us-west-2b"]
    karpenter.plane.kubectl("delete", "pv", pool, "--wait=false")


def test_a_push_of_500_pods_runs(karpenter: Karpenter, pool: str) -> None:
    karpenter.plane.apply(a_deployment(pool, 500))
    until(lambda: len(karpenter.running_pods(pool)) == 500, "500 pods running", within_s=200)
    assert karpenter.nodes(pool)
