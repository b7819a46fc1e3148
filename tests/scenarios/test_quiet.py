"""A cluster in which nothing happens costs nearly nothing to watch, and is looked at as soon as something does."""

from karpenter.runtime.clock import LoopClock
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, World, a_world


def looks(world: World, controller: str) -> float:
    """Return how often a controller has looked."""
    value = world.metrics.registry.get_sample_value(
        "workqueue_adds_total", {"name": controller, "controller": controller}
    )
    assert value is not None, f"no controller {controller}"
    return value


async def test_while_nothing_happens_nobody_decides_or_counts_again(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(PROVISIONER, NODE_TEMPLATE)
        await world.deploy("web", 5)
        await world.all_running(5)
        await clock.sleep(3600)
        before = {name: looks(world, name) for name in ("disruption", "nodepool.counter")}
        await clock.sleep(3 * 3600)
        assert looks(world, "disruption") - before["disruption"] <= 3 * (1 + 60 / 5)  # hourly, and as prices move
        assert looks(world, "nodepool.counter") - before["nodepool.counter"] <= 3 * 60 / 5


async def test_a_change_after_hours_of_quiet_is_looked_at_within_the_interval(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await world.apply(PROVISIONER, NODE_TEMPLATE)
        await world.deploy("web", 5)
        await world.all_running(5)
        await clock.sleep(3 * 3600 + 7)
        before = looks(world, "disruption")
        await world.scale("web", 6)
        await clock.sleep(11)
        assert looks(world, "disruption") > before
