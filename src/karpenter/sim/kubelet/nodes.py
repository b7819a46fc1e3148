"""The node side of a kubelet: registers, becomes ready, shows devices, beats, and says so when its machine stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

from karpenter.model.core import Node
from karpenter.model.meta import find_condition
from karpenter.model.units import ObjectKey, UnixSeconds
from karpenter.runtime import kube as api
from karpenter.runtime import logs
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import ref_to
from karpenter.runtime.kube import AlreadyExists, KubeError, NotFound, Resource
from karpenter.sim import kinds
from karpenter.sim.kubelet import nodestatus
from karpenter.sim.kubelet.boot import Machine, Power
from karpenter.sim.kubelet.machines import Machines
from karpenter.sim.kubelet.nodestatus import Manifest
from karpenter.sim.standins import Context, Enqueue

T = TypeVar("T")

log = logs.get("sim.kubelet")

COMPONENT: Final = "kubelet"


@dataclass(frozen=True, slots=True)
class NodeRhythm:
    """How often a kubelet shows that it lives, and when devices appear. Seconds of this cluster's clock."""

    lease_renew_s: float = 20.0
    lease_duration_s: int = 40
    status_s: float = 300.0
    """How often an unchanged status is written again."""
    monitor_s: float = 5.0
    """How often the control plane looks whether they do."""
    devices_s: float = 1.0
    """From ready until device plugins have reported what the machine has."""


class NodeAgent:
    """Brings the Node of each machine to what the machine is."""

    name = "sim.kubelet.node"

    def __init__(self, context: Context, machines: Machines, rhythm: NodeRhythm) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._nodes = context.informers.nodes
        self._recorder = context.events.of(COMPONENT)
        self._machines = machines
        self._rhythm = rhythm
        self._registered: set[str] = set()
        """Provider ids of machines whose node was there once: a kubelet registers at its start and never again."""

    def watch(self, enqueue: Enqueue[str]) -> None:
        """Look at a node whenever its machine or the Node itself changes."""
        self._machines.subscribe(enqueue)
        self._nodes.subscribe(lambda event: enqueue(event.object.metadata.name) if event.object else None)

    async def reconcile(self, key: str) -> Result:
        """Register the machine's node, or bring its status up to date."""
        machine = self._machines.on(key)
        node = self._nodes.get(ObjectKey("", key))
        if machine is None:
            if node is not None and self._machines.power(key) is Power.STOPPING:
                await self._say_goodbye(node)
            return DONE
        if node is None:
            if machine.provider_id in self._registered:
                return DONE
            node = await self._register(machine)
        self._registered.add(machine.provider_id)
        return await self._keep_status(machine, node)

    async def _register(self, machine: Machine) -> Node:
        now = self._clock.now()
        try:
            node = await self._kube.create(api.NODES, nodestatus.registration(machine, now))
        except AlreadyExists:
            node = await self._kube.get(api.NODES, machine.node_name)
        self._nodes.fold(node)
        uid, duration_s = node.metadata.uid, self._rhythm.lease_duration_s
        lease = nodestatus.lease(machine, uid, now, duration_s=duration_s)
        await self._ensure(kinds.LEASES, lease, namespace=nodestatus.NODE_LEASES)
        if machine.volume_limits:
            await self._ensure(api.CSI_NODES, nodestatus.csi_node(machine, uid))
        self._recorder.record(ref_to(api.NODES, node), "Normal", "Starting", "Starting kubelet.")
        log.debug("registered node", name=machine.node_name, provider_id=machine.provider_id)
        return node

    async def _ensure(self, resource: Resource[T], body: Manifest, *, namespace: str = "") -> None:
        try:
            await self._kube.create(resource, body, namespace=namespace)
        except AlreadyExists:  # written before a restart, or of an earlier node of this name
            owned = {"metadata": {"ownerReferences": body["metadata"]["ownerReferences"]}, "spec": body["spec"]}
            await self._kube.patch(resource, body["metadata"]["name"], owned, namespace=namespace)

    async def _keep_status(self, machine: Machine, node: Node) -> Result:
        now = self._clock.now()
        if now < machine.ready_at:
            return Result(machine.ready_at - now)
        devices_at = machine.ready_at + self._rhythm.devices_s
        shows_devices = now >= devices_at
        amounts = nodestatus.amounts(machine, devices=shows_devices)
        changed = {} if (amounts["allocatable"], amounts["capacity"]) == _shown(node) else amounts
        is_ready = find_condition(node.status.conditions, "Ready")
        if changed or is_ready is None or not is_ready.is_true:
            await self._write(node, changed, nodestatus.ready(now))
        if is_ready is None or not is_ready.is_true:
            text = f"Node {machine.node_name} status is now: NodeReady"
            self._recorder.record(ref_to(api.NODES, node), "Normal", "NodeReady", text)
        return DONE if shows_devices or not nodestatus.has_devices(machine) else Result(devices_at - now)

    async def _say_goodbye(self, node: Node) -> None:
        conditions = nodestatus.shutting_down(self._clock.now())
        if not _same_conditions(node, conditions):
            await self._write(node, {}, conditions)

    async def _write(self, node: Node, amounts: Manifest, conditions: list[Manifest]) -> None:
        known = {one.type: (one.status, one.last_transition_time or "") for one in node.status.conditions}
        status = amounts | {"conditions": nodestatus.keep_transitions(conditions, known)}
        try:
            written = await self._kube.patch(
                api.NODES, node.metadata.name, {"status": status}, patch_type="strategic", subresource="status"
            )
        except NotFound:
            return
        self._nodes.fold(written)

    async def beat(self) -> None:
        """Renew leases until cancelled, and write every status again now and then."""
        written_at = self._clock.now()
        while True:
            await self._clock.sleep(self._rhythm.lease_renew_s)
            now = self._clock.now()
            with_status = now - written_at >= self._rhythm.status_s
            if with_status:
                written_at = now
            for machine in self._machines.all_on():
                await self._beat_once(machine, now, with_status=with_status)

    async def _beat_once(self, machine: Machine, now: UnixSeconds, *, with_status: bool) -> None:
        node = self._nodes.get(ObjectKey("", machine.node_name))
        if node is None:
            return
        try:
            renewal = {"spec": nodestatus.renewal(now)}
            await self._kube.patch(kinds.LEASES, machine.node_name, renewal, namespace=nodestatus.NODE_LEASES)
            if with_status and now >= machine.ready_at:
                await self._write(node, {}, nodestatus.ready(now))
        except KubeError as error:
            log.debug("heartbeat failed, the next one may do", name=machine.node_name, error=error)


def _shown(node: Node) -> tuple[dict[str, str], dict[str, str]]:
    status = node.status
    return (
        {name: str(amount) for name, amount in status.allocatable.items()},
        {name: str(amount) for name, amount in status.capacity.items()},
    )


def _same_conditions(node: Node, conditions: list[Manifest]) -> bool:
    known = {one.type: (one.status, one.reason, one.message) for one in node.status.conditions}
    return all(known.get(one["type"]) == (one["status"], one["reason"], one["message"]) for one in conditions)
