"""The embedded scheduler against the real one, pod by pod: who can be placed, where, and in which words not.

Both see the same nodes and the same pods on them. The embedded one has to find the same pods placeable, its best nodes
have to include the one that the real scheduler took, and where there is none it has to say the same.
"""

import asyncio
import time
from random import Random

import pytest
from msgspec.structs import replace

from karpenter.model.core import Node, Pod
from karpenter.model.meta import find_condition
from karpenter.runtime.kube import NODES, PODS
from karpenter.runtime.kubehttp import HttpKubeClient
from karpenter.sim.scheduler.diagnosis import Unschedulable
from tests.e2e.plane import ControlPlane
from tests.e2e.pods import create_all, delete_all, nodes_ready, verdict
from tests.e2e.wishes import GROUP, TAINT, a_demanding_pod, some_nodes
from tests.sim.scheduler.worlds import World, WrittenSurroundings

pytestmark = pytest.mark.real_time

PODS_EACH = 20
SERVICE = {"app": "web"}
WORDS_OF_ONE_VERSION = {
    "no new claims to deallocate, ": "",  # dynamic resources have their say too
    "untolerated taint(s)": f"untolerated taint {{{TAINT}: x}}",  # 1.36 no longer says which
}


class Recording(Random):
    """A draw that remembers what it drew from."""

    drawn_from: tuple[object, ...] = ()

    def choice(self, seq):
        self.drawn_from = tuple(seq)
        return super().choice(seq)


class Twins:
    """A real cluster and its picture in the embedded scheduler."""

    def __init__(self, kube: HttpKubeClient, nodes: list[Node], namespace: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._draw = Recording(0)
        self._world = World(*nodes, surroundings=WrittenSurroundings(services=[SERVICE]), draw=self._draw)

    async def place(self, manifest: dict) -> str | None:
        """Let both schedulers judge one pod; return how they differ, None when they agree."""
        await self._kube.create(PODS, manifest, namespace=self._namespace)
        pod = await self._judged(manifest["metadata"]["name"])
        node = pod.spec.node_name
        difference = self._difference(pod, node)
        if node:
            self._world.bind(pod, node)
        else:
            await self._kube.delete(PODS, pod.metadata.name, namespace=self._namespace, grace_period_s=0)
        return difference

    async def _judged(self, name: str) -> Pod:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pod = await self._kube.get(PODS, name, namespace=self._namespace)
            if verdict(pod) is not None:
                return pod
            await asyncio.sleep(0.02)
        raise AssertionError(f"{name} was not judged")

    def _difference(self, pod: Pod, node: str) -> str | None:
        self._draw.drawn_from = ()
        found = self._world.place(replace(pod, spec=replace(pod.spec, node_name="")))
        if isinstance(found, Unschedulable):
            if node:
                return f"is on {node}, and we say: {found.message}"
            said = self._said(pod)
            return None if said == found.message else f"we say {found.message!r} instead of {said!r}"
        names = [one.name for one in self._world.cache.nodes()]
        best = [names[index] for index in self._draw.drawn_from] or [found.node]
        if not node:
            return f"would go to one of {best}, but: {self._said(pod)}"
        return None if node in best else f"is on {node}, we find best {best}"

    def _said(self, pod: Pod) -> str:
        condition = find_condition(pod.status.conditions, "PodScheduled")
        assert condition is not None
        message = condition.message
        for theirs, ours in WORDS_OF_ONE_VERSION.items():
            message = message.replace(theirs, ours)
        return message


async def differences(kube: HttpKubeClient, plane: ControlPlane, namespace: str, seed: int) -> list[str]:
    rng, group = Random(seed), f"{namespace}-{seed}"
    plane.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {"selector": SERVICE, "ports": [{"port": 80}]},
        }
    )
    manifests = some_nodes(rng, group)
    await create_all(kube, manifests)
    try:
        await nodes_ready(kube, [one["metadata"]["name"] for one in manifests])
        # Nodes of others are looked at too: the selector of the pods makes them no candidates.
        twins = Twins(kube, list((await kube.list(NODES)).items), namespace)
        found = []
        for number in range(PODS_EACH):
            manifest = a_demanding_pod(rng, f"pod-{seed}-{number}", namespace=namespace, group=group)
            difference = await twins.place(manifest)
            if difference is not None:
                found.append(f"seed {seed}, pod {number}: {difference}; it asks for {manifest['spec']}")
        return found
    finally:
        ours = (await kube.list(NODES, label_selector=f"{GROUP}={group}")).items
        pods = (await kube.list(PODS, namespace=namespace)).items
        await delete_all(kube, PODS, pods)
        await delete_all(kube, NODES, ours)


@pytest.mark.parametrize("seed", range(4))
async def test_the_embedded_scheduler_judges_as_the_real_one(
    kube: HttpKubeClient, plane: ControlPlane, namespace: str, seed: int
) -> None:
    assert await differences(kube, plane, namespace, seed) == []


@pytest.mark.full
@pytest.mark.timeout(1200)
async def test_the_embedded_scheduler_judges_as_the_real_one_many_times(
    kube: HttpKubeClient, plane: ControlPlane, namespace: str
) -> None:
    found = [one for seed in range(100, 140) for one in await differences(kube, plane, namespace, seed)]
    assert found == []
