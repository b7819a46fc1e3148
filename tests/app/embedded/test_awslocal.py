"""The whole product through the real SDK, against a simulated account: `demo --cloud aws-local`."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import yaml

from karpenter.app.embedded.cluster import EmbeddedCluster
from karpenter.app.settings import Settings
from karpenter.provisioning.governor import LaunchLimits
from karpenter.runtime import kube as api
from karpenter.runtime.clock import WallClock
from karpenter.sim.cloud.requests import ANNOTATION
from tests.app.embedded.test_cluster import running as embedded

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(200)]

PROVISIONER = Path(__file__).parents[2] / "data" / "provisioner.yaml"
"""A real user's, as it is."""
NODE_TEMPLATE = {
    "apiVersion": "karpenter.k8s.aws/v1alpha1",
    "kind": "AWSNodeTemplate",
    "metadata": {"name": "default"},
    "spec": {
        "subnetSelector": {"karpenter.sh/discovery": "mine"},
        "securityGroupSelector": {"karpenter.sh/discovery": "mine"},
    },
}
PODS = 10
NODES = 100
KINDS = {each.kind: each for each in (api.PROVISIONERS, api.AWS_NODE_TEMPLATES, api.PODS)}
SPOT = "karpenter.sh/capacity-type"


def a_pod(number: int, *, alone: bool = False) -> dict[str, object]:
    """Return a pod that tolerates the taints of the example; `alone` keeps it off the nodes of others."""
    apart = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"web-{number}", "namespace": "default", "labels": {"app": "web"}},
        "spec": {
            "affinity": affinity if alone else {},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "web", "image": "web", "resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}],
        },
    }


@contextlib.asynccontextmanager
async def running(settings: Settings | None = None, *, speed: float = 100.0) -> AsyncIterator[EmbeddedCluster]:
    before = dict(os.environ)
    try:
        async with embedded(WallClock(), settings=settings, is_aws_local=True, cloud_speed=speed) as cluster:
            yield cluster
    finally:
        os.environ.clear()
        os.environ.update(before)


async def create(cluster: EmbeddedCluster, manifest: dict[str, object]) -> None:
    resource = KINDS[str(manifest["kind"])]
    await cluster.client.create(resource, manifest, namespace="default" if resource.namespaced else "")


async def until(happened: Callable[[], bool], *, seconds: float = 90.0) -> None:
    async with asyncio.timeout(seconds):
        while not happened():  # noqa: ASYNC110 - conditions of several threads' making
            await asyncio.sleep(0.1)


def calls_of(cluster: EmbeddedCluster) -> dict[str, int]:
    counted = cluster.assembly.account.desk.calls
    return {f"{service}:{operation} {code}": count for (service, operation, code), count in sorted(counted.items())}


async def test_the_provisioner_as_it_is_launches_by_fleets_and_a_notice_drains_a_node() -> None:
    async with running() as cluster:
        await create(cluster, NODE_TEMPLATE)
        await create(cluster, yaml.safe_load(PROVISIONER.read_text(encoding="utf-8")))
        for number in range(PODS):
            await create(cluster, a_pod(number))
        state = cluster.assembly.operator.state
        await until(lambda: all_placed(cluster))
        machines = {one.provider_id: one for one in cluster.market.instances()}
        assert {node.spec.provider_id for node in state.nodes.values()} == set(machines)
        assert cluster.assembly.account.desk.calls["ec2", "CreateFleet", "ok"] <= len(machines)

        spot = next(node for node in state.nodes.values() if node.metadata.labels[SPOT] == "spot")
        await cluster.client.patch(
            api.NODES, spot.metadata.name, {"metadata": {"annotations": {ANNOTATION: "interrupt"}}}
        )
        await until(lambda: spot.metadata.name not in state.nodes)
        await until(lambda: all_placed(cluster, but=1))
        calls = calls_of(cluster)
    print("\n".join(f"{count:5} {name}" for name, count in calls.items()))
    assert {name for name in calls if not name.endswith(" ok")} == set()


async def test_a_hundred_nodes_take_few_calls() -> None:
    """Every call to AWS with its count; none is throttled at the buckets of spec v1 §6.7."""
    async with running(Settings(launch=LaunchLimits(per_minute=NODES)), speed=1000.0) as cluster:
        await create(cluster, NODE_TEMPLATE)
        unlimited = yaml.safe_load(PROVISIONER.read_text(encoding="utf-8"))
        del unlimited["spec"]["limits"]  # a plan reckons with the largest types that it leaves open
        await create(cluster, unlimited)
        for number in range(NODES):
            await create(cluster, a_pod(number, alone=True))
        await until(lambda: len(cluster.assembly.operator.state.nodes) == NODES)
        await until(lambda: all_placed(cluster))
        calls = calls_of(cluster)
    print(f"calls to AWS for {NODES} nodes:", *(f"{count:5} {name}" for name, count in calls.items()), sep="\n")
    assert {name for name in calls if not name.endswith(" ok")} == set()
    assert calls["ec2:CreateFleet ok"] <= NODES
    assert sum(calls.values()) < 5 * NODES


def all_placed(cluster: EmbeddedCluster, *, but: int = 0) -> bool:
    """Return whether all pods that are still there have a node that is ready to take them."""
    pods = [pod for pod in cluster.assembly.operator.state.pods.values() if pod.metadata.namespace == "default"]
    return len(pods) >= PODS - but and all(pod.spec.node_name for pod in pods)
