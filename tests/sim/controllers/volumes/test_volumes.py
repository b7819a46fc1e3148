"""Claims, volumes and disks on a simulated cluster, from the claim to the deleted disk."""

import asyncio

import pytest

from karpenter.model import labels
from karpenter.model.pods import is_terminal
from karpenter.runtime import kube as api
from karpenter.runtime.kube import NotFound
from karpenter.sim.kinds import STATEFUL_SETS
from karpenter.sim.kubelet import Power
from karpenter.sim.storagekinds import ATTACHMENTS, CLAIMS, STORAGE_CLASSES, VOLUMES, Attachment, Claim, Volume
from tests.sim.clusters import Raw, pod
from tests.sim.controllers.volumes.storage import claim_manifest, class_manifest, pod_with, volume_manifest
from tests.sim.controllers.workloads import claim_spec, stateful_set_manifest
from tests.sim.machines import ScriptedMachines, machine
from tests.sim.simulations import Simulation, a_simulation

LIMITS = {"ebs.csi.aws.com": 25}


def in_zones(**zones: str) -> ScriptedMachines:
    """Return machines by name in zones."""
    machines = []
    for name, zone in zones.items():
        found = {"kubernetes.io/hostname": name, labels.ZONE: zone}
        machines.append(machine(name, volume_limits=LIMITS, labels=found))
    return ScriptedMachines(*machines)


async def claim(cluster: Simulation, name: str = "data") -> Claim:
    return await cluster.kube.get(CLAIMS, name, namespace="default")


async def volumes(cluster: Simulation) -> list[Volume]:
    return list((await cluster.kube.list(VOLUMES)).items)


async def attachments(cluster: Simulation) -> list[Attachment]:
    return list((await cluster.kube.list(ATTACHMENTS)).items)


async def runs(cluster: Simulation, name: str) -> bool:
    found = (await cluster.pods()).get(name)
    return found is not None and found.status.phase == "Running" and not found.metadata.is_deleting


def zone_of(volume: Volume) -> str:
    affinity = volume.spec.node_affinity
    assert affinity is not None
    assert affinity.required is not None
    return affinity.required.node_selector_terms[0].match_expressions[0].values[0]


# binding ------------------------------------------------------------------------------------------------------------


async def test_the_cluster_has_a_default_class_that_waits_for_the_first_consumer() -> None:
    async with a_simulation("n1") as cluster:
        (found,) = (await cluster.kube.list(STORAGE_CLASSES)).items
        assert (found.metadata.name, found.provisioner) == ("gp3", "ebs.csi.aws.com")
        assert (found.volume_binding_mode, found.reclaim_policy) == ("WaitForFirstConsumer", "Delete")
        assert found.metadata.annotations == {labels.IS_DEFAULT_STORAGE_CLASS: "true"}


async def test_a_class_that_the_user_took_away_stays_away() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.kube.delete(STORAGE_CLASSES, "gp3")
    async with a_simulation(after=cluster) as again:
        await asyncio.sleep(1.0)
        assert (await again.kube.list(STORAGE_CLASSES)).items == ()


async def test_a_claim_waits_for_its_first_consumer_and_then_gets_a_disk_in_its_zone() -> None:
    async with a_simulation(machines=in_zones(n1="zone-a")) as cluster:
        await cluster.apply(claim_manifest())
        await asyncio.sleep(5.0)
        waiting = await claim(cluster)
        assert (waiting.status.phase, waiting.spec.storage_class_name, waiting.spec.volume_name) == (
            "Pending",
            "gp3",
            "",
        )
        assert await volumes(cluster) == []
        await cluster.apply(pod_with("app", "data"))
        await cluster.until(lambda: runs(cluster, "app"))
        (volume,) = await volumes(cluster)
        bound = await claim(cluster)
        assert (bound.status.phase, bound.spec.volume_name) == ("Bound", volume.metadata.name)
        assert bound.status.capacity == {"storage": "1Gi"}
        assert bound.metadata.annotations["volume.kubernetes.io/selected-node"] == "n1"
        assert (volume.status.phase, zone_of(volume)) == ("Bound", "zone-a")
        told = [
            await cluster.events(reason)
            for reason in ("WaitForFirstConsumer", "ExternalProvisioning", "Provisioning", "ProvisioningSucceeded")
        ]
        assert all([name for name, _ in found] == ["data"] for found in told)


