"""Claims without a machine and machines without a claim: spec v1 L-8; spec v1alpha5 LIF-26, LIF-27."""

from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, World, a_world


async def settled(world: World) -> None:
    await world.apply(PROVISIONER, NODE_TEMPLATE)
    await world.deploy("web", 3)
    await world.all_running(3)
    await world.clock.sleep(60)


async def test_lif26_a_claim_whose_machine_vanished_without_a_word_goes_and_its_pods_run_elsewhere(
    clock: LoopClock,
) -> None:
    async with a_world(clock) as world:
        await settled(world)
        (claim,) = await world.claims()
        world.market.terminate(claim["status"]["providerID"])

        async def replaced() -> bool:
            names = {each["metadata"]["name"] for each in await world.claims()}
            return claim["metadata"]["name"] not in names and await world.running() == 3

        await world.until(replaced, within_s=900)
        assert len(world.instances()) == 1


async def test_lif27_a_machine_that_no_claim_asked_for_is_ended_and_its_node_goes(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await settled(world)
        (leaked,) = world.instances()
        (claim,) = await world.claims()
        name = claim["metadata"]["name"]
        await world.crash_operator()
        await world.kube.patch(api.NODE_CLAIMS, name, {"metadata": {"finalizers": None}})
        await world.kube.delete(api.NODE_CLAIMS, name)
        await world.start_operator()

        async def gone() -> bool:
            names = {node.spec.provider_id for node in await world.nodes()}
            return leaked.provider_id not in {*names, *(each.provider_id for each in world.instances())}

        assert await world.until(gone, within_s=120) <= 120
        await world.all_running(3)
