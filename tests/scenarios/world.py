"""A whole cluster in virtual time: API server, simulated cloud, kubelets, scheduler and our operator.

async def test_x(clock):
    async with a_world(clock) as world:
        await world.apply(PROVISIONER, NODE_TEMPLATE)
        ...
        await world.until(lambda: world.running_pods() == 3)
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from karpenter.app.assembly import Assembly, CloudSettings
from karpenter.app.embedded.admission import admission
from karpenter.app.settings import Settings
from karpenter.app.wiring import Operator
from karpenter.model.catalog import Catalog
from karpenter.model.crds import load
from karpenter.model.taints import DISRUPTED
from karpenter.model.units import UnixSeconds
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import KubeClient, RawObject, Resource
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.runtime.metrics import Metrics
from karpenter.sim.cluster import SimulatedCluster
from karpenter.sim.kubelet.frommarket import MarketMachines
from karpenter.sim.market.state import MarketSettings
from karpenter.sim.startuptaints import StartupTaints

CRDS: Resource[RawObject] = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", dict
)

PROVISIONER: RawObject = yaml.safe_load((Path(__file__).parents[1] / "data" / "provisioner.yaml").read_text())
"""The verbatim manifest of a real user."""
NODE_TEMPLATE: RawObject = {
    "apiVersion": "karpenter.k8s.aws/v1alpha1",
    "kind": "AWSNodeTemplate",
    "metadata": {"name": "default"},
    "spec": {
        "subnetSelector": {"karpenter.sh/discovery": "my-cluster"},
        "securityGroupSelector": {"karpenter.sh/discovery": "my-cluster"},
    },
}
TOLERATION = {"key": "example.com/special-taint", "operator": "Exists"}
POOL_RESOURCES = {
    "Provisioner": api.PROVISIONERS,
    "NodePool": api.NODE_POOLS,
    "AWSNodeTemplate": api.AWS_NODE_TEMPLATES,
    "EC2NodeClass": api.EC2_NODE_CLASSES,
}
DEPLOYMENTS: Resource[RawObject] = Resource("apps", "v1", "deployments", "Deployment", dict, namespaced=True)
BUDGETS = api.PDBS


def a_deployment(
    name: str,
    replicas: int,
    *,
    cpu: str = "1",
    memory: str = "2Gi",
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> RawObject:
    """Return a Deployment whose pods tolerate the verbatim Provisioner's taint; `annotations` are the pods'."""
    pod = a_pod_manifest(name, cpu=cpu, memory=memory, **spec)
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": annotations or {}}, "spec": pod["spec"]},
        },
    }


def a_pod_manifest(name: str, *, cpu: str = "1", memory: str = "2Gi", **spec: Any) -> RawObject:
    """Return a bare pod that tolerates the verbatim Provisioner's taint."""
    requests = {"cpu": cpu, "memory": memory}
    container = {"name": "main", "image": "registry.example.com/app:1", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"tolerations": [TOLERATION], "containers": [container], **spec},
    }


