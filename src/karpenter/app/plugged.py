"""The operator over any installed cloud: what `run --cloud NAME` is made of."""

from __future__ import annotations

import asyncio
from typing import Protocol, runtime_checkable

from karpenter.app.nodeclasses import NodeClasses
from karpenter.app.settings import Settings
from karpenter.app.wiring import Operator
from karpenter.cloud.metered import MeteredProvider
from karpenter.cloud.provider import CloudProvider
from karpenter.cloud.registry import ProviderContext, ProviderFactory
from karpenter.model.nodepool import NodePool
from karpenter.model.units import PoolKey
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import KubeClient
from karpenter.runtime.metrics import Metrics


@runtime_checkable
class WorksByItself(Protocol):
    """A provider with work of its own beside the calls, such as looking prices up."""

    async def run(self) -> None:
        """Work until cancelled."""
        ...


class PluggedAssembly:
    """Our controllers, and the cloud of a plug-in."""

    name = "karpenter"

    def __init__(
        self,
        client: KubeClient,
        factory: ProviderFactory,
        *,
        cluster_name: str,
        clock: Clock,
        metrics: Metrics,
        settings: Settings,
    ) -> None:
        self._node_classes = NodeClasses(client, clock=clock, metrics=metrics)
        self.cloud: CloudProvider = factory(
            ProviderContext(
                kube=client,
                clock=clock,
                cluster_name=cluster_name,
                node_class=self._node_classes.raw,
                pool=self._pool,
                settings={"aws": settings.aws},
            )
        )
        self.operator = Operator(
            client,
            MeteredProvider(self.cloud, metrics, clock),
            clock=clock,
            settings=settings,
            metrics=metrics,
            class_generation=self._node_classes.generation,
        )
        self._node_classes.on_change(self.operator.node_classes_changed)

    @property
    def is_ready(self) -> bool:
        """Whether the cluster has been read once."""
        return self.operator.informers.has_synced

    async def run(self) -> None:
        """Run until cancelled. Node classes come first: without them every pool would look broken."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._node_classes.run(), name="nodeclasses")
            await self._node_classes.wait_synced()
            if isinstance(self.cloud, WorksByItself):
                group.create_task(self.cloud.run(), name=f"cloud {self.cloud.name}")
            group.create_task(self.operator.run(), name="operator")

    def _pool(self, key: PoolKey) -> NodePool | None:
        return self.operator.state.pools.get(key)
