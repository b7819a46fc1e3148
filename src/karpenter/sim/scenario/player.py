"""Plays a scenario: does at each moment what the file says, on whatever clock it is given."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from karpenter.model import labels
from karpenter.model.units import UnixSeconds
from karpenter.runtime import kube as api
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import AlreadyExists, KubeClient, NotFound, RawObject, Resource
from karpenter.sim.market.instances import InstanceState, MarketInstance
from karpenter.sim.market.market import Market
from karpenter.sim.scenario.file import Event, Scale, ScenarioFile, ShortageFile, WorkloadFile, deed_of, seconds_of
from karpenter.sim.scenario.objects import DEPLOYMENTS, budget_of, deployment_of
from karpenter.sim.scenario.replicas import wanted_replicas

log = logs.get("sim.scenario")

_KINDS: Final[Mapping[str, Resource[Any]]] = {
    one.kind: one
    for one in (
        api.PROVISIONERS,
        api.NODE_POOLS,
        api.AWS_NODE_TEMPLATES,
        api.EC2_NODE_CLASSES,
        api.PDBS,
        api.NAMESPACES,
        api.DAEMON_SETS,
        api.CONFIG_MAPS,
        DEPLOYMENTS,
    )
}


class UnknownKind(ValueError):
    """A scenario applies an object of a kind that it cannot."""


class Player:
    """Everybody outside the operator: users, autoscalers, the cloud's moods."""

    def __init__(self, scenario: ScenarioFile, client: KubeClient, market: Market, *, clock: Clock, seed: int) -> None:
        self._scenario = scenario
        self._client = client
        self._market = market
        self._clock = clock
        self._seed = seed

    async def prepare(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        """Create manifests and workloads. Raises UnknownKind, and KubeError for what the API refuses."""
        for manifest in manifests:
            await self._apply(manifest)
        for workload in self._scenario.workloads:
            await self._apply(deployment_of(workload))
            budget = budget_of(workload)
            if budget is not None:
                await self._apply(budget)

    async def run(self) -> None:
        """Do everything the file says, each at its time; returns when nothing more can happen."""
        start = self._clock.now()
        async with asyncio.TaskGroup() as group:
            for at, event in enumerate(self._scenario.events):
                group.create_task(self._happen(event, start, self._dice(f"event {at}")), name=f"event {at}")
            for workload in self._scenario.workloads:
                if workload.autoscaling is not None:
                    group.create_task(self._autoscale(workload, start), name=f"autoscaling of {workload.name}")

    def _dice(self, name: str) -> random.Random:
        return random.Random(f"{self._seed}/{name}")

    async def _until(self, moment: float) -> None:
        await self._clock.sleep(max(0.0, moment - self._clock.now()))

    async def _autoscale(self, workload: WorkloadFile, start: UnixSeconds) -> None:
        assert workload.autoscaling is not None
        replicas = workload.replicas
        dice = self._dice(f"autoscaling {workload.namespace}/{workload.name}")
        for after_s, wanted in wanted_replicas(workload.autoscaling, workload.replicas, start=start, dice=dice):
            await self._until(start + after_s)
            if wanted != replicas:
                replicas = wanted
                await self._scale(Scale(workload.name, wanted, workload.namespace))

    async def _happen(self, event: Event, start: UnixSeconds, dice: random.Random) -> None:
        every_s = seconds_of(event.every) if event.every is not None else None
        first_s = seconds_of(event.at) if event.at is not None else every_s or 0.0
        number = 0
        while True:
            await self._until(start + first_s + number * (every_s or 0.0))
            log.info("scenario", what=deed_of(event), number=number)
            await self._do(event, dice)
            if every_s is None:
                return
            number += 1

    async def _do(self, event: Event, dice: random.Random) -> None:
        if event.scale is not None:
            await self._scale(event.scale)
        for manifest in event.apply or ():
            await self._apply(manifest)
        if event.shortage is not None:
            self._run_short(event.shortage)
        if event.release_images:
            self._market.release_images()
        for instance in self._drawn(event.spot_notices or 0, dice, capacity_type=labels.SPOT):
            self._market.interrupt(instance.provider_id)
        for instance in self._drawn(event.kill_machines or 0, dice):
            self._market.kill(instance.provider_id)
        for instance in self._drawn(event.delete_nodes or 0, dice):
            with contextlib.suppress(NotFound):
                await self._client.delete(api.NODES, instance.node_name)

    def _drawn(self, count: int, dice: random.Random, *, capacity_type: str | None = None) -> list[MarketInstance]:
        """Draw so many of the machines that run."""
        now = self._clock.now()
        running = [
            one
            for one in self._market.instances()
            if one.state(now) is InstanceState.RUNNING and capacity_type in {None, one.offering.capacity_type}
        ]
        return dice.sample(running, min(count, len(running)))

    def _run_short(self, shortage: ShortageFile) -> None:
        self._market.exhaust(
            instance_type=shortage.instance_type,
            zone=shortage.zone,
            capacity_type=shortage.capacity_type,
            until=UnixSeconds(self._clock.now() + seconds_of(shortage.lasts)),
        )

    async def _scale(self, scale: Scale) -> None:
        patch = {"spec": {"replicas": scale.replicas}}
        await self._client.patch(DEPLOYMENTS, scale.deployment, patch, namespace=scale.namespace)

    async def _apply(self, manifest: Mapping[str, Any]) -> None:
        kind = str(manifest.get("kind"))
        resource = _KINDS.get(kind)
        if resource is None:
            raise UnknownKind(f"kind {kind!r} cannot be applied by a scenario; it knows {', '.join(sorted(_KINDS))}")
        metadata: RawObject = manifest["metadata"]
        namespace = metadata.get("namespace", "default") if resource.namespaced else ""
        try:
            await self._client.create(resource, manifest, namespace=namespace)
        except AlreadyExists:
            await self._client.patch(resource, metadata["name"], manifest, namespace=namespace)
