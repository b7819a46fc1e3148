"""The operator and a simulated cloud over one API server: what `demo` and `run --cloud simulated` have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from karpenter.app.nodeclasses import NodeClasses
from karpenter.app.nodeclassstatus import NodeClassStatus
from karpenter.app.settings import Settings
from karpenter.app.wiring import Operator
from karpenter.cloud.metered import MeteredProvider
from karpenter.model.catalog import Catalog
from karpenter.model.nodepool import NodePool
from karpenter.model.units import PoolKey
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import Controller
from karpenter.runtime.kube import KubeClient
from karpenter.runtime.metrics import Metrics
from karpenter.sim.cloud import SimulatedCloud, open_cloud
from karpenter.sim.cloud.requests import CloudRequests
from karpenter.sim.market.market import OnChange
from karpenter.sim.market.state import DEFAULT_MARKET, MarketSettings


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """Which simulated cloud."""

    market: MarketSettings = DEFAULT_MARKET
    catalog: Catalog | None = None
    """None for the instance types of AWS."""
    saved: Mapping[str, Any] | None = None
    """What an earlier cloud gave to store; None for a new one."""
    on_change: OnChange | None = None
    """Is told after every change what to store."""


class Assembly:
    """Our controllers, and the cloud they launch in."""

    name = "karpenter"

    def __init__(
        self, client: KubeClient, *, clock: Clock, metrics: Metrics, settings: Settings, cloud: CloudSettings
    ) -> None:
        self._node_classes = NodeClasses(client, clock=clock, metrics=metrics)
        self.cloud: SimulatedCloud = open_cloud(
            clock,
            node_class=self._node_classes.find,
            pool=self._pool,
            settings=cloud.market,
            aws=settings.aws,
            catalog=cloud.catalog,
            saved=cloud.saved,
            on_change=cloud.on_change,
        )
        self.market = self.cloud.market
        self.operator = Operator(
            client,
            MeteredProvider(self.cloud, metrics, clock),
            clock=clock,
            settings=settings,
            metrics=metrics,
            well_known=self.cloud.well_known,
            class_generation=self._node_classes.generation,
        )
        self._requests = CloudRequests(
            client, self.cloud.market, nodes=self.operator.informers.nodes, clock=clock, metrics=metrics
        )
        self._node_classes.on_change(self._look_again)
        status = NodeClassStatus(client, self._node_classes, self.cloud.inspect, clock=clock)
        self._class_status = Controller(status, clock=clock, metrics=metrics)
        self._node_classes.on_each_change(self._class_status.enqueue)

    @property
    def is_ready(self) -> bool:
        """Whether the cluster has been read once."""
        return self.operator.informers.has_synced

    async def run(self) -> None:
        """Run until cancelled. Node classes come first: without them every pool would look broken."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._node_classes.run(), name="nodeclasses")
            await self._node_classes.wait_synced()
            group.create_task(self._class_status.run(), name=NodeClassStatus.name)
            group.create_task(self.operator.run(), name="operator")
            group.create_task(self._requests.run(), name="requests to the cloud")

    def _pool(self, key: PoolKey) -> NodePool | None:
        return self.operator.state.pools.get(key)

    def _look_again(self) -> None:
        """A node class changed: pods that no pool could help may find help now, and nodes may have drifted."""
        self.operator.node_classes_changed()
