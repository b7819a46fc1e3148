"""Startup taints go by themselves with `auto`, and stay with `manual`."""

import asyncio

from karpenter.model.taints import Taint
from karpenter.runtime import kube as api
from karpenter.sim.kubelet import Kubelets, NodeRhythm, Pace
from tests.sim.clusters import Cluster, definition
from tests.sim.machines import ScriptedMachines, machine

STARTING, LASTING = Taint("agent", effect="NoSchedule"), Taint("special", effect="NoSchedule")


def kubelets(cluster: Cluster, startup_taints: str) -> Kubelets:
    source = ScriptedMachines(machine("n1", ready_after_s=5.0, taints=(STARTING, LASTING)))
    pace = Pace(speed=1.0)
    return Kubelets(cluster.context, source, pace=pace, rhythm=NodeRhythm(), startup_taints=startup_taints)


async def cluster_with_claim() -> Cluster:
    cluster = Cluster()
    await cluster.apply(
        definition("karpenter.sh", "NodeClaim"),
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {"name": "default-x"},
            "spec": {"startupTaints": [{"key": "agent", "effect": "NoSchedule"}]},
        },
    )
    status = {"status": {"nodeName": "n1", "providerID": "aws:///us-west-2a/i-n1"}}
    await cluster.kube.patch(api.NODE_CLAIMS, "default-x", status, subresource="status")
    return cluster


async def taints(cluster: Cluster) -> set[str]:
    return {taint.key for taint in (await cluster.nodes())["n1"].spec.taints} & {"agent", "special"}


async def test_startup_taints_go_a_few_seconds_after_the_node_is_ready() -> None:
    cluster = await cluster_with_claim()
    async with cluster.running(kubelets(cluster, "auto")):
        await asyncio.sleep(7.0)
        assert await taints(cluster) == {"agent", "special"}
        await asyncio.sleep(2.0)
        assert await taints(cluster) == {"special"}


async def test_taints_put_back_on_an_initialized_node_stay() -> None:
    cluster = await cluster_with_claim()
    async with cluster.running(kubelets(cluster, "auto")):
        await asyncio.sleep(10.0)
        await cluster.kube.patch(api.NODES, "n1", {"metadata": {"labels": {"karpenter.sh/initialized": "true"}}})
        await cluster.kube.patch(api.NODES, "n1", {"spec": {"taints": [{"key": "agent", "effect": "NoSchedule"}]}})
        await asyncio.sleep(10.0)
        assert await taints(cluster) == {"agent"}


async def test_startup_taints_stay_when_the_user_takes_them_off() -> None:
    cluster = await cluster_with_claim()
    async with cluster.running(kubelets(cluster, "manual")):
        await asyncio.sleep(60.0)
        assert await taints(cluster) == {"agent", "special"}
