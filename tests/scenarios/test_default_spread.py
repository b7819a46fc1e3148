"""Default spread constraints of the cluster count in what is launched (S-38)."""

from karpenter.app.settings import read_settings
from karpenter.model import labels
from karpenter.runtime.clock import LoopClock
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, a_world

CONSTRAINT = f"{{maxSkew: 1, topologyKey: {labels.ZONE}, whenUnsatisfiable: DoNotSchedule}}"
FLAG = f"policy.defaultSpread={{podTopologySpread: {{defaultConstraints: [{CONSTRAINT}]}}}}"


async def zones_launched_for(clock: LoopClock, *flags: str) -> list[str]:
    async with a_world(clock, settings=read_settings(flags, {})) as world:
        await world.apply(NODE_TEMPLATE, PROVISIONER)
        await world.deploy("web", 4, cpu="500m", memory="512Mi")
        await world.all_running(4)
        return sorted(instance.offering.zone for instance in world.instances())


async def test_s38_a_deployment_that_states_no_spread_is_given_the_clusters(clock: LoopClock) -> None:
    assert len(await zones_launched_for(clock)) == 1
    assert await zones_launched_for(clock, FLAG) == ["us-west-2a", "us-west-2b"]
