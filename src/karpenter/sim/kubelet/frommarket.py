"""The market's instances as the machines that kubelets run on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from karpenter.model.resources import MEMORY
from karpenter.runtime.clock import Clock
from karpenter.sim.kubelet.boot import Machine, Power, PowerChange
from karpenter.sim.market.instances import InstanceState, MarketInstance
from karpenter.sim.market.market import Market

_SCHEME: Final = "aws:///"
_POWER: Final = {
    InstanceState.RUNNING: Power.ON,
    InstanceState.TERMINATING: Power.STOPPING,
    InstanceState.GONE: Power.GONE,
}


class MarketMachines:
    """A `MachineSource` over a market: an instance is up once it has booted."""

    def __init__(self, market: Market, clock: Clock) -> None:
        self._market = market
        self._clock = clock

    async def changes(self) -> AsyncIterator[PowerChange]:
        """Yield every instance that has booted, and each again when it stops and when it is gone."""
        async for instance, state in self._market.changes():
            power = _POWER.get(state)
            if power is not None and instance.boot.joins:
                yield PowerChange(machine_of(instance, self._market.settings.memory_shortfall), power)

    def exists(self, provider_id: str) -> bool | None:
        """Return whether an instance is not gone yet; None for a node of another cloud."""
        if not provider_id.startswith(_SCHEME):
            return None
        found = self._market.find(provider_id)
        return found is not None and found.state(self._clock.now()) is not InstanceState.GONE


def machine_of(instance: MarketInstance, memory_shortfall: float = 0.0) -> Machine:
    """Return what the kubelet of an instance finds; `memory_shortfall` is the share of its memory that is missing."""
    boot = instance.boot
    memory = int(boot.allocatable.get(MEMORY, 0) * (1 - memory_shortfall))
    return Machine(
        provider_id=instance.provider_id,
        node_name=instance.node_name,
        address=instance.private_ip,
        ready_at=instance.ready_at,
        labels=instance.node_labels(),
        taints=boot.taints,
        capacity=boot.capacity,
        allocatable={**boot.allocatable, MEMORY: memory} if memory_shortfall else boot.allocatable,
        volume_limits=boot.volume_limits,
        os=boot.os,
        arch=boot.arch,
        os_image=boot.os_image,
        kubelet_version=boot.kubelet_version,
    )
