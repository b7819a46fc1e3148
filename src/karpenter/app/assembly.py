"""The operator and a simulated cloud over one API server: what `demo` and `run --cloud simulated` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from karpenter.app.cloudassembly import CloudAssembly, FindPool
from karpenter.app.nodeclasses import NodeClasses
from karpenter.app.settings import Settings
from karpenter.model.catalog import Catalog
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import Runnable
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


class Assembly(CloudAssembly[SimulatedCloud]):
    """Our controllers, the simulated cloud, and what people ask of that."""

    def __init__(
        self, client: KubeClient, *, clock: Clock, metrics: Metrics, settings: Settings, cloud: CloudSettings
    ) -> None:
        def opened(node_classes: NodeClasses, pool: FindPool) -> SimulatedCloud:
            return open_cloud(
                clock,
                node_class=node_classes.find,
                pool=pool,
                settings=cloud.market,
                aws=settings.aws,
                catalog=cloud.catalog,
                saved=cloud.saved,
                on_change=cloud.on_change,
            )

        super().__init__(client, opened, clock=clock, metrics=metrics, settings=settings)
        self.market = self.cloud.market
        self._requests = CloudRequests(
            client, self.market, nodes=self.operator.informers.nodes, clock=clock, metrics=metrics
        )

    def _companions(self) -> Sequence[Runnable]:
        return (self._requests,)
