"""Instances of the market as machines of the cluster, from launch to the end of their nodes."""

import asyncio

from karpenter.model.resources import format_resources
from karpenter.model.taints import Taint
from karpenter.runtime.clock import LoopClock
from karpenter.sim.cloud import SimulatedCloud
from karpenter.sim.cluster import SimulatedCluster
from karpenter.sim.kubelet.frommarket import MarketMachines, machine_of
from tests.sim.cloud.clouds import a_cloud, a_small_claim
from tests.sim.clusters import Cluster, pod


def simulated(cluster: Cluster, cloud: SimulatedCloud) -> SimulatedCluster:
    made = SimulatedCluster(cluster.kube, cluster.clock, MarketMachines(cloud.market, cluster.clock))
    cluster.informers = made.informers
    return made


async def test_a_launched_instance_becomes_a_ready_node_as_the_market_says(clock: LoopClock) -> None:
    cluster, cloud = Cluster(clock), a_cloud(clock)
    async with cluster.running_only(simulated(cluster, cloud)):
        launched = await cloud.create(a_small_claim())
        (instance,) = cloud.market.instances()
        await asyncio.sleep(instance.booted_at - clock.now() + 0.1)
        (node,) = (await cluster.nodes()).values()
        assert (node.metadata.name, node.spec.provider_id) == (instance.node_name, launched.provider_id)
        assert Taint("karpenter.sh/unregistered", effect="NoExecute") in node.spec.taints
        assert node.metadata.labels["node.kubernetes.io/instance-type"] == launched.instance_type
        await asyncio.sleep(instance.ready_at - clock.now() + 1.0)
        (node,) = (await cluster.nodes()).values()
        assert [str(taint) for taint in node.spec.taints] == ["karpenter.sh/unregistered:NoExecute"]
        assert node.status.allocatable == machine_allocatable(cloud)


def machine_allocatable(cloud: SimulatedCloud) -> dict[str, str]:
    return format_resources(machine_of(cloud.market.instances()[0]).allocatable)


async def test_an_ended_instance_takes_its_node_along(clock: LoopClock) -> None:
    cluster, cloud = Cluster(clock), a_cloud(clock)
    tolerant = [{"operator": "Exists"}]
    async with cluster.running_only(simulated(cluster, cloud)):
        launched = await cloud.create(a_small_claim())
        await cluster.apply(pod("web", tolerations=tolerant))
        await asyncio.sleep(20.0)
        assert (await cluster.pods())["web"].status.phase == "Running"
        await cloud.delete(launched.provider_id)
        await asyncio.sleep(1.0)
        assert (await cluster.pods())["web"].status.phase == "Failed"
        await asyncio.sleep(20.0)
        assert await cluster.nodes() == {}
        await asyncio.sleep(60.0)
        assert await cluster.pods() == {}


async def test_a_restarted_process_finds_the_instances_that_run(clock: LoopClock) -> None:
    cluster, cloud = Cluster(clock), a_cloud(clock)
    async with cluster.running_only(simulated(cluster, cloud)):
        await cloud.create(a_small_claim())
        await asyncio.sleep(20.0)
    again = cluster.restarted()
    async with again.running_only(simulated(again, cloud)):
        await asyncio.sleep(120.0)
        assert len(await again.nodes()) == 1


async def test_nodes_of_other_clouds_are_not_judged(clock: LoopClock) -> None:
    machines = MarketMachines(a_cloud(clock).market, clock)
    assert machines.exists("gce://project/zone/name") is None
    assert machines.exists("") is None
    assert machines.exists("aws:///a/i-00000000000000000") is False
