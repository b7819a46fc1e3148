"""A process that has only just started knows half of the cluster: it must not act on that."""

from karpenter.model.meta import find_condition
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import KubeError, Unavailable
from tests.scenarios.test_rolling import a_budget, a_fleet
from tests.scenarios.toys import CATALOG, a_toy_provisioner
from tests.scenarios.trouble import Trouble, TroubledClient
from tests.scenarios.world import a_world


class NoPods(Trouble):
    """Pods cannot be listed while it lasts."""

    def __init__(self) -> None:
        self.lasts = False

    def before(self, verb: str, resource: str) -> KubeError | None:
        return Unavailable("not now") if self.lasts and (verb, resource) == ("list", "pods") else None


async def test_a_node_in_its_drain_is_not_ended_before_its_pods_have_been_listed(clock: LoopClock) -> None:
    trouble = NoPods()
    async with a_world(clock, catalog=CATALOG, through=lambda kube: TroubledClient(kube, clock, trouble)) as world:
        (name,) = await a_fleet(world, 1, a_toy_provisioner())
        await world.kube.create(api.PDBS, a_budget("web", min_available=1), namespace="default")
        await clock.sleep(5)
        await world.kube.delete(api.NODES, name)
        await clock.sleep(20)
        trouble.lasts = True
        await world.crash_operator()
        await clock.sleep(120)
        trouble.lasts = False
        (pod,) = await world.pods()
        ready = find_condition(pod.status.conditions, "Ready")
        assert pod.spec.node_name == name
        assert ready is not None
        assert ready.is_true
        assert name in {instance.node_name for instance in world.instances()}
