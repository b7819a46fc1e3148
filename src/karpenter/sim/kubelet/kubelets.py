"""All kubelets together."""

from __future__ import annotations

from karpenter.model.units import ObjectKey
from karpenter.runtime.controller import run_all
from karpenter.sim.kubelet.boot import MachineSource
from karpenter.sim.kubelet.machines import Machines
from karpenter.sim.kubelet.nodes import NodeAgent, NodeRhythm
from karpenter.sim.kubelet.pods import PodAgent
from karpenter.sim.kubelet.podstatus import Pace
from karpenter.sim.kubelet.startup import AGENT_S, StartupAgents
from karpenter.sim.kubelet.volumes import VolumeAgent
from karpenter.sim.standins import Context, StandIn
from karpenter.sim.startuptaints import StartupTaints


class Kubelets:
    """The kubelets of all machines of a cloud, and, with `auto`, the agents that startup taints wait for."""

    name = "kubelet"

    def __init__(
        self,
        context: Context,
        source: MachineSource,
        *,
        pace: Pace,
        rhythm: NodeRhythm,
        startup_taints: StartupTaints = "auto",
    ) -> None:
        self._informers = context.informers
        self._machines = Machines(source)
        self._nodes = NodeAgent(context, self._machines, rhythm)
        self._parts: list[StandIn[str] | StandIn[ObjectKey]] = [
            StandIn(self._nodes, context),
            StandIn(PodAgent(context, self._machines, pace), context, workers=16),
            StandIn(VolumeAgent(context, self._machines), context),
        ]
        if startup_taints == "auto":
            self._parts.append(StandIn(StartupAgents(context, delay_s=AGENT_S / pace.speed), context))

    async def run(self) -> None:
        """Run until cancelled."""
        await self._informers.wait_synced()
        await run_all(self._machines, _Beat(self._nodes), *self._parts)


class _Beat:
    """The task that renews leases."""

    name = "kubelet.beat"

    def __init__(self, nodes: NodeAgent) -> None:
        self._nodes = nodes

    async def run(self) -> None:
        """Beat until cancelled."""
        await self._nodes.beat()
