"""A cloud that does what a test says."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from karpenter.model.resources import parse_resources
from karpenter.model.taints import Taint
from karpenter.model.units import ProviderID, UnixSeconds
from karpenter.sim.kubelet import Machine, Power, PowerChange
from karpenter.sim.loop import SIMULATION_START


def machine(
    name: str,
    *,
    ready_after_s: float = 0.0,
    resources: dict[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    labels: dict[str, str] | None = None,
    **more: Any,
) -> Machine:
    """Return a machine whose node is called like it; `ready_after_s` counts from the start of the simulation."""
    amounts = parse_resources({"cpu": "4", "memory": "16Gi", "pods": "110", **(resources or {})})
    return Machine(
        provider_id=ProviderID(f"aws:///us-west-2a/i-{name}"),
        node_name=name,
        address="10.0.0.1",
        ready_at=UnixSeconds(SIMULATION_START + ready_after_s),
        labels=labels or {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "us-west-2a"},
        taints=taints,
        capacity=amounts,
        allocatable=amounts,
        kubelet_version="v1.32.0",
        **more,
    )


class ScriptedMachines:
    """Machines that are switched on and off by hand."""

    def __init__(self, *machines: Machine) -> None:
        self._now: dict[str, PowerChange] = {one.node_name: PowerChange(one, Power.ON) for one in machines}
        self._news: asyncio.Queue[PowerChange] = asyncio.Queue()

    async def changes(self) -> AsyncIterator[PowerChange]:
        self._news = asyncio.Queue()
        for change in tuple(self._now.values()):
            yield change
        while True:
            yield await self._news.get()

    def exists(self, provider_id: str) -> bool | None:
        if not provider_id.startswith("aws:///"):
            return None
        return any(one.machine.provider_id == provider_id and one.power is not Power.GONE for one in self._now.values())

    def switch(self, name: str, power: Power) -> None:
        self._tell(PowerChange(self._now[name].machine, power))

    def start(self, new: Machine) -> None:
        self._tell(PowerChange(new, Power.ON))

    def _tell(self, change: PowerChange) -> None:
        self._now[change.machine.node_name] = change
        self._news.put_nowait(change)
