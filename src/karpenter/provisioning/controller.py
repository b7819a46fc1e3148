"""From pending pods to claims: controller `provisioner`.

A batch closes; once the picture is complete one snapshot is solved beside the event loop; claims are written, and the
places that pods were planned on are nominated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from karpenter.model.core import Pod
from karpenter.model.pods import is_provisionable
from karpenter.model.units import ObjectKey, UnixSeconds
from karpenter.provisioning.batcher import Batcher
from karpenter.provisioning.pending import admit
from karpenter.provisioning.refusals import Refusals
from karpenter.provisioning.writing import ClaimWriter
from karpenter.provisioning.zones import effective_zones
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result, Singleton
from karpenter.runtime.cpu import run_cpu
from karpenter.runtime.events import EventRecorder
from karpenter.runtime.instruments import refresh
from karpenter.runtime.kube import WatchEvent
from karpenter.runtime.metrics import Metrics
from karpenter.scheduling import Demand, Options, Snapshot, Solution, solve
from karpenter.state.cluster import ClusterState
from karpenter.state.refs import pod_ref

log = logs.get("provisioner")

UNSYNCED_S: Final = 1.0
RETRIGGER_S: Final = 10.0
"""A pod that is still pending asks again after this long (POD-3)."""
SHOWN_PODS: Final = 5


@dataclass(frozen=True, slots=True)
class ProvisioningSettings:
    """How plans are made."""

    options: Options
    nomination_s: float = 20.0
    """How long a place is kept for the pods planned on it (S-62)."""
    solve_limit_s: float = 60.0
    """A plan that takes longer is launched as far as it got (S-9)."""


class Provisioner:
    """Plans machines for pending pods, batch by batch."""

    name = "provisioner"

    def __init__(
        self,
        state: ClusterState,
        writer: ClaimWriter,
        *,
        refresh_offers: Callable[[], Awaitable[None]],
        is_synced: Callable[[], bool],
        batcher: Batcher,
        recorder: EventRecorder,
        clock: Clock,
        metrics: Metrics,
        settings: ProvisioningSettings,
        decided: Callable[[Iterable[Pod], Iterable[Pod]], None],
    ) -> None:
        """`decided` is told after each plan which pods have a place in it, and which have none."""
        self._state = state
        self._writer = writer
        self._refresh_offers = refresh_offers
        self._is_synced = is_synced
        self._batcher = batcher
        self._recorder = recorder
        self._clock = clock
        self._metrics = metrics
        self._settings = settings
        self._refusals = Refusals(recorder, clock, settings.options)
        self._decided = decided
        self._solving_since: UnixSeconds | None = None
        metrics.before_render.append(self._publish_unfinished)
        self._planner = Singleton(self.name, self._plan, clock=clock, metrics=metrics)

    def on_pod(self, event: WatchEvent[Pod]) -> None:
        """Let a pending pod open a batch, or join the one that is open."""
        if event.object is not None and event.type != "DELETED" and is_provisionable(event.object):
            self._consider(event.object)

    def trigger(self, name: str) -> None:
        """Plan because a node is leaving: its pods look for another place (S-2)."""
        self._batcher.trigger(name)

    def plan_now(self) -> None:
        """Plan without waiting for a batch to close: a machine is about to be taken away."""
        self._planner.trigger()

    async def run(self) -> None:
        """Plan until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._gather(), name="provisioner.batches")
            group.create_task(self._ask_again(), name="provisioner.trigger.pod")
            group.create_task(self._planner.run(), name=self.name)

    def _consider(self, pod: Pod) -> None:
        """Plan for a pod, unless it only has to wait for the place that it was planned on."""
        if not self._state.is_planned(pod, self._clock.now()):
            self._batcher.trigger(pod.metadata.uid)

    async def _gather(self) -> None:
        while True:
            await self._batcher.wait()
            self._planner.trigger()

    async def _ask_again(self) -> None:
        while True:
            await self._clock.sleep(RETRIGGER_S)
            for pod in self._state.provisionable_pods():
                self._consider(pod)

    async def _plan(self) -> Result:
        """Plan once, or later while the picture is incomplete or a machine asked for is not known yet (S-4)."""
        if not self._is_synced() or self._state.unlaunched_claims():
            return Result(UNSYNCED_S)
        return Result(UNSYNCED_S) if await self.provision() is None else DONE

    async def provision(self) -> Solution | None:
        """Plan for the pods pending now, write the claims, and return the plan; None when it was overtaken."""
        await self._refresh_offers()
        snapshot = self._state.snapshot(self._clock.now())
        pods, rejected = admit(snapshot.pending)
        self._metrics.scheduler_ignored_pods_count.set(len(rejected))
        for item in rejected:
            if item.message:
                self._refusals.fail(item.pod, item.message)
        if not pods:
            return Solution()
        log.info("found provisionable pod(s)", pods=_shown(pod.metadata.key for pod in pods))
        solution = await self._solve(snapshot, pods)
        if self._state.unlaunched_claims():
            # A replacement was asked for while we were thinking: some of these pods may go there.
            return None
        await self._act(snapshot, solution)
        await self._refusals.tell(snapshot, pods, solution)
        return solution

    async def _solve(self, snapshot: Snapshot, pods: tuple[Pod, ...]) -> Solution:
        started = self._clock.now()
        deadline = started + self._settings.solve_limit_s
        depth = self._metrics.scheduler_queue_depth.labels(controller=self.name, scheduling_id="")
        depth.set(len(pods))
        self._solving_since = started
        try:
            solution = await run_cpu(
                solve, snapshot, Demand.each(pods), self._settings.options, stop=lambda: self._clock.now() > deadline
            )
        finally:
            depth.set(0)
            self._solving_since = None
        took_s = self._clock.now() - started
        self._metrics.scheduler_scheduling_duration_seconds.labels(controller=self.name).observe(took_s)
        return solution

    async def _act(self, snapshot: Snapshot, solution: Solution) -> None:
        """Write the claims, nominate every place used, and tell the pods."""
        written = await self._writer.write(snapshot, solution.new_claims)
        self._keep_room(snapshot, solution.placements, written.names)
        placed = (pod for pod in snapshot.pending if pod.metadata.key in solution.placements)
        self._decided(placed, (refused.pod for refused in solution.unschedulable))
        self._announce(snapshot, solution.placements, written.names)
        starting = {view.name for view in snapshot.nodes if not view.is_initialized}
        unready = [place for place in solution.placements.values() if place in starting]
        if unready:
            log.info("computed unready node(s) will fit pod(s)", nodes=len(set(unready)), pods=len(unready))
        for plan in solution.new_claims:
            if plan.name in written.refusals:
                for pod in (pod for pod in plan.pods if not pod.spec.node_name):
                    self._refusals.fail(pod, written.refusals[plan.name])
        zones = {(self.name, zone): count for zone, count in effective_zones(snapshot, solution).items()}
        refresh(self._metrics.scheduler_pending_pods_by_effective_zone_count, zones)
        self._metrics.scheduler_unschedulable_pods_count.labels(controller=self.name).set(len(solution.unschedulable))

    def _publish_unfinished(self) -> None:
        since = self._solving_since
        gauge = self._metrics.scheduler_unfinished_work_seconds.labels(controller=self.name, scheduling_id="")
        gauge.set(0.0 if since is None else self._clock.now() - since)

    def _keep_room(
        self, snapshot: Snapshot, placements: Mapping[ObjectKey, str], names: Mapping[str, str | None]
    ) -> None:
        """Let the places that pods were planned on wait for them (S-62)."""
        now, keep_s = self._clock.now(), self._settings.nomination_s
        for pod in snapshot.pending:
            place = placements.get(pod.metadata.key)
            name = names.get(place, place) if place else None
            if name is not None:
                self._state.plan(pod, name, now=now, keep_s=keep_s)
                self._state.nominate(name, UnixSeconds(now + keep_s))

    def _announce(
        self, snapshot: Snapshot, placements: Mapping[ObjectKey, str], names: Mapping[str, str | None]
    ) -> None:
        nodes = {view.name for view in snapshot.nodes if view.node is not None}
        for pod in snapshot.pending:
            place = placements.get(pod.metadata.key)
            name = names.get(place, place) if place else None
            if name is not None and not pod.spec.node_name:
                kind = "node" if name in nodes else "nodeclaim"
                self._recorder.record(pod_ref(pod), "Normal", "Nominated", f"Pod should schedule on: {kind}/{name}")


def _shown(keys: Iterable[ObjectKey]) -> str:
    listed = [str(key) for key in keys]
    more = f" and {len(listed) - SHOWN_PODS} other(s)" if len(listed) > SHOWN_PODS else ""
    return ", ".join(listed[:SHOWN_PODS]) + more
