"""Nodes of machines: how they appear, become ready, beat and end."""

import asyncio

from karpenter.model.core import Node
from karpenter.model.meta import Condition, find_condition
from karpenter.model.taints import Taint
from karpenter.runtime import kube as api
from karpenter.sim import kinds
from karpenter.sim.kubelet import Kubelets, NodeRhythm, Pace, Power
from tests.sim.clusters import Cluster
from tests.sim.machines import ScriptedMachines, machine


def kubelets(cluster: Cluster, source: ScriptedMachines, **more: object) -> Kubelets:
    return Kubelets(cluster.context, source, pace=Pace(), rhythm=NodeRhythm(), **more)


def readiness(node: Node) -> Condition:
    found = find_condition(node.status.conditions, "Ready")
    assert found is not None
    return found


async def test_a_machine_registers_its_node_before_it_is_ready() -> None:
    cluster, special = Cluster(), Taint("example.com/special", "yes", "NoSchedule")
    source = ScriptedMachines(machine("n1", ready_after_s=5.0, taints=(special,)))
    async with cluster.running(kubelets(cluster, source)):
        await asyncio.sleep(1.0)
        node = (await cluster.nodes())["n1"]
        assert node.spec.provider_id == "aws:///us-west-2a/i-n1"
        assert [str(taint) for taint in node.spec.taints] == [
            "example.com/special=yes:NoSchedule",
            "node.kubernetes.io/not-ready:NoSchedule",
            "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule",
        ]
        assert node.metadata.labels["topology.kubernetes.io/zone"] == "us-west-2a"
        assert readiness(node).status == "False"
        assert "cni plugin not initialized" in readiness(node).message


async def test_a_node_is_ready_when_its_machine_is() -> None:
    cluster = Cluster()
    async with cluster.running(kubelets(cluster, ScriptedMachines(machine("n1", ready_after_s=5.0)))):
        await asyncio.sleep(4.9)
        assert not readiness((await cluster.nodes())["n1"]).is_true
        await asyncio.sleep(0.2)
        ready = readiness((await cluster.nodes())["n1"])
        assert (ready.status, ready.reason) == ("True", "KubeletReady")
        assert await cluster.events("NodeReady") == [("n1", "Node n1 status is now: NodeReady")]


async def test_devices_are_not_there_before_their_plugin_is() -> None:
    cluster = Cluster()
    source = ScriptedMachines(machine("n1", ready_after_s=5.0, resources={"nvidia.com/gpu": "2"}))
    async with cluster.running(kubelets(cluster, source)):
        await asyncio.sleep(5.5)
        node = (await cluster.nodes())["n1"]
        assert readiness(node).is_true
        assert "nvidia.com/gpu" not in node.status.allocatable
        await asyncio.sleep(1.0)
        node = (await cluster.nodes())["n1"]
        assert node.status.allocatable["nvidia.com/gpu"] == "2"
        assert node.status.capacity["nvidia.com/gpu"] == "2"


async def test_a_csi_node_tells_how_many_volumes_fit() -> None:
    cluster = Cluster()
    source = ScriptedMachines(machine("n1", volume_limits={"ebs.csi.aws.com": 27}))
    async with cluster.running(kubelets(cluster, source)):
        await asyncio.sleep(1.0)
        found = await cluster.kube.get(api.CSI_NODES, "n1")
        driver = found.spec.drivers[0]
        assert driver.allocatable is not None
        assert (driver.name, driver.node_id, driver.allocatable.count) == ("ebs.csi.aws.com", "i-n1", 27)
        assert found.metadata.owner_references[0].uid == (await cluster.nodes())["n1"].metadata.uid


async def test_a_living_kubelet_renews_its_lease() -> None:
    cluster = Cluster()
    async with cluster.running(kubelets(cluster, ScriptedMachines(machine("n1")))):
        await asyncio.sleep(1.0)
        first = await cluster.kube.get(kinds.LEASES, "n1", namespace="kube-node-lease")
        await asyncio.sleep(40.0)
        second = await cluster.kube.get(kinds.LEASES, "n1", namespace="kube-node-lease")
        assert first.spec.renew_time == "2023-11-14T22:13:20.000000Z"
        assert second.spec.renew_time == "2023-11-14T22:14:00.000000Z"


async def test_a_node_at_rest_is_written_rarely() -> None:
    cluster = Cluster()
    async with cluster.running(kubelets(cluster, ScriptedMachines(machine("n1")))):
        await asyncio.sleep(10.0)
        before = (await cluster.nodes())["n1"].metadata.resource_version
        await asyncio.sleep(280.0)
        assert (await cluster.nodes())["n1"].metadata.resource_version == before
        await asyncio.sleep(40.0)
        assert (await cluster.nodes())["n1"].metadata.resource_version != before


async def test_a_node_that_was_deleted_does_not_come_back_while_its_machine_runs_on() -> None:
    cluster = Cluster()
    async with cluster.running(kubelets(cluster, ScriptedMachines(machine("n1")))):
        await asyncio.sleep(1.0)
        await cluster.kube.delete(api.NODES, "n1")
        await asyncio.sleep(30.0)
        assert await cluster.nodes() == {}


async def test_a_machine_that_is_told_to_stop_says_goodbye() -> None:
    cluster, source = Cluster(), ScriptedMachines(machine("n1"))
    async with cluster.running(kubelets(cluster, source)):
        await asyncio.sleep(1.0)
        source.switch("n1", Power.STOPPING)
        await asyncio.sleep(1.0)
        ready = readiness((await cluster.nodes())["n1"])
        assert (ready.status, ready.message) == ("False", "node is shutting down")


async def test_after_a_restart_nodes_are_taken_over_as_they_are() -> None:
    cluster, source = Cluster(), ScriptedMachines(machine("n1"))
    async with cluster.running(kubelets(cluster, source)):
        await asyncio.sleep(1.0)
    before = (await cluster.nodes())["n1"]
    again = cluster.restarted()
    async with again.running(kubelets(again, source)):
        await asyncio.sleep(5.0)
        assert await again.nodes() == {"n1": before}
