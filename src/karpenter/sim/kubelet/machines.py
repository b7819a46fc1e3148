"""Which machines are up just now, told to everyone who runs something on them."""

from __future__ import annotations

from collections.abc import Callable

from karpenter.sim.kubelet.boot import Machine, MachineSource, Power, PowerChange


class Machines:
    """The machines whose kubelets live in this process."""

    def __init__(self, source: MachineSource) -> None:
        self._source = source
        self._by_node: dict[str, PowerChange] = {}
        self._listeners: list[Callable[[str], None]] = []

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call with the node name of each machine whose power changes from now on, and of each that is up."""
        self._listeners.append(listener)
        for name in self._by_node:
            listener(name)

    def on(self, node: str) -> Machine | None:
        """Return the machine of a node if it is up; None when it is stopping, gone, or nobody's."""
        found = self._by_node.get(node)
        return found.machine if found is not None and found.power is Power.ON else None

    def power(self, node: str) -> Power | None:
        """Return what the machine of a node is doing; None for nodes without a machine that we know."""
        found = self._by_node.get(node)
        return found.power if found is not None else None

    def all_on(self) -> tuple[Machine, ...]:
        """Return the machines that are up."""
        return tuple(one.machine for one in self._by_node.values() if one.power is Power.ON)

    async def run(self) -> None:
        """Follow the cloud until cancelled."""
        async for change in self._source.changes():
            name = change.machine.node_name
            if change.power is Power.GONE:
                self._by_node.pop(name, None)
            else:
                self._by_node[name] = change
            for listener in self._listeners:
                listener(name)
