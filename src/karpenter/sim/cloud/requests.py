"""What users ask of the simulated cloud with kubectl: trouble from a ConfigMap, ends of instances by annotation.

kubectl create configmap simulated-cloud -n kube-system --from-literal=shortages='m5.* us-west-2a spot'
kubectl annotate node NAME simulated-cloud/request=interrupt
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from karpenter.model.core import Node
from karpenter.model.instance import InterruptionKind
from karpenter.model.units import ObjectKey
from karpenter.runtime import kube as api
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Controller, Result
from karpenter.runtime.events import EventRecorder, ref_to
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import KubeClient, RawObject, WatchEvent
from karpenter.runtime.metrics import Metrics
from karpenter.sim.cloud.trouble import read_faults, read_reservations, read_shortages, read_stocks
from karpenter.sim.market.market import Market

CONFIG_MAP: Final = ObjectKey("kube-system", "simulated-cloud")
"""Its `shortages` and `stock` hold while they stand there; its `faults` are taken out when they are taken in."""

ANNOTATION: Final = "simulated-cloud/request"
"""On a Node, one of `REQUESTS`; taken off when it is done."""

REQUESTS: Final = ("interrupt", "rebalance", "maintenance", "terminate")


class CloudRequests:
    """Does to the market what users ask for."""

    name: Final = "sim.cloud"

    def __init__(
        self, kube: KubeClient, market: Market, *, nodes: Informer[Node], clock: Clock, metrics: Metrics
    ) -> None:
        """`nodes` is a copy of all nodes that somebody else keeps up to date."""
        self._kube = kube
        self._market = market
        self._nodes = nodes
        self._events = EventRecorder(kube, clock, "simulated-cloud", metrics=metrics)
        self._maps = Informer(
            kube,
            api.CONFIG_MAPS,
            clock=clock,
            namespace=CONFIG_MAP.namespace,
            field_selector=f"metadata.name={CONFIG_MAP.name}",
            metrics=metrics,
        )
        self._controller = Controller(self, clock=clock, metrics=metrics)

    async def run(self) -> None:
        """Serve requests until cancelled."""
        async with asyncio.TaskGroup() as group:
            for part in (self._maps, self._events):
                group.create_task(part.run(), name=f"{self.name}.{type(part).__name__}")
            await self._nodes.wait_synced()
            await self._maps.wait_synced()
            self._watch(self._controller.enqueue)
            await self._controller.run()

    def _watch(self, enqueue: Callable[[ObjectKey], None]) -> None:

        def node_changed(event: WatchEvent[Node]) -> None:
            if event.object is not None and ANNOTATION in event.object.metadata.annotations:
                enqueue(event.object.metadata.key)

        def map_changed(_: WatchEvent[RawObject]) -> None:
            enqueue(CONFIG_MAP)

        self._nodes.subscribe(node_changed)
        self._maps.subscribe(map_changed)
        enqueue(CONFIG_MAP)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Take up the requests of one node, or of the ConfigMap."""
        if key == CONFIG_MAP:
            await self._take_up_map(self._maps.get(CONFIG_MAP))
        else:
            await self._take_up_node(key)
        return DONE

    async def _take_up_map(self, found: RawObject | None) -> None:
        data: Mapping[str, str] = (found or {}).get("data") or {}
        shortages, wrong_shortages = read_shortages(data.get("shortages", ""))
        stocks, wrong_stocks = read_stocks(data.get("stock", ""))
        faults, wrong_faults = read_faults(data.get("faults", ""))
        reservations, wrong_reservations = read_reservations(data.get("reservations", ""))
        self._market.declare(shortages, stocks)
        self._market.reserve(reservations)
        if found is None:
            return
        for problem in (*wrong_shortages, *wrong_stocks, *wrong_reservations, *wrong_faults):
            self._events.record(ref_to(api.CONFIG_MAPS, found), "Warning", "NotUnderstood", problem)
        if "faults" in data:
            # Out of the map first: a crash in between loses a fault, which is better than having it twice.
            version = found["metadata"]["resourceVersion"]
            taken = {"metadata": {"resourceVersion": version}, "data": {"faults": None}}
            patched = await self._kube.patch(api.CONFIG_MAPS, CONFIG_MAP.name, taken, namespace=CONFIG_MAP.namespace)
            self._maps.fold(patched)
            for fault in faults:
                self._market.inject(fault)

    async def _take_up_node(self, key: ObjectKey) -> None:
        node = self._nodes.get(key)
        request = node.metadata.annotations.get(ANNOTATION) if node is not None else None
        if node is None or request is None:
            return
        about = ref_to(api.NODES, node)
        try:
            self._act(request, node.spec.provider_id)
            self._events.record(
                about, "Normal", "Requested", f"the simulated cloud was asked to {request} this instance"
            )
        except (KeyError, ValueError) as error:
            self._events.record(about, "Warning", "NotUnderstood", str(error.args[0]))
        patched = await self._kube.patch(api.NODES, key.name, {"metadata": {"annotations": {ANNOTATION: None}}})
        self._nodes.fold(patched)

    def _act(self, request: str, provider_id: str) -> None:
        match request:
            case "interrupt":
                self._market.interrupt(provider_id)
            case "rebalance":
                self._market.announce(provider_id, InterruptionKind.REBALANCE_RECOMMENDATION)
            case "maintenance":
                self._market.announce(provider_id, InterruptionKind.SCHEDULED_CHANGE)
            case "terminate":
                self._market.kill(provider_id)
            case _:
                raise ValueError(f"{ANNOTATION}={request}: write one of {', '.join(REQUESTS)}")