async def test_an_immediate_claim_gets_a_disk_before_any_pod_asks() -> None:
    async with a_simulation(machines=in_zones(n1="zone-a", n2="zone-b")) as cluster:
        await cluster.apply(class_manifest("now"), claim_manifest(storageClassName="now"))
        await asyncio.sleep(5.0)
        (volume,) = await volumes(cluster)
        assert (await claim(cluster)).status.phase == "Bound"
        await cluster.apply(pod_with("app", "data"))
        await cluster.until(lambda: runs(cluster, "app"))
        node = (await cluster.nodes())[(await cluster.pods())["app"].spec.node_name]
        assert node.metadata.labels[labels.ZONE] == zone_of(volume)


async def test_a_claim_takes_a_volume_that_is_there_and_keeps_it_by_name() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(volume_manifest("old", storage="5Gi"), claim_manifest(storageClassName=""))
        await asyncio.sleep(1.0)
        (volume,) = await volumes(cluster)
        assert (volume.status.phase, volume.spec.persistent_volume_reclaim_policy) == ("Bound", "Retain")
        bound = await claim(cluster)
        assert (bound.spec.volume_name, bound.status.capacity) == ("old", {"storage": "5Gi"})


async def test_a_claim_without_a_class_or_of_an_unknown_one_says_what_is_missing() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(
            claim_manifest("plain", storageClassName=""), claim_manifest("lost", storageClassName="no-such-class")
        )
        await asyncio.sleep(1.0)
        assert await cluster.events("FailedBinding") == [
            ("plain", "no persistent volumes available for this claim and no storage class is set")
        ]
        assert await cluster.events("ProvisioningFailed") == [
            ("lost", 'storageclass.storage.k8s.io "no-such-class" not found')
        ]


async def test_a_claim_that_came_before_the_default_class_gets_it_later() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.kube.delete(STORAGE_CLASSES, "gp3")
        await cluster.apply(claim_manifest())
        assert (await claim(cluster)).spec.storage_class_name is None
        default = class_manifest("late")
        default["metadata"]["annotations"] = {labels.IS_DEFAULT_STORAGE_CLASS: "true"}
        await cluster.apply(default)
        await asyncio.sleep(5.0)
        assert (await claim(cluster)).spec.storage_class_name == "late"
        assert (await claim(cluster)).status.phase == "Bound"


async def test_a_claim_whose_volume_vanishes_is_lost() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(volume_manifest("old"), claim_manifest(storageClassName=""))
        await asyncio.sleep(1.0)
        await cluster.kube.delete(VOLUMES, "old")
        await asyncio.sleep(1.0)
        assert (await volumes(cluster))[0].metadata.is_deleting, "what is bound is kept"
        await cluster.kube.patch(VOLUMES, "old", {"metadata": {"finalizers": None}})
        await asyncio.sleep(1.0)
        assert (await claim(cluster)).status.phase == "Lost"


async def test_when_the_chosen_node_is_gone_another_one_is_chosen() -> None:
    async with a_simulation(machines=in_zones(n1="zone-a", n2="zone-b")) as cluster:
        await asyncio.sleep(3.0)
        await cluster.kube.patch(api.NODES, "n2", {"spec": {"unschedulable": True}})
        await cluster.apply(claim_manifest(), pod_with("app", "data"))
        await asyncio.sleep(0.5)
        assert (await claim(cluster)).metadata.annotations["volume.kubernetes.io/selected-node"] == "n1"
        await cluster.kube.delete(api.NODES, "n1")
        await cluster.kube.patch(api.NODES, "n2", {"spec": {"unschedulable": False}})
        await cluster.until(lambda: runs(cluster, "app"))
        assert (await cluster.pods())["app"].spec.node_name == "n2"
        assert [zone_of(volume) for volume in await volumes(cluster)] == ["zone-b"]


# going --------------------------------------------------------------------------------------------------------------


async def test_a_claim_that_is_mounted_outlives_its_deletion_and_its_disk_goes_after_it() -> None:
    async with a_simulation(machines=in_zones(n1="zone-a")) as cluster:
        await cluster.apply(claim_manifest(), pod_with("app", "data"))
        await cluster.until(lambda: runs(cluster, "app"))
        await cluster.kube.delete(CLAIMS, "data", namespace="default")
        await asyncio.sleep(10.0)
        assert (await claim(cluster)).metadata.is_deleting
        assert await runs(cluster, "app")
        await cluster.kube.delete(api.PODS, "app", namespace="default")
        await asyncio.sleep(15.0)
        with pytest.raises(NotFound):
            await claim(cluster)
        assert (await volumes(cluster), await attachments(cluster)) == ([], [])