@dataclass
class World:
    """The cluster, and shortcuts to ask it things."""

    clock: LoopClock
    store: MemoryStore
    kube: MemoryKubeClient
    assembly: Assembly
    settings: Settings
    operator_kube: KubeClient
    """What our controllers reach the API through: as good as `kube`, unless trouble was asked for."""
    metrics: Metrics
    started_at: UnixSeconds = field(init=False)
    _operator: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.started_at = self.clock.now()

    @property
    def state(self) -> Any:
        return self.assembly.operator.state

    @property
    def market(self) -> Any:
        return self.assembly.cloud.market

    async def apply(self, *manifests: RawObject) -> None:
        """Create pools and node classes."""
        for manifest in manifests:
            await self.kube.create(POOL_RESOURCES[manifest["kind"]], manifest)

    async def create_pods(self, *pods: RawObject) -> None:
        for pod in pods:
            await self.kube.create(api.PODS, pod, namespace=pod["metadata"]["namespace"])

    async def deploy(self, name: str, replicas: int, **pod: Any) -> None:
        await self.kube.create(DEPLOYMENTS, a_deployment(name, replicas, **pod), namespace="default")

    async def scale(self, name: str, replicas: int) -> None:
        await self.kube.patch(DEPLOYMENTS, name, {"spec": {"replicas": replicas}}, namespace="default")

    async def all_running(self, pods: int) -> float:
        """Wait until exactly so many pods exist and run; return how long that took, in seconds."""

        async def done() -> bool:
            found = await self.pods()
            return len(found) == pods == sum(pod.status.phase == "Running" for pod in found)

        return await self.until(done)

    async def nothing_left(self) -> float:
        """Wait until there is no node, claim or instance; return how long that took, in seconds."""

        async def done() -> bool:
            return not (await self.nodes() or await self.claims() or self.instances())

        return await self.until(done)

    async def delete_pods(self) -> None:
        for pod in await self.pods():
            await self.kube.delete(api.PODS, pod.metadata.name, namespace=pod.metadata.namespace)

    async def leaving(self) -> set[str]:
        """The nodes that are being deleted, by name."""
        return {node.metadata.name for node in await self.nodes() if node.metadata.is_deleting}

    async def tainted(self) -> set[str]:
        """The nodes that take no pods because they are to go, by name."""
        return {
            node.metadata.name for node in await self.nodes() if any(t.matches(DISRUPTED) for t in node.spec.taints)
        }

    async def pods(self) -> list[Any]:
        return list((await self.kube.list(api.PODS)).items)

    async def nodes(self) -> list[Any]:
        return list((await self.kube.list(api.NODES)).items)

    async def claims(self) -> list[RawObject]:
        return list((await self.kube.list(api.NODE_CLAIMS)).items)

    async def events(self, reason: str) -> list[RawObject]:
        return [event for event in (await self.kube.list(api.EVENTS)).items if event["reason"] == reason]

    async def running(self) -> int:
        return sum(pod.status.phase == "Running" for pod in await self.pods())

    def instances(self) -> list[Any]:
        """The machines that the cloud bills."""
        now = self.clock.now()
        return [instance for instance in self.market.instances() if instance.state(now).value != "gone"]

    async def until(self, condition: Callable[[], Any], within_s: float = 300.0, step_s: float = 0.5) -> float:
        """Wait until the condition (a coroutine function) holds; return after how many seconds it did."""
        begun = self.clock.now()
        while not await condition():
            if self.clock.now() - begun > within_s:
                raise AssertionError(f"not within {within_s} s: {condition.__name__}")
            await self.clock.sleep(step_s)
        return self.clock.now() - begun

    async def start_operator(self) -> None:
        self._operator = asyncio.create_task(self.assembly.run(), name="operator")

    async def crash_operator(self) -> None:
        """Stop our controllers at once, wherever they are, and start ones that know nothing; API and cloud live on."""
        assert self._operator is not None
        self._operator.cancel()
        await asyncio.gather(self._operator, return_exceptions=True)
        self.metrics = Metrics(self.clock)
        self.assembly.operator = Operator(
            self.operator_kube, self.assembly.cloud, clock=self.clock, settings=self.settings, metrics=self.metrics
        )
        await self.start_operator()


@asynccontextmanager
async def a_world(
    clock: LoopClock,
    *,
    settings: Settings | None = None,
    market: MarketSettings | None = None,
    catalog: Catalog | None = None,
    startup_taints: StartupTaints = "auto",
    through: Callable[[MemoryKubeClient], KubeClient] = lambda kube: kube,
) -> AsyncIterator[World]:
    """Run a cluster for the length of a test; `through` makes the client that our controllers use."""
    store = MemoryStore(clock)
    store.admission.append(admission())
    kube = MemoryKubeClient(store)
    for crd in load():
        await kube.create(CRDS, crd)
    chosen, cloud = settings or Settings(), market or MarketSettings()
    operator_kube, metrics = through(kube), Metrics(clock)
    assembly = Assembly(
        operator_kube,
        clock=clock,
        metrics=metrics,
        settings=chosen,
        cloud=CloudSettings(market=cloud, catalog=catalog),
    )
    world = World(clock, store, kube, assembly, chosen, operator_kube, metrics)
    cluster = SimulatedCluster(
        kube, clock, MarketMachines(world.market, clock), speed=cloud.speed, startup_taints=startup_taints
    )
    tasks = [asyncio.create_task(cluster.run(), name="cluster")]
    await cluster.wait_ready()
    await world.start_operator()
    try:
        yield world
    finally:
        operator = [world._operator] if world._operator else []
        for task in [*tasks, *operator]:
            task.cancel()
        await asyncio.gather(*tasks, *operator, return_exceptions=True)
        for task in [*tasks, *operator]:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error
