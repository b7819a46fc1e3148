"""A whole simulated cluster on scripted machines, in virtual time."""

import contextlib
from collections.abc import AsyncIterator

from karpenter.model.core import Pod
from karpenter.sim.cluster import SimulatedCluster
from tests.sim.clusters import Cluster
from tests.sim.machines import ScriptedMachines, machine


class Simulation(Cluster):
    """A cluster with scheduler, kubelets and controllers, and the machines that it runs on."""

    machines: ScriptedMachines

    async def running_pods(self, app: str) -> dict[str, Pod]:
        """Return the pods of an app that run and stay."""
        found = await self.pods(label_selector=f"app={app}")
        return {
            name: pod for name, pod in found.items() if pod.status.phase == "Running" and not pod.metadata.is_deleting
        }


@contextlib.asynccontextmanager
async def a_simulation(
    *names: str, machines: ScriptedMachines | None = None, after: Simulation | None = None
) -> AsyncIterator[Simulation]:
    """Run a cluster on machines of these names, or on the ones given; `after` another one that was killed."""
    made = Simulation(after.clock, store=after.store) if after is not None else Simulation()
    made.machines = machines or (
        after.machines if after is not None else ScriptedMachines(*(machine(name) for name in names))
    )
    cluster = SimulatedCluster(made.kube, made.clock, made.machines, speed=1.0)
    made.informers = cluster.informers
    async with made.running_only(cluster):
        yield made