async def test_a_volume_that_is_to_be_kept_is_released_with_its_disk() -> None:
    async with a_simulation(machines=in_zones(n1="zone-a")) as cluster:
        await cluster.apply(class_manifest("kept", reclaimPolicy="Retain"), claim_manifest(storageClassName="kept"))
        await asyncio.sleep(5.0)
        await cluster.kube.delete(CLAIMS, "data", namespace="default")
        await asyncio.sleep(10.0)
        (volume,) = await volumes(cluster)
        assert (volume.status.phase, volume.metadata.is_deleting) == ("Released", False)
        await cluster.apply(claim_manifest(storageClassName="kept"))
        await asyncio.sleep(5.0)
        phases = sorted(one.status.phase for one in await volumes(cluster))
        assert phases == ["Bound", "Released"], "what held somebody's data is given to nobody else"


async def test_ephemeral_volumes_come_and_go_with_their_pod() -> None:
    async with a_simulation(machines=in_zones(n1="zone-a")) as cluster:
        template = {"metadata": {"labels": {"made": "for-app"}}, "spec": claim_spec()}
        scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}
        await cluster.apply(pod("app", volumes=[scratch]))
        await cluster.until(lambda: runs(cluster, "app"))
        found = await claim(cluster, "app-scratch")
        assert (found.status.phase, found.metadata.labels) == ("Bound", {"made": "for-app"})
        await cluster.kube.delete(api.PODS, "app", namespace="default")
        await asyncio.sleep(20.0)
        assert (await cluster.kube.list(CLAIMS)).items == ()
        assert await volumes(cluster) == []


# attaching ----------------------------------------------------------------------------------------------------------


async def test_a_pod_starts_once_its_disk_is_attached_and_the_disk_stays_till_the_pod_is_gone() -> None:
    async with a_simulation(machines=in_zones(n1="zone-a")) as cluster:
        await cluster.apply(claim_manifest(), pod_with("app", "data", terminationGracePeriodSeconds=30))
        seen: set[tuple[bool, bool]] = set()
        while not await runs(cluster, "app"):
            found = await attachments(cluster)
            seen.add((bool(found), any(one.status.attached for one in found)))
            await asyncio.sleep(0.05)
        assert {(False, False), (True, False), (True, True)} == seen
        node = (await cluster.nodes())["n1"]
        (volume,) = await volumes(cluster)
        assert node.status.volumes_in_use == (f"kubernetes.io/csi/ebs.csi.aws.com^{volume.spec.csi.volume_handle}",)
        told = await cluster.events("SuccessfulAttachVolume")
        assert told == [("app", f'AttachVolume.Attach succeeded for volume "{volume.metadata.name}" ')]
        await cluster.kube.delete(api.PODS, "app", namespace="default")
        while "app" in await cluster.pods():
            assert [one.metadata.is_deleting for one in await attachments(cluster)] == [False]
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.2)
        assert [one.metadata.is_deleting for one in await attachments(cluster)] == [True]
        await asyncio.sleep(8.0)
        assert await attachments(cluster) == []
        assert (await cluster.nodes())["n1"].status.volumes_in_use == ()


async def test_a_disk_is_on_one_machine_at_a_time_and_the_pod_that_waits_says_so() -> None:
    async with a_simulation(machines=in_zones(n1="zone-a", n2="zone-a")) as cluster:
        await cluster.apply(claim_manifest(), pod_with("first", "data", nodeSelector={"kubernetes.io/hostname": "n1"}))
        await cluster.until(lambda: runs(cluster, "first"))
        await cluster.apply(pod_with("second", "data", nodeSelector={"kubernetes.io/hostname": "n2"}))
        await asyncio.sleep(10.0)
        assert not await runs(cluster, "second")
        ((name, message),) = await cluster.events("FailedAttachVolume")
        assert name == "second"
        assert message.endswith("Volume is already used by pod(s) first")
        await cluster.kube.delete(api.PODS, "first", namespace="default")
        await cluster.until(lambda: runs(cluster, "second"))
        assert [one.spec.node_name for one in await attachments(cluster)] == ["n2"]


async def test_the_disk_of_a_machine_that_vanished_is_taken_from_it_after_six_minutes() -> None:
    async with a_simulation(machines=in_zones(n1="zone-a", n2="zone-a")) as cluster:
        await cluster.apply(stateful_set_manifest(replicas=1, claims={"data": claim_spec()}))
        await cluster.until(lambda: runs(cluster, "db-0"))
        node = (await cluster.pods())["db-0"].spec.node_name
        cluster.machines.switch(node, Power.GONE)
        gone_at = cluster.clock.now()

        async def is_released() -> bool:
            return node not in {one.spec.node_name for one in await attachments(cluster)}

        await cluster.until(is_released, within_s=1200)
        assert 360 <= cluster.clock.now() - gone_at <= 360 + 150  # to notice, to give up its pods, and then six minutes
        await cluster.until(lambda: runs(cluster, "db-0"))


