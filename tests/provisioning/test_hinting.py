"""The controller that tells kube-scheduler where pods were planned, and what it makes of refusals."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from karpenter.model.core import Pod
from karpenter.model.units import ObjectKey
from karpenter.provisioning.hinting import PlacementHints
from karpenter.provisioning.hints import HintSettings
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import NODES, PODS, Forbidden
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.runtime.metrics import Metrics
from karpenter.state.cluster import ClusterState
from karpenter.state.informers import ClusterInformers

KEY = ObjectKey("default", "web")
POD: Mapping[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "example.com/app"}]},
}


class Refusing(MemoryKubeClient):
    """Counts patches, and forbids them all when asked to."""

    forbids = False
    patches = 0

    async def patch(self, *what: Any, **how: Any) -> Any:
        self.patches += 1
        if self.forbids:
            raise Forbidden("pods/status: denied")
        return await super().patch(*what, **how)


class World:
    """A pod that was planned on a node which is there."""

    def __init__(self, clock: LoopClock, *, is_on: bool = True) -> None:
        self.clock = clock
        self.kube = Refusing(MemoryStore(clock))
        self.state = ClusterState()
        informers = ClusterInformers(self.kube, self.state, clock=clock, metrics=Metrics(clock))
        self.hints = PlacementHints(self.kube, self.state, informers, clock=clock, settings=HintSettings(hints=is_on))

    async def begin(self) -> Pod:
        self.state.set_node(await self.kube.create(NODES, {"metadata": {"name": "n1"}}))
        pod = await self.kube.create(PODS, POD, namespace="default")
        self.state.set_pod(pod)
        self.state.plan(pod, "n1", now=self.clock.now(), keep_s=600.0)
        return pod

    async def nominated(self) -> str:
        return (await self.kube.get(PODS, "web", namespace="default")).status.nominated_node_name


@pytest.fixture
async def world(clock: LoopClock) -> World:
    made = World(clock)
    await made.begin()
    return made


async def test_a_planned_pod_is_told_its_node(world: World) -> None:
    result = await world.hints.reconcile(KEY)
    assert await world.nominated() == "n1"
    assert result.requeue_after_s is not None


async def test_nobody_is_told_anything_where_hints_are_off(clock: LoopClock) -> None:
    world = World(clock, is_on=False)
    pod = await world.begin()
    await world.hints.reconcile(KEY)
    assert (world.kube.patches, world.hints.concerned(pod)) == (0, False)


async def test_without_the_right_to_it_nobody_is_told_anything_any_more(world: World) -> None:
    """403: the role lacks pods/status. Trying again would change nothing and fill the log."""
    world.kube.forbids = True
    await world.hints.reconcile(KEY)
    world.kube.forbids = False
    await world.hints.reconcile(KEY)
    assert (world.kube.patches, await world.nominated()) == (1, "")


async def test_a_pod_that_is_gone_needs_no_hint(world: World) -> None:
    """404: it went after we saw it last."""
    await world.kube.delete(PODS, "web", namespace="default", grace_period_s=0)
    await world.hints.reconcile(KEY)
    assert world.kube.patches == 1


async def test_another_pod_under_the_same_name_is_not_told_the_node(world: World) -> None:
    """409: the hint is for one pod, by uid."""
    await world.kube.delete(PODS, "web", namespace="default", grace_period_s=0)
    await world.kube.create(PODS, POD, namespace="default")
    await world.hints.reconcile(KEY)
    assert (world.kube.patches, await world.nominated()) == (1, "")


async def test_hints_go_on_after_one_that_was_refused(world: World) -> None:
    await world.kube.delete(PODS, "web", namespace="default", grace_period_s=0)
    await world.hints.reconcile(KEY)
    pod = await world.kube.create(PODS, POD, namespace="default")
    world.state.set_pod(pod)
    world.state.plan(pod, "n1", now=world.clock.now(), keep_s=600.0)
    await world.hints.reconcile(KEY)
    assert await world.nominated() == "n1"


async def test_a_node_that_goes_is_nobodys_place(world: World) -> None:
    node = await world.kube.get(NODES, "n1")
    world.state.set_node(replace(node, metadata=replace(node.metadata, deletion_timestamp="2026-01-01T00:00:00Z")))
    await world.hints.reconcile(KEY)
    assert world.kube.patches == 0
