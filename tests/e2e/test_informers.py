"""Informers on a real API server that stops, crashes and forgets."""

import asyncio

import pytest

from karpenter.model.units import ObjectKey
from karpenter.runtime.clock import WallClock
from karpenter.runtime.identity import key_of
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import CONFIG_MAPS, NODES, Gone
from karpenter.runtime.kubehttp import HttpKubeClient
from tests.e2e.plane import ControlPlane, connect
from tests.e2e.pods import config_maps, create_all, until

pytestmark = pytest.mark.real_time


class Follower:
    """An informer of config maps that runs, and what it was told."""

    def __init__(self, kube: HttpKubeClient, namespace: str) -> None:
        self.informer = Informer(kube, CONFIG_MAPS, clock=WallClock(), namespace=namespace)
        self.told: list[tuple[str, str]] = []
        self.informer.subscribe(lambda event: self.told.append((event.type, key_of(event.object).name)))
        self.task = asyncio.create_task(self.informer.run())

    async def knows(self, names: list[str]) -> None:
        """Wait until the informer knows these and no others."""

        async def equal() -> bool:
            return {key_of(each).name for each in self.informer.values()} == set(names)

        await until(equal, f"the informer knows {len(names)} config maps")

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def test_an_informer_follows_a_burst_of_changes(lone_kube: HttpKubeClient, lone_namespace: str) -> None:
    names = [f"map-{number:04}" for number in range(1_000)]
    follower = Follower(lone_kube, lone_namespace)
    await create_all(lone_kube, config_maps(lone_namespace, names))
    await follower.knows(names)
    for name in names[::2]:
        await lone_kube.delete(CONFIG_MAPS, name, namespace=lone_namespace)
    await follower.knows(names[1::2])
    assert len(follower.told) == len(set(follower.told)), "a change was told twice"
    await follower.stop()


@pytest.mark.parametrize("ending", ["stopped", "killed"])
async def test_an_informer_outlives_the_api_server(
    lone_server: ControlPlane, lone_kube: HttpKubeClient, lone_namespace: str, ending: str
) -> None:
    follower = Follower(lone_kube, lone_namespace)
    await create_all(lone_kube, config_maps(lone_namespace, ["before"]))
    await follower.knows(["before"])

    await asyncio.to_thread(lone_server.api_server.stop if ending == "stopped" else lone_server.api_server.kill)
    await asyncio.to_thread(lone_server.start_api_server)
    other = connect(lone_server.kubeconfig())
    await create_all(other, config_maps(lone_namespace, ["after"]))
    await other.delete(CONFIG_MAPS, "before", namespace=lone_namespace)
    await other.close()

    await follower.knows(["after"])
    # In which order depends on whether the new server still knows where the watch ended.
    assert sorted(follower.told) == [("ADDED", "after"), ("ADDED", "before"), ("DELETED", "before")]
    assert follower.informer.get(ObjectKey(lone_namespace, "after")) is not None
    await follower.stop()


async def test_a_watch_from_a_version_that_a_new_server_never_saw_is_gone(
    lone_server: ControlPlane, lone_kube: HttpKubeClient
) -> None:
    await asyncio.to_thread(lone_server.api_server.kill)
    await asyncio.to_thread(lone_server.start_api_server)
    watch = lone_kube.watch(NODES, resource_version="1")
    with pytest.raises(Gone):
        await anext(watch)
