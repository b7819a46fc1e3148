"""A restart at any moment converges: nothing is leaked, nothing is launched twice, every pod runs."""

import pytest

from karpenter.runtime.clock import LoopClock
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, a_world

MOMENTS_S = [0.3, 1.0, 1.01, 1.05, 1.1, 1.15, 1.2, 1.5, 3.0, 6.0]
"""Around the end of the batch window, where claims are written and machines launched, and while nodes boot."""


@pytest.mark.parametrize("moment_s", MOMENTS_S)
async def test_a_crash_during_a_scale_up_launches_nothing_twice_and_leaks_nothing(
    clock: LoopClock, moment_s: float
) -> None:
    async with a_world(clock) as world:
        await world.apply(NODE_TEMPLATE, PROVISIONER)
        await clock.sleep(3)
        await world.deploy("web", 40)
        await clock.sleep(moment_s)
        await world.crash_operator()
        await world.all_running(40)
        claims = {claim["status"]["providerID"] for claim in await world.claims()}
        nodes = {node.spec.provider_id for node in await world.nodes()}
        assert claims == nodes == {instance.provider_id for instance in world.instances()}
        # What the same scale-up needs without a crash: 15 + 15 + 7 + 3 pods.
        assert len(nodes) == 4
        await world.scale("web", 0)
        await world.nothing_left()


@pytest.mark.parametrize("moment_s", [0.1, 1.0, 2.0, 5.0, 5.5, 6.0, 8.0])
async def test_a_crash_during_a_drain_ends_the_drain_all_the_same(clock: LoopClock, moment_s: float) -> None:
    async with a_world(clock) as world:
        await world.apply(NODE_TEMPLATE, PROVISIONER)
        await world.deploy("web", 10)
        await world.all_running(10)
        await world.scale("web", 0)
        await clock.sleep(30 + moment_s)
        await world.crash_operator()
        await world.nothing_left()
