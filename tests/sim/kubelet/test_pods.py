"""Pods on machines: starting, running, stopping."""

import asyncio

from karpenter.model.meta import find_condition
from karpenter.runtime import kube as api
from karpenter.sim.kubelet import Kubelets, NodeRhythm, Pace, Power
from tests.sim.clusters import Cluster, Raw, pod
from tests.sim.machines import ScriptedMachines, machine

SLOW = Pace(speed=1.0, start_s=(2.0, 2.0), init_s=1.0, stop_s=(1.5, 1.5))


def kubelets(cluster: Cluster, source: ScriptedMachines) -> Kubelets:
    return Kubelets(cluster.context, source, pace=SLOW, rhythm=NodeRhythm())


async def status(cluster: Cluster, name: str) -> Raw:
    kind = cluster.store.registry.find("", "v1", "pods")
    (found,) = [one.decode() for one in cluster.store.list(kind) if one.key.name == name]
    return found["status"]


async def test_a_bound_pod_runs_after_its_containers_were_made() -> None:
    cluster = Cluster()
    async with cluster.running(kubelets(cluster, ScriptedMachines(machine("n1")))):
        await cluster.apply(pod("web", nodeName="n1"))
        await asyncio.sleep(1.0)
        making = await status(cluster, "web")
        assert (making["phase"], making["hostIP"]) == ("Pending", "10.0.0.1")
        assert making["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
        await asyncio.sleep(1.5)
        up = await status(cluster, "web")
        assert up["phase"] == "Running"
        assert up["podIP"].startswith("100.")
        assert up["containerStatuses"][0]["ready"] is True
        conditions = {one["type"]: one["status"] for one in up["conditions"]}
        assert conditions["Ready"] == conditions["ContainersReady"] == conditions["Initialized"] == "True"
        assert await cluster.events("Started") == [("web", "Started container main")]


async def test_init_containers_run_first_and_sidecars_stay() -> None:
    inits = [{"name": "sidecar", "image": "s", "restartPolicy": "Always"}, {"name": "setup", "image": "i"}]
    cluster = Cluster()
    async with cluster.running(kubelets(cluster, ScriptedMachines(machine("n1")))):
        await cluster.apply(pod("web", nodeName="n1", initContainers=inits))
        await asyncio.sleep(2.5)
        assert (await status(cluster, "web"))["phase"] == "Pending"
        await asyncio.sleep(1.0)
        up = await status(cluster, "web")
        assert up["phase"] == "Running"
        assert [sorted(one["state"]) for one in up["initContainerStatuses"]] == [["running"], ["terminated"]]


async def test_pods_wait_for_the_network_unless_they_use_the_hosts() -> None:
    cluster = Cluster()
    async with cluster.running(kubelets(cluster, ScriptedMachines(machine("n1", ready_after_s=10.0)))):
        await cluster.apply(pod("web", nodeName="n1"), pod("cni", nodeName="n1", hostNetwork=True))
        await asyncio.sleep(5.0)
        assert (await status(cluster, "web"))["phase"] == "Pending"
        cni = await status(cluster, "cni")
        assert (cni["phase"], cni["podIP"]) == ("Running", "10.0.0.1")
        await asyncio.sleep(8.0)
        assert (await status(cluster, "web"))["phase"] == "Running"


async def test_a_deleted_pod_takes_its_time_to_stop() -> None:
    cluster = Cluster()
    async with cluster.running(kubelets(cluster, ScriptedMachines(machine("n1")))):
        await cluster.apply(pod("web", nodeName="n1"))
        await asyncio.sleep(5.0)
        await cluster.kube.delete(api.PODS, "web", namespace="default")
        await asyncio.sleep(1.0)
        assert (await cluster.pods())["web"].metadata.is_deleting
        await asyncio.sleep(1.0)
        assert await cluster.pods() == {}


async def test_a_short_grace_period_is_kept() -> None:
    cluster = Cluster()
    async with cluster.running(kubelets(cluster, ScriptedMachines(machine("n1")))):
        await cluster.apply(pod("web", nodeName="n1"))
        await asyncio.sleep(5.0)
        await cluster.kube.delete(api.PODS, "web", namespace="default", grace_period_s=1)
        await asyncio.sleep(1.2)
        assert await cluster.pods() == {}


async def test_a_pod_with_a_finalizer_shows_how_it_ended() -> None:
    cluster = Cluster()
    async with cluster.running(kubelets(cluster, ScriptedMachines(machine("n1")))):
        held = pod("web", nodeName="n1")
        held["metadata"]["finalizers"] = ["example.com/hold"]
        await cluster.apply(held)
        await asyncio.sleep(5.0)
        await cluster.kube.delete(api.PODS, "web", namespace="default")
        await asyncio.sleep(5.0)
        assert (await status(cluster, "web"))["phase"] == "Succeeded"
        await cluster.kube.patch(api.PODS, "web", {"metadata": {"finalizers": None}}, namespace="default")
        await asyncio.sleep(1.0)
        assert await cluster.pods() == {}


async def test_pods_end_with_their_machine() -> None:
    cluster, source = Cluster(), ScriptedMachines(machine("n1"))
    async with cluster.running(kubelets(cluster, source)):
        await cluster.apply(pod("web", nodeName="n1"))
        await asyncio.sleep(5.0)
        source.switch("n1", Power.STOPPING)
        await asyncio.sleep(1.0)
        ended = await status(cluster, "web")
        assert (ended["phase"], ended["reason"]) == ("Failed", "Terminated")
        ready = find_condition((await cluster.pods())["web"].status.conditions, "Ready")
        assert ready is not None
        assert not ready.is_true


async def test_pods_of_foreign_nodes_are_left_alone() -> None:
    cluster = Cluster()
    async with cluster.running(kubelets(cluster, ScriptedMachines(machine("n1")))):
        await cluster.apply(pod("web", nodeName="other"))
        await asyncio.sleep(10.0)
        left = await status(cluster, "web")
        assert left["phase"] == "Pending"
        assert "startTime" not in left


async def test_a_restart_in_the_middle_of_a_start_or_stop_goes_on() -> None:
    cluster, source = Cluster(), ScriptedMachines(machine("n1"))
    async with cluster.running(kubelets(cluster, source)):
        await cluster.apply(pod("leaving", nodeName="n1"))
        await asyncio.sleep(5.0)
        await cluster.apply(pod("coming", nodeName="n1"))
        await cluster.kube.delete(api.PODS, "leaving", namespace="default")
        await asyncio.sleep(0.5)
    again = cluster.restarted()
    async with again.running(kubelets(again, source)):
        await asyncio.sleep(4.0)
        assert list(await again.pods()) == ["coming"]
        assert (await status(again, "coming"))["phase"] == "Running"
