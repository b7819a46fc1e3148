"""A workload of one replica moves without a gap where its owner allows it: case SINGLE-REPLICA, issue 6 point 6."""

from typing import Any

import pytest

from karpenter.model.meta import find_condition
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from tests.scenarios.toys import CATALOG, a_toy_provisioner
from tests.scenarios.watching import Sight, watched
from tests.scenarios.world import DEPLOYMENTS, World, a_world

SURGE = {"karpenter.sh/surge": "true"}


def ready_pods(sight: Sight) -> int:
    ready = (find_condition(pod.status.conditions, "Ready") for pod in sight.pods.values())
    return sum(condition is not None and condition.is_true for condition in ready)


class Gap:
    """Whether the workload was ever without a ready pod once it had one."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self.seen = False
        sight.checks.append(self._look)

    def _look(self) -> None:
        self.seen = self.seen or ready_pods(self._sight) == 0


async def deployed(world: World, annotations: dict[str, str], strategy: Any = None) -> str:
    """Run one pod of one Deployment, and return the name of its node."""
    await world.apply(a_toy_provisioner())
    await world.deploy("db", 1, cpu="3", annotations=annotations)
    if strategy is not None:
        await world.kube.patch(DEPLOYMENTS, "db", {"spec": {"strategy": strategy}}, namespace="default")
    await world.all_running(1)
    (node,) = await world.nodes()
    return node.metadata.name


async def moved_off(world: World, name: str, sight: Sight) -> None:
    async def is_gone() -> bool:
        return name not in sight.nodes and ready_pods(sight) == 1

    await world.until(is_gone, within_s=900, step_s=1)


async def test_the_new_pod_is_ready_before_the_old_one_ends(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        name = await deployed(world, SURGE)
        async with watched(world) as sight:
            gap = Gap(sight)
            await world.kube.delete(api.NODES, name)
            await moved_off(world, name, sight)
            assert not gap.seen
        deployment = await world.kube.get(DEPLOYMENTS, "db", namespace="default")
        assert deployment["status"]["observedGeneration"] == 2, "rolled over once, however often it was asked"


@pytest.mark.parametrize(
    "annotations,strategy",
    [({}, None), (SURGE, {"type": "Recreate", "rollingUpdate": None})],
    ids=["not allowed", "Recreate"],
)
async def test_otherwise_the_pod_is_evicted(
    clock: LoopClock, annotations: dict[str, str], strategy: dict[str, Any] | None
) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        name = await deployed(world, annotations, strategy)
        async with watched(world) as sight:
            gap = Gap(sight)
            await world.kube.delete(api.NODES, name)
            await moved_off(world, name, sight)
            assert gap.seen


async def test_a_rollover_that_makes_no_progress_is_given_up_and_the_node_goes(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        name = await deployed(world, SURGE)
        # Nothing can be launched any more, so the new pod never starts.
        world.market.exhaust()
        await world.kube.delete(api.NODES, name)

        async def is_gone() -> bool:
            return not await world.nodes()

        assert await world.until(is_gone, within_s=1200, step_s=5) > 590


async def test_a_restart_in_the_middle_rolls_nothing_over_again(clock: LoopClock) -> None:
    async with a_world(clock, catalog=CATALOG) as world:
        name = await deployed(world, SURGE)
        async with watched(world) as sight:
            gap = Gap(sight)
            await world.kube.delete(api.NODES, name)
            await clock.sleep(3)
            await world.crash_operator()
            await moved_off(world, name, sight)
            assert not gap.seen
        deployment = await world.kube.get(DEPLOYMENTS, "db", namespace="default")
        assert deployment["status"]["observedGeneration"] == 2
