"""A fleet that shrinks when its workloads do: issue 6, acceptance; cases BUDGET and PDB-BLOCK in passing."""

from typing import Any

from karpenter.app.settings import Settings
from karpenter.model import labels
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.scheduling.policy import Policy
from tests.scenarios.test_rolling import a_budget
from tests.scenarios.toys import CATALOG, a_toy_provisioner
from tests.scenarios.watching import Sight, watched
from tests.scenarios.world import DEPLOYMENTS, World, a_world
from tests.scheduling.toys import SIZES

FREE_MOVES = Settings(policy=Policy(rails=False, move_price=0.0, node_fee=0.0))
CPU = 1.25
"""Cores of each pod: a c.4 holds three of them."""


async def fleet_price(world: World) -> float:
    """Return what the nodes cost, in USD per hour, all on demand."""
    return sum(SIZES[node.metadata.labels[labels.INSTANCE_TYPE]][2] for node in await world.nodes())


async def a_fleet(world: World, *, replicas: int) -> None:
    await world.apply(a_toy_provisioner(types=("c.4",), consolidation={"enabled": True}))
    for name in ("web", "api"):
        await world.deploy(name, replicas, cpu=f"{CPU * 1000:.0f}m", memory="1Gi")
    await world.all_running(2 * replicas)


async def halve(world: World, replicas: int, *, least: int) -> None:
    for name in ("web", "api"):
        await world.scale(name, replicas)
        await world.kube.create(api.PDBS, a_budget(name, min_available=least), namespace="default")
    await world.all_running(2 * replicas)


def keeps_budgets(sight: Sight, *, least: int, most_drained: int) -> None:
    """Ask after every change that no workload has fewer ready pods than its budget demands, nor too many nodes drain.

    Empty nodes do not count: a Provisioner lets any number of these go.
    """

    def check() -> None:
        ready = {"web": 0, "api": 0}
        for pod in sight.pods.values():
            is_ready = any(one.type == "Ready" and one.is_true for one in pod.status.conditions)
            ready[pod.metadata.labels["app"]] += is_ready and not pod.metadata.is_deleting
        assert min(ready.values()) >= least, ready
        drained = {pod.spec.node_name for pod in sight.pods.values()}.intersection(sight.leaving())
        assert len(drained) <= most_drained, drained

    sight.checks.append(check)


async def test_twenty_nodes_whose_workloads_are_halved_shrink_step_by_step_to_near_the_bound(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG, settings=FREE_MOVES) as world:
        await a_fleet(world, replicas=30)
        assert len(await world.nodes()) == 20
        await halve(world, 15, least=12)
        async with watched(world) as sight:
            keeps_budgets(sight, least=12, most_drained=2)
            bound = 2 * 15 * CPU / 4 * SIZES["c.4"][2]

            async def is_near_the_bound() -> bool:
                running = [pod for pod in sight.pods.values() if pod.status.phase == "Running"]
                return len(running) == len(sight.pods) == 30 and await fleet_price(world) <= 1.1 * bound

            await world.until(is_near_the_bound, within_s=3600, step_s=5)
            names = set(sight.nodes)
            await clock.sleep(900)
            assert set(sight.nodes) == names
        assert len(await world.claims()) == len(world.instances()) == len(names)


async def test_a_large_machine_is_swapped_for_a_small_one_which_is_there_first(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG, settings=FREE_MOVES) as world:
        await world.apply(a_toy_provisioner(types=("c.2", "c.16"), consolidation={"enabled": True}))
        await world.deploy("web", 1, cpu="10", memory="1Gi")
        await world.all_running(1)
        template: Any = {"spec": {"template": {"spec": {"containers": [_container("1")]}}}}
        await world.kube.patch(DEPLOYMENTS, "web", template, namespace="default")
        async with watched(world) as sight:

            async def is_small() -> bool:
                kinds = [node.metadata.labels[labels.INSTANCE_TYPE] for node in sight.nodes.values()]
                return kinds == ["c.2"] and await world.running() == 1

            await world.until(is_small, within_s=1800, step_s=5)
            assert sight.fewest_ready_nodes >= 1


def _container(cpu: str) -> dict[str, Any]:
    return {
        "name": "main",
        "image": "registry.example.com/app:1",
        "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}},
    }
