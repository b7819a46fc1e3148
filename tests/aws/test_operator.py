"""The whole operator over AWS: manifests in an API server, machines in the simulated account, by the real SDK."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from karpenter.app.embedded.api import define_kinds
from karpenter.app.plugged import PluggedAssembly
from karpenter.app.settings import Settings
from karpenter.aws.opening import from_context
from karpenter.model.aws.settings import AwsAccount, AwsSettings
from karpenter.provisioning.batcher import BatchWindow
from karpenter.runtime import kube
from karpenter.runtime.clock import WallClock
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.runtime.metrics import Metrics
from tests.aws.clouds import CLUSTER, Cloud, a_cloud
from tests.awsbuilders import REGION

pytestmark = pytest.mark.real_time

TEMPLATE = {
    "apiVersion": "karpenter.k8s.aws/v1alpha1",
    "kind": "AWSNodeTemplate",
    "metadata": {"name": "default"},
    "spec": {
        "subnetSelector": {"karpenter.sh/discovery": "my-cluster"},
        "securityGroupSelector": {"karpenter.sh/discovery": "my-cluster"},
        "instanceProfile": "nodes",
    },
}
PROVISIONER = {
    "apiVersion": "karpenter.sh/v1alpha5",
    "kind": "Provisioner",
    "metadata": {"name": "default"},
    "spec": {"providerRef": {"name": "default"}},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"containers": [{"name": "web", "image": "web", "resources": {"requests": {"cpu": "1"}}}]},
    "status": {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
    },
}


@pytest.fixture
async def cloud(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cloud]:
    async with a_cloud(monkeypatch) as one:
        yield one


@contextlib.asynccontextmanager
async def an_operator(cloud: Cloud) -> AsyncIterator[MemoryKubeClient]:
    """Run the operator; yield a client of its API server."""
    clock = WallClock()
    store = MemoryStore(clock)
    define_kinds(store)
    client = MemoryKubeClient(store)
    account = AwsAccount(cluster_name=CLUSTER, region=REGION, endpoint_url=cloud.account.endpoint.url)
    settings = Settings(aws=AwsSettings(account=account), batch=BatchWindow(idle_s=0.05, max_s=0.1))
    await client.create(kube.AWS_NODE_TEMPLATES, TEMPLATE)
    await client.create(kube.PROVISIONERS, PROVISIONER)
    assembly = PluggedAssembly(
        client, from_context, cluster_name=CLUSTER, clock=clock, metrics=Metrics(clock), settings=settings
    )
    running = asyncio.create_task(assembly.run())
    try:
        yield client
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def until(client: MemoryKubeClient, resource: Any, holds: Callable[[Mapping[str, Any]], bool]) -> dict[str, Any]:
    """Return the first object of which something holds, once there is one."""
    async with asyncio.timeout(25):
        while True:
            for found in (await client.list(resource)).items:
                if holds(found):
                    return dict(found)
            await asyncio.sleep(0.05)


async def a_pending_pod(client: MemoryKubeClient) -> None:
    await client.create(kube.PODS, POD)
    status = {"status": POD["status"]}
    await client.patch(kube.PODS, "web", status, namespace="default", subresource="status")


def condition(raw: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    conditions = raw.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


async def test_a_pod_gets_a_machine_by_create_fleet(cloud: Cloud) -> None:
    async with an_operator(cloud) as client:
        await a_pending_pod(client)
        claim = await until(client, kube.NODE_CLAIMS, lambda one: condition(one, "Launched").get("status") == "True")
        template = await until(client, kube.AWS_NODE_TEMPLATES, lambda one: bool(one.get("status", {}).get("subnets")))
    (machine,) = cloud.account.market.instances()
    assert claim["status"]["providerID"] == machine.provider_id
    assert condition(template, "Ready")["status"] == "True"


async def test_a_denied_launch_is_one_condition_and_works_once_it_is_allowed(cloud: Cloud) -> None:
    cloud.account.backend.denied.add("ec2:CreateFleet")
    async with an_operator(cloud) as client:
        await a_pending_pod(client)
        claim = await until(
            client, kube.NODE_CLAIMS, lambda one: condition(one, "Launched").get("reason") == "Unauthorized"
        )
        assert "CreateFleet" in condition(claim, "Launched")["message"]
        cloud.account.backend.denied.clear()
        await until(client, kube.NODE_CLAIMS, lambda one: condition(one, "Launched").get("status") == "True")
