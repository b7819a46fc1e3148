"""One cluster: the solver plans, kwok plays the machines, the real scheduler binds; what came of it, in numbers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Literal

from karpenter.model.core import Pod
from karpenter.model.meta import find_condition
from karpenter.model.pods import is_daemon
from karpenter.model.units import UnixSeconds
from karpenter.provisioning.hints import HintBook
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import PODS, Invalid, KubeClient, NotFound
from karpenter.scheduling import Demand, Solution, solve
from karpenter.sim.scheduler.diagnosis import Unschedulable
from tests.e2e.differential.cluster import RealCluster
from tests.e2e.pods import create_all, judged, many_at_a_time, pod_manifest, until
from tests.scheduling.mixtures import Mixture, a_mixture
from tests.sim.scheduler.worlds import World, WrittenSurroundings

Arrival = Literal["held", "staggered"]
"""Whether pods wait until all planned nodes are there, or nodes come one by one to pods that wait already."""
GATE = "example.com/held"
MOST_WAVES = 4
PATIENCE_S = 60.0


@dataclass
class Outcome:
    """What came of one cluster, or (added up) of many."""

    clusters: int = 0
    pods: int = 0
    planned: int = 0
    """Pods that the first plan places, on nodes that are there or that it launches."""
    nodes: int = 0
    """Launched by the first plan."""
    as_planned: int = 0
    """Pods that were bound to just the node that the first plan says."""
    second_wave_clusters: int = 0
    second_wave_pods: int = 0
    """Placed by the first plan, but not bound before more nodes were launched."""
    more_nodes: int = 0
    """Launched for them."""
    empty_nodes: int = 0
    """Launched by the first plan, and none of the new pods went there."""
    surplus: int = 0
    """Pods that the first plan refuses and the scheduler binds all the same, because others went elsewhere."""
    stranded: list[str] = field(default_factory=list)
    """Planned pods whose place another pod took and for which no machine may be launched: a limit, or no pool."""
    unbound: list[str] = field(default_factory=list)
    """Planned pods that no wave got bound, though each planned them."""
    disputed: list[str] = field(default_factory=list)
    """What the embedded scheduler says otherwise than the real one."""
    empty: list[str] = field(default_factory=list)
    """The empty nodes, by cluster."""

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def __str__(self) -> str:
        share = 100 * self.as_planned / (self.planned or 1)
        return (
            f"{self.clusters} clusters, {self.pods} pods, {self.planned} planned ({self.nodes} nodes): "
            f"{share:.0f} % bound where planned; second wave: {self.second_wave_pods} pods in "
            f"{self.second_wave_clusters} clusters, {self.more_nodes} nodes; {self.empty_nodes} nodes empty; "
            f"{self.surplus} bound though refused; {len(self.stranded)} stranded; {len(self.unbound)} planned in vain; "
            f"{len(self.disputed)} disputed"
        )


async def trial(kube: KubeClient, seed: int, *, name: str, arrival: Arrival, hints: bool) -> Outcome:
    """Bring up the cluster of a seed under a name of its own, let the plan happen, and clean up."""
    mixture = a_mixture(seed, name)
    cluster = RealCluster(kube, mixture, name)
    try:
        await cluster.begin()
        one = _Trial(cluster, mixture, arrival, hints=hints)
        try:
            return await one.run()
        finally:
            one.stop_hinting()
    finally:
        await cluster.end()


class _Trial:
    def __init__(self, cluster: RealCluster, mixture: Mixture, arrival: Arrival, *, hints: bool) -> None:
        self._cluster = cluster
        self._mixture = mixture
        self._arrival = arrival
        self._hints = hints
        self._hinting: asyncio.Task[None] | None = None
        self._names = [pod.metadata.name for pod in mixture.pods]

    async def run(self) -> Outcome:
        await self._let_pods_come()
        wanted = self._mixture.pods if self._arrival == "held" else await self._cluster.pending(self._names)
        solution = solve(await self._cluster.snapshot(), Demand.each(wanted))
        launched = await self._launch(solution)
        planned = _places(solution, launched)
        if self._arrival == "held":
            if self._hints:
                await until(lambda: self._are_told(planned), f"hints to the pods of {self._cluster.group}")
            await self._let_go()
        bound = await self._bound()
        disputed = await self._disputes()
        late = [name for name in planned if not bound[name]]
        more_nodes, stranded, unbound = await self._more_waves(late) if late else (0, [], [])
        refused = {entry.pod.metadata.name for entry in solution.unschedulable}
        empty = set(launched.values()) - set(bound.values())
        return Outcome(
            clusters=1,
            pods=len(wanted),
            planned=len(planned),
            nodes=len(launched),
            as_planned=sum(bound[name] == node for name, node in planned.items()),
            second_wave_clusters=int(bool(late)),
            second_wave_pods=len(late),
            more_nodes=more_nodes,
            empty_nodes=len(empty),
            surplus=sum(bool(bound[name]) for name in refused),
            stranded=stranded,
            unbound=unbound,
            disputed=disputed,
            empty=sorted(empty),
        )

    async def _let_pods_come(self) -> None:
        manifests = [pod_manifest(pod, self._cluster.group) for pod in self._mixture.pods]
        if self._arrival == "held":
            manifests = [{**one, "spec": {**one["spec"], "schedulingGates": [{"name": GATE}]}} for one in manifests]
        await create_all(self._cluster.kube, manifests)
        if self._arrival == "staggered":
            await judged(self._cluster.kube, self._cluster.group)

    async def _let_go(self) -> None:
        kube, namespace = self._cluster.kube, self._cluster.group
        ungated = {"spec": {"schedulingGates": None}}
        await many_at_a_time(kube.patch(PODS, name, ungated, namespace=namespace) for name in self._names)

    async def _launch(self, solution: Solution) -> Mapping[str, str]:
        names = self._cluster.names_for(solution.new_claims)
        if self._hints:
            self.stop_hinting()
            self._hinting = asyncio.create_task(self._keep_hinting(_places(solution, names)))
        await self._cluster.launch(solution.new_claims, names)
        return names

    async def _keep_hinting(self, places: Mapping[str, str]) -> None:
        """Hint as the operator does: once a node is there, and again where the scheduler took it back."""
        book, clock = HintBook(), LoopClock(UnixSeconds(0.0))
        kube, namespace = self._cluster.kube, self._cluster.group
        while True:
            there = await self._cluster.nodes()
            for pod in await self._cluster.pods():
                node = places.get(pod.metadata.name)
                if node in there and book.due_in(pod, node, clock.now()) == 0.0:
                    book.told(pod, node)
                    hint = {"status": {"nominatedNodeName": node}}
                    with suppress(Invalid, NotFound):  # it has been bound meanwhile
                        await kube.patch(PODS, pod.metadata.name, hint, namespace=namespace, subresource="status")
            await asyncio.sleep(0.1)

    async def _are_told(self, planned: Mapping[str, str]) -> bool:
        told = {pod.metadata.name: pod.status.nominated_node_name for pod in await self._cluster.pods()}
        return all(told[name] == node for name, node in planned.items())

    def stop_hinting(self) -> None:
        if self._hinting is not None:
            self._hinting.cancel()

    async def _more_waves(self, late: Iterable[str]) -> tuple[int, list[str], list[str]]:
        """Plan again and again for planned pods that found no room.

        Return how many nodes that took, who is refused now, and who stays without a node in spite of it.
        """
        count, refused = 0, dict[str, str]()
        for _ in range(MOST_WAVES - 1):
            pending = await self._cluster.pending(late)
            if not pending:
                break
            solution = solve(await self._cluster.snapshot(), Demand.each(pending))
            refused = {one.pod.metadata.name: one.reasons[0].message for one in solution.unschedulable}
            count += len(await self._launch(solution))
            await self._bound()
        left = await self._cluster.pending(late)
        stranded = [f"{one.metadata.key}: {why}" for one in left if (why := refused.get(one.metadata.name))]
        return count, stranded, [_in_vain(one) for one in left if one.metadata.name not in refused]

    async def _bound(self) -> dict[str, str]:
        """Return the node of each of the new pods once the scheduler has judged them all; empty for none.

        On a busy machine it may not have looked again since nodes came. While the embedded scheduler would place a pod
        that has no node, the real one gets more time.
        """
        verdicts = await judged(self._cluster.kube, self._cluster.group, quiet_s=4)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and await self._disputes():
            verdicts = await judged(self._cluster.kube, self._cluster.group, quiet_s=4)
        return {key.name: node for key, node in verdicts.items() if key.name in set(self._names)}

    async def _disputes(self) -> list[str]:
        """Return the pods that the real scheduler places nowhere and the embedded one somewhere."""
        snapshot, pods = await self._cluster.snapshot(), await self._cluster.pods()
        found = WrittenSurroundings(claims=snapshot.volumes.claims.values(), volumes=snapshot.volumes.volumes.values())
        bound = [pod for pod in pods if pod.spec.node_name]
        world = World(*(await self._cluster.nodes()).values(), bound=bound, surroundings=found)
        asked = [pod for pod in pods if not pod.spec.node_name and not is_daemon(pod)]
        answers = [(pod.metadata.key, world.place(pod)) for pod in asked]
        return [f"{key} → {one.node}" for key, one in answers if not isinstance(one, Unschedulable)]


def _places(solution: Solution, launched: Mapping[str, str]) -> dict[str, str]:
    """Return the node of every placed pod, those to launch by the name that they got."""
    return {key.name: launched.get(node, node) for key, node in solution.placements.items()}


def _in_vain(pod: Pod) -> str:
    condition = find_condition(pod.status.conditions, "PodScheduled")
    return f"{pod.metadata.key}: {condition.message if condition else 'not judged'}"
