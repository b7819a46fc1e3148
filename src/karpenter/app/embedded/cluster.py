"""Everything of the demo below its sockets: cluster, cloud and operator over one API in this process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from karpenter.app.assembly import Assembly, CloudSettings
from karpenter.app.embedded.admission import admission
from karpenter.app.embedded.cloudfile import CloudFile
from karpenter.app.errors import BadInputError
from karpenter.app.settings import Settings
from karpenter.model import crds
from karpenter.model.catalog import Catalog
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import run_all
from karpenter.runtime.kube import AlreadyExists, KubeClient, RawObject, Resource
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.runtime.kubememory.journal import JournalError, SqliteJournal
from karpenter.runtime.metrics import Metrics
from karpenter.sim.cluster import SimulatedCluster
from karpenter.sim.kubelet import NodeRhythm, StartupTaints
from karpenter.sim.kubelet.frommarket import MarketMachines
from karpenter.sim.market.state import MarketSettings

_DEFINITIONS: Final[Resource[RawObject]] = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", dict
)
CLUSTER_FILE: Final = "cluster.sqlite"
CLOUD_FILE: Final = "cloud.sqlite"


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What a demo's cluster is like."""

    cloud_speed: float = 10.0
    price_hours: int = 1
    """For how many hours spot prices stand still."""
    seed: int = 0
    startup_taints: StartupTaints = "auto"
    catalog: Catalog | None = None
    """None for the instance types of AWS."""
    data: Path | None = None
    """An existing folder that keeps cluster and cloud; None keeps nothing."""
    rhythm: NodeRhythm | None = None
    """How often kubelets show that they live; None for as often as real ones."""


class EmbeddedCluster:
    """A cluster with Karpenter. `run` it; `close` it afterwards, so that its files are released."""

    name = "demo"

    def __init__(self, clock: Clock, *, settings: Settings, options: ClusterOptions) -> None:
        """Raises BadInputError when the data cannot be used."""
        self._journal = _open_journal(options.data)
        self._cloud_file = CloudFile(options.data / CLOUD_FILE) if options.data else None
        self.metrics = Metrics(clock)
        self.store = MemoryStore(clock, journal=self._journal)
        self.store.admission.append(admission())
        self.client = MemoryKubeClient(self.store)
        self.assembly = Assembly(
            self.client,
            clock=clock,
            metrics=self.metrics,
            settings=settings,
            cloud=CloudSettings(
                market=MarketSettings(seed=options.seed, speed=options.cloud_speed, price_hours=options.price_hours),
                catalog=options.catalog,
                saved=self._cloud_file.saved() if self._cloud_file else None,
                on_change=self._cloud_file.store if self._cloud_file else None,
            ),
        )
        self._simulated = SimulatedCluster(
            self.client,
            clock,
            MarketMachines(self.assembly.cloud.market, clock),
            speed=options.cloud_speed,
            startup_taints=options.startup_taints,
            seed=options.seed,
            rhythm=options.rhythm,
        )

    async def run(self) -> None:
        """Run until cancelled. Our kinds are defined before anybody asks for them."""
        await define_kinds(self.client)
        await run_all(self._simulated, self.assembly)

    async def wait_ready(self) -> None:
        """Return once operator and control plane have read the cluster."""
        await self._simulated.wait_ready()
        await self.assembly.operator.informers.wait_synced()

    def close(self) -> None:
        """Release the files."""
        if self._journal is not None:
            self._journal.close()
        if self._cloud_file is not None:
            self._cloud_file.close()


async def define_kinds(client: KubeClient) -> None:
    """Create our CustomResourceDefinitions, or bring those that an older version created up to date."""
    for definition in crds.load():
        try:
            await client.create(_DEFINITIONS, definition)
        except AlreadyExists:
            await client.patch(_DEFINITIONS, definition["metadata"]["name"], {"spec": definition["spec"]})
        await asyncio.sleep(0)


def _open_journal(data: Path | None) -> SqliteJournal | None:
    if data is None:
        return None
    try:
        return SqliteJournal(data / CLUSTER_FILE)
    except JournalError as error:
        raise BadInputError(f"--data: {error}") from error
