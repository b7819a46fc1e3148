"""Pods with disks keep their zone: a disk cannot leave it, so the node that takes over has to be there."""

import pytest

from karpenter.model import labels
from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import RawObject
from karpenter.sim.controllers.volumes.addon import DEFAULT_CLASS
from karpenter.sim.kinds import STATEFUL_SETS
from karpenter.sim.storagekinds import ATTACHMENTS, CLAIMS, STORAGE_CLASSES, VOLUMES
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, World, a_pod_manifest, a_world


def a_stateful_set(name: str, replicas: int) -> RawObject:
    """Return a StatefulSet, each pod with a disk of the cluster's default class."""
    request = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
    spec = a_pod_manifest(name)["spec"]
    spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": request}],
        },
    }


async def with_a_disk(world: World) -> None:
    await world.apply(NODE_TEMPLATE, PROVISIONER)
    await world.kube.create(STATEFUL_SETS, a_stateful_set("db", 1), namespace="default")
    await world.all_running(1)


async def only_in(world: World, zone: str) -> None:
    """Let disks of the default class be made in one zone only."""
    allowed = [{"matchLabelExpressions": [{"key": labels.ZONE, "values": [zone]}]}]
    await world.kube.delete(STORAGE_CLASSES, "gp3")
    await world.kube.create(STORAGE_CLASSES, {**DEFAULT_CLASS, "allowedTopologies": allowed})


async def test_a_pod_with_a_disk_gets_a_node_and_the_disk_is_made_in_its_zone(clock: LoopClock) -> None:
    async with a_world(clock) as world:
        await with_a_disk(world)
        (node,) = await world.nodes()
        (volume,) = (await world.kube.list(VOLUMES)).items
        (term,) = volume.spec.node_affinity.required.node_selector_terms
        assert [(one.key, one.values) for one in term.match_expressions] == [
            (labels.ZONE, (node.metadata.labels[labels.ZONE],))
        ]
        claim = await world.kube.get(CLAIMS, "data-db-0", namespace="default")
        assert (claim.status.phase, claim.spec.storage_class_name) == ("Bound", "gp3")


@pytest.mark.parametrize("zone", ["us-west-2a", "us-west-2b"])
async def test_the_node_that_takes_over_is_in_the_zone_of_the_disk(clock: LoopClock, zone: str) -> None:
    """In either zone, so that it is not the cheapest one that happens to be right."""
    async with a_world(clock) as world:
        await only_in(world, zone)
        await with_a_disk(world)
        await world.kube.delete(STORAGE_CLASSES, "gp3")  # from now on nothing but the disk says where
        (before,) = await world.nodes()
        assert before.metadata.labels[labels.ZONE] == zone
        (volume,) = (await world.kube.list(VOLUMES)).items
        await world.kube.delete(api.NODES, before.metadata.name)

        async def replaced() -> bool:
            nodes = {node.metadata.name for node in await world.nodes()}
            return before.metadata.name not in nodes and bool(nodes) and await world.running() == 1

        await world.until(replaced)
        (after,) = await world.nodes()
        assert after.metadata.labels[labels.ZONE] == zone
        (kept,) = (await world.kube.list(VOLUMES)).items
        assert kept.metadata.uid == volume.metadata.uid
        (attached,) = (await world.kube.list(ATTACHMENTS)).items
        assert attached.spec.node_name == after.metadata.name


async def test_a_drained_machine_ends_only_once_its_disk_is_detached(clock: LoopClock) -> None:
    """T-10: a disk of a machine that is gone could not be taken over for minutes."""
    async with a_world(clock) as world:
        await with_a_disk(world)
        (node,) = await world.nodes()
        (instance,) = world.instances()
        await world.kube.delete(api.NODES, node.metadata.name)
        attached_s = 0.0

        async def detached() -> bool:
            nonlocal attached_s
            here = [
                one for one in (await world.kube.list(ATTACHMENTS)).items if one.spec.node_name == node.metadata.name
            ]
            if here:
                attached_s += 0.05
                running = [one for one in world.instances() if one.state(clock.now()).value == "running"]
                assert instance.provider_id in {one.provider_id for one in running}
            return not here

        await world.until(detached, step_s=0.05)
        assert attached_s > 0
