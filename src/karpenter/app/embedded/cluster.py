"""Everything of the demo behind its API: cluster, cloud and operator in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from karpenter.app.assembly import Assembly, CloudSettings
from karpenter.app.awslocal import AwsLocalAssembly
from karpenter.app.embedded.api import EmbeddedApi
from karpenter.app.embedded.cloudfile import CloudFile
from karpenter.app.settings import Settings
from karpenter.model.catalog import Catalog
from karpenter.runtime.controller import run_all
from karpenter.sim.cluster import SimulatedCluster
from karpenter.sim.kubelet import NodeRhythm
from karpenter.sim.kubelet.frommarket import MarketMachines
from karpenter.sim.market.state import MarketSettings
from karpenter.sim.startuptaints import StartupTaints

CLOUD_FILE: Final = "cloud.sqlite"


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What a demo's cluster is like."""

    is_aws_local: bool = False
    """Whether the market is used through AWS's protocols and SDK."""
    cloud_speed: float = 10.0
    price_hours: int = 1
    """For how many hours spot prices stand still."""
    seed: int = 0
    startup_taints: StartupTaints = "auto"
    catalog: Catalog | None = None
    """None for the instance types of AWS."""
    rhythm: NodeRhythm | None = None
    """How often kubelets show that they live; None for as often as real ones."""


class EmbeddedCluster:
    """A cluster with Karpenter. `run` it; `close` it afterwards, so that its file is released."""

    name = "demo"

    def __init__(self, api: EmbeddedApi, *, settings: Settings, options: ClusterOptions) -> None:
        """The API stays its maker's to close. Raises BadInputError when the cloud's file cannot be used."""
        self._cloud_file = CloudFile(api.data / CLOUD_FILE) if api.data else None
        self.metrics = api.metrics
        self.client = api.client
        cloud = CloudSettings(
            market=MarketSettings(seed=options.seed, speed=options.cloud_speed, price_hours=options.price_hours),
            catalog=options.catalog,
            saved=self._cloud_file.saved() if self._cloud_file else None,
            on_change=self._cloud_file.store if self._cloud_file else None,
        )
        make = AwsLocalAssembly if options.is_aws_local else Assembly
        self.assembly: Assembly | AwsLocalAssembly = make(
            self.client, clock=api.clock, metrics=self.metrics, settings=settings, cloud=cloud
        )
        self.market = self.assembly.market
        self._simulated = SimulatedCluster(
            self.client,
            api.clock,
            MarketMachines(self.market, api.clock),
            speed=options.cloud_speed,
            startup_taints=options.startup_taints,
            seed=options.seed,
            rhythm=options.rhythm,
        )

    async def run(self) -> None:
        """Run until cancelled."""
        await run_all(self._simulated, self.assembly)

    async def wait_ready(self) -> None:
        """Return once operator and control plane have read the cluster."""
        await self._simulated.wait_ready()
        await self.assembly.operator.informers.wait_synced()

    def close(self) -> None:
        """Release the cloud's file and port."""
        if isinstance(self.assembly, AwsLocalAssembly):
            self.assembly.close()
        if self._cloud_file is not None:
            self._cloud_file.close()
