"""StatefulSets on a simulated cluster, from creation to deletion."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from karpenter.runtime import kube as api
from karpenter.sim.kinds import CONTROLLER_REVISIONS, STATEFUL_SETS, StatefulSet
from tests.sim.controllers.workloads import stateful_set_manifest
from tests.sim.simulations import Simulation, a_simulation


async def the_set(cluster: Simulation) -> StatefulSet:
    return await cluster.kube.get(STATEFUL_SETS, "db", namespace="default")


async def change(cluster: Simulation, spec: dict[str, Any]) -> None:
    await cluster.kube.patch(STATEFUL_SETS, "db", {"spec": spec}, namespace="default")


async def new_image(cluster: Simulation, image: str) -> None:
    template = (await the_set(cluster)).spec.template
    template["spec"]["containers"][0]["image"] = image
    await change(cluster, {"template": template})


async def images(cluster: Simulation) -> dict[str, str]:
    return {name: pod.spec.containers[0].image for name, pod in sorted((await cluster.running_pods("db")).items())}


async def is_settled(cluster: Simulation, replicas: int) -> bool:
    status = (await the_set(cluster)).status
    return status.available_replicas == status.updated_replicas == replicas and len(await cluster.pods()) == replicas


async def settled(cluster: Simulation, replicas: int) -> None:
    await cluster.until(lambda: is_settled(cluster, replicas))


async def test_pods_come_in_order_with_names_labels_and_host_names() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(stateful_set_manifest(replicas=3))
        most = 0
        while not await is_settled(cluster, 3):
            pods = await cluster.pods()
            waiting = [pod for pod in pods.values() if pod.status.phase != "Running"]
            most = max(most, len(waiting))
            await asyncio.sleep(0.05)
        assert most == 1
        pods = await cluster.pods()
        assert set(pods) == {"db-0", "db-1", "db-2"}
        revision = (await the_set(cluster)).status.current_revision
        assert pods["db-1"].metadata.labels == {
            "app": "db",
            "apps.kubernetes.io/pod-index": "1",
            "controller-revision-hash": revision,
            "statefulset.kubernetes.io/pod-name": "db-1",
            "topology.kubernetes.io/zone": "us-west-2a",
        }
        raw = await cluster.kube.get(replace(api.PODS, type=dict), "db-1", namespace="default")
        assert (raw["spec"]["hostname"], raw["spec"]["subdomain"]) == ("db-1", "db")
        assert await cluster.events("SuccessfulCreate") == [
            ("db", f"Create Pod db-{number} in StatefulSet db successful") for number in range(3)
        ]


async def test_the_status_tells_of_sizes_and_revisions() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(stateful_set_manifest(replicas=2))
        await settled(cluster, 2)
        status = (await the_set(cluster)).status
        counts = status.replicas, status.ready_replicas, status.current_replicas, status.updated_replicas
        assert counts == (2, 2, 2, 2)
        assert status.current_revision == status.update_revision
        assert (status.observed_generation, status.collision_count) == (1, 0)


async def test_scaling_down_takes_the_last_pods_first() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(stateful_set_manifest(replicas=4))
        await settled(cluster, 4)
        await change(cluster, {"replicas": 1})
        seen: list[frozenset[str]] = []
        while not await is_settled(cluster, 1):
            names = frozenset(await cluster.pods())
            if not seen or seen[-1] != names:
                seen.append(names)
            await asyncio.sleep(0.05)
        assert [len(names) for names in seen] == [4, 3, 2]
        assert seen[-1] == {"db-0", "db-1"}


async def test_a_deleted_pod_comes_back_under_its_name() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(stateful_set_manifest(replicas=2))
        await settled(cluster, 2)
        before = await cluster.pods()
        await cluster.kube.delete(api.PODS, "db-0", namespace="default")
        await asyncio.sleep(0.1)
        assert (await cluster.pods())["db-0"].metadata.is_deleting, "nobody may have its name before it is gone"
        await cluster.until(lambda: is_settled(cluster, 2))
        after = await cluster.pods()
        assert after["db-0"].metadata.uid != before["db-0"].metadata.uid
        assert after["db-1"].metadata.uid == before["db-1"].metadata.uid


async def test_an_update_replaces_pods_from_the_last_to_the_first() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(stateful_set_manifest(replicas=3, minReadySeconds=1))
        await settled(cluster, 3)
        await new_image(cluster, "db:2")
        seen: list[dict[str, str]] = []
        for _ in range(600):
            running = await images(cluster)
            if len(running) == 3 and (not seen or seen[-1] != running):
                seen.append(running)
            await asyncio.sleep(0.05)
        assert [list(one.values()) for one in seen] == [
            ["db:1", "db:1", "db:1"],
            ["db:1", "db:1", "db:2"],
            ["db:1", "db:2", "db:2"],
            ["db:2", "db:2", "db:2"],
        ]
        status = (await the_set(cluster)).status
        assert status.current_revision == status.update_revision
        assert status.current_replicas == 3


async def test_a_partition_holds_back_an_update_also_for_pods_that_come_again() -> None:
    async with a_simulation("n1") as cluster:
        held = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        await cluster.apply(stateful_set_manifest(replicas=3, updateStrategy=held))
        await settled(cluster, 3)
        await new_image(cluster, "db:2")
        await asyncio.sleep(20.0)
        expected = {"db-0": "db:1", "db-1": "db:1", "db-2": "db:2"}
        assert await images(cluster) == expected
        await cluster.kube.delete(api.PODS, "db-1", namespace="default")
        await asyncio.sleep(20.0)
        assert await images(cluster) == expected
        status = (await the_set(cluster)).status
        assert (status.current_replicas, status.updated_replicas) == (2, 1)
        assert status.current_revision != status.update_revision


async def test_going_back_takes_the_old_revision_again() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(stateful_set_manifest(replicas=1))
        await settled(cluster, 1)
        first = (await the_set(cluster)).status.current_revision
        for image in ("db:2", "db:1"):
            await new_image(cluster, image)
            await asyncio.sleep(15.0)
        assert (await the_set(cluster)).status.current_revision == first
        revisions = (await cluster.kube.list(CONTROLLER_REVISIONS)).items
        assert sorted((one.revision, one.metadata.name == first) for one in revisions) == [(2, False), (3, True)]


async def test_old_revisions_are_forgotten() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(stateful_set_manifest(replicas=1, revisionHistoryLimit=1))
        for number in range(2, 6):
            await settled(cluster, 1)
            await new_image(cluster, f"db:{number}")
            await asyncio.sleep(15.0)
        revisions = (await cluster.kube.list(CONTROLLER_REVISIONS)).items
        assert sorted(one.revision for one in revisions) == [4, 5]


async def test_what_ran_goes_with_the_set_and_orphans_are_adopted_by_the_next() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(stateful_set_manifest(replicas=2))
        await settled(cluster, 2)
        before = {pod.metadata.uid for pod in (await cluster.pods()).values()}
        await cluster.kube.delete(STATEFUL_SETS, "db", namespace="default", propagation="Orphan")
        await asyncio.sleep(5.0)
        assert len(await cluster.pods()) == 2
        await cluster.apply(stateful_set_manifest(replicas=2))
        await settled(cluster, 2)
        assert {pod.metadata.uid for pod in (await cluster.pods()).values()} == before
        await cluster.kube.delete(STATEFUL_SETS, "db", namespace="default", propagation="Foreground")
        await asyncio.sleep(10.0)
        assert await cluster.pods() == {}
        assert (await cluster.kube.list(CONTROLLER_REVISIONS)).items == ()


@pytest.mark.parametrize("stop_after_s", [0.05, 1.0, 2.5, 4.0, 6.0])
async def test_killed_at_any_moment_it_goes_on_to_the_same_end(stop_after_s: float) -> None:
    async with a_simulation("n1") as cluster:
        await asyncio.sleep(3.0)
        await cluster.apply(stateful_set_manifest(replicas=3))
        await asyncio.sleep(stop_after_s)
    async with a_simulation(after=cluster) as again:
        await settled(again, 3)
        revision = again.store.revision
        await asyncio.sleep(15.0)
        assert again.store.revision - revision <= 1, "a cluster at rest writes nothing but a lease"
