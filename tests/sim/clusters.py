"""A cluster in memory with some of the stand-ins running, in virtual time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from karpenter.model.core import Node, Pod
from karpenter.runtime import kube as api
from karpenter.runtime.clock import Clock, LoopClock
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.runtime.metrics import Metrics
from karpenter.sim.informers import SharedInformers
from karpenter.sim.loop import SIMULATION_START
from karpenter.sim.standins import Context, Recorders

Raw = dict[str, Any]


class Cluster:
    """An API in memory, its clock, and what stand-ins need to run on it."""

    def __init__(self, clock: Clock | None = None, *, store: MemoryStore | None = None) -> None:
        self.clock = clock or LoopClock(SIMULATION_START)
        self.store = store or MemoryStore(self.clock)
        self.kube = MemoryKubeClient(self.store)
        metrics = Metrics(self.clock)
        self.informers = SharedInformers(self.kube, self.clock, metrics=metrics)
        recorders = Recorders(self.kube, self.clock, metrics)
        self.context = Context(self.kube, self.clock, self.informers, recorders, metrics)

    def restarted(self) -> "Cluster":
        """Return a process that knows nothing, on the same API."""
        return Cluster(self.clock, store=self.store)

    @contextlib.asynccontextmanager
    async def running(self, *runnables: Any) -> AsyncIterator[None]:
        """Run stand-ins, informers and event recorders until the block ends; a failure of one ends the test."""
        async with self.running_only(self.informers, self.context.events, *runnables):
            yield

    @contextlib.asynccontextmanager
    async def running_only(self, *runnables: Any) -> AsyncIterator[None]:
        """Run what brings everything along that it needs, until the block ends."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one.run(), name=type(one).__name__) for one in runnables]
            await self.informers.wait_synced()
            yield
            for task in tasks:
                task.cancel()

    async def apply(self, *objects: Raw) -> None:
        """Create objects from manifests."""
        for body in objects:
            kind = self.store.registry.by_kind(body["apiVersion"], body["kind"])
            assert kind is not None, body["kind"]
            namespace = body["metadata"].get("namespace", "default") if kind.namespaced else ""
            self.store.create(kind, body, namespace=namespace)
        await asyncio.sleep(0)

    async def pods(self, **selectors: str) -> dict[str, Pod]:
        """Return pods by name."""
        listing = await self.kube.list(api.PODS, **selectors)
        return {pod.metadata.name: pod for pod in listing.items}

    async def nodes(self) -> dict[str, Node]:
        """Return nodes by name."""
        return {node.metadata.name: node for node in (await self.kube.list(api.NODES)).items}

    async def events(self, reason: str) -> list[tuple[str, str]]:
        """Return (object, message) of the events with a reason."""
        listing = await self.kube.list(api.EVENTS)
        return sorted(
            (event["involvedObject"]["name"], event["message"]) for event in listing.items if event["reason"] == reason
        )

    async def until(self, holds: Callable[[], Any], *, within_s: float = 60.0) -> Any:
        """Return what `holds` returns once it is true; it may be a coroutine function."""
        async with asyncio.timeout(within_s):
            while True:
                found = holds()
                if asyncio.iscoroutine(found):
                    found = await found
                if found:
                    return found
                await asyncio.sleep(0.05)


def pod_spec(*, cpu: str = "100m", memory: str = "64Mi", **spec: Any) -> Raw:
    """Return the spec of a pod with one container."""
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {"containers": [container], **spec}


def pod(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> Raw:
    """Return the manifest of a pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": pod_spec(**spec),
    }


def node(name: str, *, cpu: str = "4", memory: str = "16Gi", pods: int = 110, zone: str = "a", **more: Any) -> Raw:
    """Return the manifest of a ready node; `taints` and the like go into its spec, `labels` beside the usual ones."""
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, **more.pop("labels", {})}
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": more,
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def definition(group: str, kind: str, *, version: str = "v1") -> Raw:
    """Return the CustomResourceDefinition of a cluster-scoped kind with a status, without rules."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Cluster",
            "versions": [served],
        },
    }