async def test_a_machine_that_shuts_down_lets_go_of_its_disks() -> None:
    async with a_simulation(machines=in_zones(n1="zone-a", n2="zone-a")) as cluster:
        await cluster.apply(stateful_set_manifest(replicas=1, claims={"data": claim_spec()}))
        await cluster.until(lambda: runs(cluster, "db-0"))
        node = (await cluster.pods())["db-0"].spec.node_name
        cluster.machines.switch(node, Power.STOPPING)
        await asyncio.sleep(1.0)
        assert all(is_terminal(one) for one in (await cluster.pods()).values() if one.spec.node_name == node)
        await cluster.until(lambda: runs(cluster, "db-0"), within_s=120)
        assert (await cluster.pods())["db-0"].spec.node_name != node


# StatefulSets -------------------------------------------------------------------------------------------------------


async def test_each_pod_of_a_set_keeps_its_disk_wherever_it_goes() -> None:
    async with a_simulation(machines=in_zones(n1="zone-a", n2="zone-b", n3="zone-c")) as cluster:
        spread = [
            {
                "maxSkew": 1,
                "topologyKey": labels.ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "db"}},
            }
        ]
        claims = {"data": claim_spec()}
        await cluster.apply(
            stateful_set_manifest(replicas=3, claims=claims, pods={"topologySpreadConstraints": spread})
        )
        await cluster.until(lambda: runs(cluster, "db-2"), within_s=120)
        before = {name: one.spec.node_name for name, one in (await cluster.pods()).items()}
        assert sorted(before.values()) == ["n1", "n2", "n3"]
        disks = {name: (await claim(cluster, f"data-{name}")).spec.volume_name for name in before}
        for name in before:
            await cluster.kube.delete(api.PODS, name, namespace="default")
        await asyncio.sleep(60.0)
        assert {name: one.spec.node_name for name, one in (await cluster.running_pods("db")).items()} == before
        assert {name: (await claim(cluster, f"data-{name}")).spec.volume_name for name in before} == disks


def with_policy(**policy: str) -> Raw:
    return stateful_set_manifest(replicas=2, claims={"data": claim_spec()}, persistentVolumeClaimRetentionPolicy=policy)


async def claim_names(cluster: Simulation) -> list[str]:
    return sorted(one.metadata.name for one in (await cluster.kube.list(CLAIMS)).items)


@pytest.mark.parametrize(
    "policy, scaled, deleted",
    [
        ({}, ["data-db-0", "data-db-1"], ["data-db-0", "data-db-1"]),
        ({"whenScaled": "Delete"}, ["data-db-0"], ["data-db-0"]),
        ({"whenDeleted": "Delete"}, ["data-db-0", "data-db-1"], []),
        ({"whenScaled": "Delete", "whenDeleted": "Delete"}, ["data-db-0"], []),
    ],
)
async def test_claims_stay_or_go_as_the_retention_policy_says(
    policy: dict[str, str], scaled: list[str], deleted: list[str]
) -> None:
    async with a_simulation(machines=in_zones(n1="zone-a")) as cluster:
        await cluster.apply(with_policy(**policy))
        await cluster.until(lambda: runs(cluster, "db-1"))
        await cluster.kube.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 1}}, namespace="default")
        await asyncio.sleep(20.0)
        assert await claim_names(cluster) == scaled
        await cluster.kube.delete(STATEFUL_SETS, "db", namespace="default")
        await asyncio.sleep(20.0)
        assert await claim_names(cluster) == deleted


# restarts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop_after_s", [0.05, 0.5, 1.5, 2.5, 4.0, 6.0])
async def test_killed_at_any_moment_it_goes_on_to_the_same_end(stop_after_s: float) -> None:
    async with a_simulation(machines=in_zones(n1="zone-a")) as cluster:
        await asyncio.sleep(3.0)
        await cluster.apply(stateful_set_manifest(replicas=2, claims={"data": claim_spec()}))
        await asyncio.sleep(stop_after_s)
    async with a_simulation(after=cluster) as again:
        await again.until(lambda: runs(again, "db-1"))
        assert len(await volumes(again)) == len(await attachments(again)) == 2
        await asyncio.sleep(5.0)
        revision = again.store.revision
        await asyncio.sleep(15.0)
        assert again.store.revision - revision <= 1, "a cluster at rest writes nothing but a lease"
