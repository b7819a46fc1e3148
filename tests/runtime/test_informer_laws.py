"""Laws of informers: whatever happens, in the end they know what the server knows, and subscribers could follow."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from karpenter.model.units import ObjectKey
from karpenter.runtime.clock import Clock
from karpenter.runtime.identity import key_of, version_of
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import CONFIG_MAPS, KubeError, RawObject, WatchEvent
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.sim.loop import run_simulation

NAMES = st.sampled_from(["a", "b"])
LATENESS_S = st.sampled_from([0.0, 0.1, 5.0, None])
"""When the answer to a write is folded in: at once, soon, late, never."""

STEPS = st.one_of(
    st.tuples(st.just("create"), NAMES, LATENESS_S),
    st.tuples(st.just("patch"), NAMES, LATENESS_S),
    st.tuples(st.just("delete"), NAMES, LATENESS_S),
    st.tuples(st.just("cut"), st.just(""), st.none()),
    st.tuples(st.just("forget"), st.just(""), st.none()),
    st.tuples(st.just("wait"), st.just(""), st.none()),
)


class Follower:
    """A subscriber that builds its own picture and insists that every event makes sense in it."""

    def __init__(self) -> None:
        self.picture: dict[ObjectKey, RawObject] = {}

    def __call__(self, event: WatchEvent[RawObject]) -> None:
        assert event.object is not None
        key = key_of(event.object)
        if event.type == "ADDED":
            assert key not in self.picture
            self.picture[key] = event.object
        elif event.type == "MODIFIED":
            assert self.picture[key]["metadata"]["uid"] == event.object["metadata"]["uid"]
            assert int(version_of(event.object)) > int(version_of(self.picture[key])), "news is newer"
            self.picture[key] = event.object
        else:
            assert event.type == "DELETED"
            del self.picture[key]


class World:
    """A server, an informer of it and a writer that folds answers in sooner or later."""

    def __init__(self, clock: Clock) -> None:
        self.store = MemoryStore(clock)
        self.kube = MemoryKubeClient(self.store)
        self.informer = Informer(self.kube, CONFIG_MAPS, clock=clock)
        self.follower = Follower()
        self.broken: list[Exception] = []
        self.informer.subscribe(self.follow)
        self.serial = 0

    def follow(self, event: WatchEvent[RawObject]) -> None:
        try:
            self.follower(event)
        except Exception as error:
            self.broken.append(error)

    async def do(self, step: tuple[str, str, float | None]) -> None:
        action, name, lateness_s = step
        match action:
            case "cut":
                self.store.cut_watches()
            case "forget":
                self.store.cut_watches()
                self.store.compact()
            case "wait":
                await asyncio.sleep(1)
            case _:
                await self.write(action, name, lateness_s)

    async def write(self, action: str, name: str, lateness_s: float | None) -> None:
        self.serial += 1
        body: dict[str, Any] = {"metadata": {"name": name}, "data": {"serial": str(self.serial)}}
        loop, fold = asyncio.get_running_loop(), self.informer
        try:
            if action == "create":
                answer = await self.kube.create(CONFIG_MAPS, body, namespace="default")
            elif action == "patch":
                answer = await self.kube.patch(CONFIG_MAPS, name, body, namespace="default")
            else:
                uid = (await self.kube.get(CONFIG_MAPS, name, namespace="default"))["metadata"]["uid"]
                await self.kube.delete(CONFIG_MAPS, name, namespace="default")
                if lateness_s is not None:
                    loop.call_later(lateness_s, fold.fold_deleted, ObjectKey("default", name), uid)
                return
        except KubeError:  # there already, or not there
            return
        if lateness_s is not None:
            loop.call_later(lateness_s, fold.fold, answer)


@given(st.lists(STEPS, max_size=25))
def test_in_the_end_an_informer_and_its_subscribers_know_what_the_server_knows(steps) -> None:
    async def main(clock: Clock) -> None:
        world = World(clock)
        running = asyncio.create_task(world.informer.run())
        for step in steps:
            await world.do(step)
        await asyncio.sleep(120)
        listed = {key_of(obj): obj for obj in (await world.kube.list(CONFIG_MAPS)).items}
        assert {key_of(obj): obj for obj in world.informer.values()} == listed
        assert world.follower.picture == listed
        assert world.broken == []
        running.cancel()

    run_simulation(main)


@given(st.lists(st.tuples(st.sampled_from(["create", "patch", "delete"]), NAMES), max_size=12))
def test_a_write_whose_answer_is_folded_in_is_seen_by_the_next_look(steps) -> None:
    """Read your writes: architecture §4."""

    async def main(clock: Clock) -> None:
        world = World(clock)
        running = asyncio.create_task(world.informer.run())
        await world.informer.wait_synced()
        for action, name in steps:
            await world.write(action, name, 0.0)
            await asyncio.sleep(0)
            listed = {key_of(obj): obj for obj in (await world.kube.list(CONFIG_MAPS)).items}
            assert {key_of(obj): obj for obj in world.informer.values()} == listed
        running.cancel()

    run_simulation(main)
