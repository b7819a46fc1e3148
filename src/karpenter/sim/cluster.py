"""A whole control plane with its kubelets: what `karpenter demo` and the scenarios run on."""

from __future__ import annotations

from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import Runnable, run_all
from karpenter.runtime.kube import KubeClient
from karpenter.runtime.metrics import Metrics
from karpenter.sim.controllers import StorageAddon, node_controllers, volume_controllers, workload_controllers
from karpenter.sim.disks import DiskPace
from karpenter.sim.informers import SharedInformers
from karpenter.sim.kubelet import Kubelets, MachineSource, NodeRhythm, Pace
from karpenter.sim.scheduler import Scheduler
from karpenter.sim.standins import Context, Recorders
from karpenter.sim.startuptaints import StartupTaints

_DEVICES_S = 8.0
"""From a node's readiness until device plugins have reported, in the real world."""


class SimulatedCluster:
    """Scheduler, kubelets and controllers over an API that they share with everyone else.

    `boot_source` is the cloud (`kubelet.frommarket.MarketMachines` for the market). `speed` divides what takes time on
    machines: starting and stopping pods, disks, devices, startup agents. Grace periods, timeouts and back-offs of the
    control plane keep their real length.
    """

    name = "sim.cluster"

    def __init__(
        self,
        kube: KubeClient,
        clock: Clock,
        boot_source: MachineSource,
        *,
        speed: float = 10.0,
        startup_taints: StartupTaints = "auto",
        seed: int = 0,
        rhythm: NodeRhythm | None = None,
    ) -> None:
        # Its own metrics: what these controllers do is not what the operator's dashboards are about.
        metrics = Metrics(clock)
        self.informers = SharedInformers(kube, clock, metrics=metrics)
        context = Context(kube, clock, self.informers, Recorders(kube, clock, metrics), metrics)
        self._storage = StorageAddon(context)
        self._parts: tuple[Runnable, ...] = (
            self.informers,
            Scheduler(context, seed=seed),
            Kubelets(
                context,
                boot_source,
                pace=Pace(speed=speed, seed=seed),
                rhythm=rhythm or NodeRhythm(devices_s=_DEVICES_S / speed),
                startup_taints=startup_taints,
            ),
            *workload_controllers(context),
            *volume_controllers(context, DiskPace(speed=speed, seed=seed)),
            *node_controllers(context, boot_source, monitor_s=(rhythm or NodeRhythm()).monitor_s),
            self._storage,
            context.events,
        )

    async def wait_ready(self) -> None:
        """Return once all stand-ins know the cluster as it is, and its storage is installed."""
        await self.informers.wait_synced()
        await self._storage.is_installed.wait()

    async def run(self) -> None:
        """Run until cancelled."""
        await run_all(*self._parts)
