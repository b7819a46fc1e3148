"""Informers: what they know after lists, watches, cuts and writes of our own, and what subscribers hear."""

import asyncio
import logging
import random
from itertools import permutations

import pytest

from karpenter.model import core
from karpenter.model.units import ObjectKey
from karpenter.runtime.informer import Informer
from karpenter.runtime.kube import NODES, Gone, Listing, TooManyRequests, Unavailable
from karpenter.runtime.metrics import Metrics
from tests.runtime.scripted import ScriptedServer, a_node, added, bookmark, deleted, modified


def a_list(version: int, *nodes: core.Node) -> Listing[core.Node]:
    return Listing(nodes, str(version))


class Heard:
    """What a subscriber was told: `ADDED n1@5`."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, event) -> None:
        meta = event.object.metadata
        self.lines.append(f"{event.type} {meta.name}@{meta.resource_version}")

    def take(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines


@pytest.fixture
def heard() -> Heard:
    return Heard()


def an_informer(server: ScriptedServer, clock, heard: Heard | None = None) -> Informer[core.Node]:
    informer = Informer(server, NODES, clock=clock, source=random.Random(1))
    if heard is not None:
        informer.subscribe(heard)
    return informer


def known(informer: Informer[core.Node]) -> dict[str, str]:
    return {node.metadata.name: node.metadata.resource_version for node in informer.values()}


async def run_for(seconds: float, informer: Informer[core.Node]) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await informer.run()


async def test_the_list_is_known_and_told_before_it_counts_as_synced(clock, heard) -> None:
    informer = an_informer(ScriptedServer([a_list(7, a_node("n1", 3), a_node("n2", 5))]), clock, heard)
    assert not informer.has_synced
    async with asyncio.timeout(60):
        running = asyncio.create_task(informer.run())
        await informer.wait_synced()
    assert heard.take() == ["ADDED n1@3", "ADDED n2@5"]
    assert informer.get(ObjectKey("", "n2")) == a_node("n2", 5)
    assert informer.get(ObjectKey("", "n3")) is None
    running.cancel()


async def test_watch_events_change_what_is_known_in_order(clock, heard) -> None:
    events = [added(a_node("n2", 8)), modified(a_node("n1", 9)), deleted(a_node("n2", 10))]
    informer = an_informer(ScriptedServer([a_list(7, a_node("n1", 3))], [events]), clock, heard)
    await run_for(60, informer)
    assert heard.take() == ["ADDED n1@3", "ADDED n2@8", "MODIFIED n1@9", "DELETED n2@10"]
    assert known(informer) == {"n1": "9"}


async def test_a_cut_watch_resumes_at_once_from_the_last_event(clock) -> None:
    server = ScriptedServer([a_list(7)], [[20.0, added(a_node("n1", 8))], [30.0]])
    await run_for(60, an_informer(server, clock))
    assert server.calls == [("list", 0), ("watch 7", 0), ("watch 8", 20), ("watch 8", 50)]


async def test_a_bookmark_moves_the_place_to_resume_from_without_being_told(clock, heard) -> None:
    server = ScriptedServer([a_list(7)], [[bookmark(5_000), 10.0]])
    await run_for(60, an_informer(server, clock, heard))
    assert server.calls == [("list", 0), ("watch 7", 0), ("watch 5000", 10)]
    assert heard.take() == []


async def test_a_server_that_cuts_every_watch_at_once_is_not_hammered(clock) -> None:
    server = ScriptedServer([a_list(7)], [[] for _ in range(100)])
    await run_for(60, an_informer(server, clock))
    assert len(server.calls) < 12


async def test_a_watch_that_is_too_old_lists_again_and_tells_only_differences(clock, heard) -> None:
    before = a_list(7, a_node("stays", 1), a_node("changes", 2), a_node("vanishes", 3))
    after = a_list(90, a_node("stays", 1), a_node("changes", 80), a_node("comes", 85))
    server = ScriptedServer([before, after], [[10.0, bookmark(8), Gone("too old resource version")]])
    informer = an_informer(server, clock, heard)
    await run_for(60, informer)
    assert heard.take()[3:] == ["DELETED vanishes@3", "MODIFIED changes@80", "ADDED comes@85"]
    assert known(informer) == {"stays": "1", "changes": "80", "comes": "85"}
    assert [call for call, _ in server.calls] == ["list", "watch 7", "list", "watch 90"]


async def test_an_error_while_watching_resumes_with_back_off_and_without_a_list(clock) -> None:
    down = Unavailable("connection refused")
    server = ScriptedServer([a_list(7)], [[5.0, down], [down], [down]])
    await run_for(60, an_informer(server, clock))
    calls = [call for call, _ in server.calls]
    waits = [later - sooner for (_, sooner), (_, later) in zip(server.calls[2:], server.calls[3:], strict=False)]
    assert calls == ["list", "watch 7", "watch 7", "watch 7", "watch 7"]
    assert 0.5 <= waits[0] <= 1 <= waits[1] <= 2


async def test_a_list_that_fails_is_tried_ever_more_slowly_with_a_cap(clock) -> None:
    server = ScriptedServer([Unavailable("down")])
    await run_for(600, an_informer(server, clock))
    waits = [later - sooner for (_, sooner), (_, later) in zip(server.calls, server.calls[1:], strict=False)]
    assert waits[0] <= 0.5
    assert all(15 <= wait <= 30 for wait in waits[7:])
    assert len(set(waits[7:])) > 5, "jitter"


async def test_equal_random_sources_give_equal_back_off(clock) -> None:
    first, second = ScriptedServer([Unavailable("down")]), ScriptedServer([Unavailable("down")])
    await asyncio.gather(run_for(300, an_informer(first, clock)), run_for(300, an_informer(second, clock)))
    assert first.calls == second.calls


async def test_a_server_that_says_how_long_to_wait_is_obeyed(clock) -> None:
    server = ScriptedServer([TooManyRequests("busy", retry_after_s=40), a_list(7)])
    await run_for(60, an_informer(server, clock))
    assert server.calls == [("list", 0), ("list", 40), ("watch 7", 40)]


async def test_the_problem_is_known_until_the_watch_is_fine_again(clock) -> None:
    down = Unavailable("connection refused")
    informer = an_informer(ScriptedServer([down, down, a_list(7)]), clock)
    running = asyncio.create_task(informer.run())
    await asyncio.sleep(0.01)
    assert informer.problem is down
    await informer.wait_synced()
    assert informer.problem is None
    running.cancel()


async def test_one_problem_is_logged_loudly_once(clock, caplog) -> None:
    caplog.set_level(logging.INFO)
    await run_for(600, an_informer(ScriptedServer([Unavailable("connection refused")]), clock))
    assert len(caplog.records) == 1


async def test_a_folded_answer_is_known_and_told_at_once(clock, heard) -> None:
    informer = an_informer(
        ScriptedServer([a_list(7, a_node("n1", 3))], [[10.0, modified(a_node("n1", 8))]]), clock, heard
    )
    running = asyncio.create_task(informer.run())
    await informer.wait_synced()
    heard.take()
    informer.fold(a_node("n1", 8))
    informer.fold(a_node("n2", 9))
    assert heard.take() == ["MODIFIED n1@8", "ADDED n2@9"]
    await asyncio.sleep(20)
    assert heard.take() == [], "the watch's echo of our own write is no news"
    running.cancel()


async def test_older_news_does_not_overwrite_a_folded_answer(clock, heard) -> None:
    events = [10.0, modified(a_node("n1", 8, a="old")), modified(a_node("n1", 11, a="newest"))]
    informer = an_informer(ScriptedServer([a_list(7, a_node("n1", 3))], [events]), clock)
    running = asyncio.create_task(informer.run())
    await informer.wait_synced()
    informer.fold(a_node("n1", 9, a="ours"))
    informer.subscribe(heard)
    await asyncio.sleep(20)
    assert heard.take() == ["ADDED n1@9", "MODIFIED n1@11"]
    running.cancel()


async def test_a_late_answer_does_not_bring_back_what_the_watch_has_seen_deleted(clock) -> None:
    events = [added(a_node("n1", 8)), deleted(a_node("n1", 10))]
    informer = an_informer(ScriptedServer([a_list(7)], [events]), clock)
    await run_for(5, informer)
    informer.fold(a_node("n1", 9))
    assert known(informer) == {}


async def test_a_folded_deletion_is_told_at_once_and_older_news_does_not_undo_it(clock, heard) -> None:
    events = [10.0, modified(a_node("n1", 8)), deleted(a_node("n1", 9)), added(a_node("n1", 12, uid="another"))]
    informer = an_informer(ScriptedServer([a_list(7, a_node("n1", 3))], [events]), clock, heard)
    running = asyncio.create_task(informer.run())
    await informer.wait_synced()
    informer.fold_deleted(ObjectKey("", "n1"))
    assert heard.take() == ["ADDED n1@3", "DELETED n1@3"]
    await asyncio.sleep(20)
    assert heard.take() == ["ADDED n1@12"]
    running.cancel()


async def test_a_folded_deletion_of_one_uid_leaves_its_successor_alone(clock) -> None:
    informer = an_informer(ScriptedServer([a_list(7, a_node("n1", 3, uid="second"))]), clock)
    await run_for(1, informer)
    informer.fold_deleted(ObjectKey("", "n1"), uid="first")
    assert known(informer) == {"n1": "3"}


async def test_the_late_end_of_an_object_does_not_take_its_folded_successor_away(clock) -> None:
    events = [10.0, deleted(a_node("n1", 9)), added(a_node("n1", 12, uid="second"))]
    informer = an_informer(ScriptedServer([a_list(7, a_node("n1", 3))], [events]), clock)
    running = asyncio.create_task(informer.run())
    await informer.wait_synced()
    informer.fold(a_node("n1", 12, uid="second"))
    informer.subscribe(heard := Heard())
    await asyncio.sleep(20)
    assert heard.take() == ["ADDED n1@12"]
    running.cancel()


async def test_a_list_that_was_under_way_does_not_bring_back_what_was_folded_as_gone(clock) -> None:
    lists = [a_list(7, a_node("n1", 3)), a_list(8, a_node("n1", 3))]
    server = ScriptedServer(lists, [[bookmark(7), 10.0, Gone("old")], [60.0]], list_takes_s=5)
    informer = an_informer(server, clock)
    running = asyncio.create_task(informer.run())
    await asyncio.sleep(17)  # the second list runs from 15 s to 20 s
    informer.fold_deleted(ObjectKey("", "n1"))
    await asyncio.sleep(10)
    assert known(informer) == {}
    running.cancel()


async def test_what_a_later_list_shows_is_there_although_it_was_folded_as_gone(clock) -> None:
    lists = [a_list(7, a_node("n1", 3)), a_list(8, a_node("n1", 3))]
    informer = an_informer(ScriptedServer(lists, [[bookmark(7), 10.0, Gone("old")]]), clock)
    running = asyncio.create_task(informer.run())
    await informer.wait_synced()
    informer.fold_deleted(ObjectKey("", "n1"))
    assert known(informer) == {}
    await asyncio.sleep(20)
    assert known(informer) == {"n1": "3"}
    running.cancel()


async def test_an_object_that_was_deleted_and_created_again_is_told_as_both(clock, heard) -> None:
    informer = an_informer(
        ScriptedServer([a_list(7, a_node("n1", 3)), a_list(50, a_node("n1", 40, uid="another"))], [[Gone("old")]]),
        clock,
        heard,
    )
    await run_for(60, informer)
    assert heard.take() == ["ADDED n1@3", "DELETED n1@3", "ADDED n1@40"]


async def test_a_list_does_not_undo_what_was_folded_after_it_was_made(clock) -> None:
    informer = an_informer(ScriptedServer([a_list(7, a_node("n1", 3))]), clock)
    informer.fold(a_node("n1", 9))
    informer.fold(a_node("n2", 8))
    await run_for(60, informer)
    assert known(informer) == {"n1": "9", "n2": "8"}


async def test_a_server_restored_from_a_backup_is_believed(clock) -> None:
    lists = [a_list(900, a_node("n1", 800), a_node("n2", 850)), a_list(40, a_node("n1", 30))]
    informer = an_informer(ScriptedServer(lists, [[Gone("from the future")]]), clock)
    await run_for(60, informer)
    assert known(informer) == {"n1": "30"}


async def test_a_late_subscriber_is_told_what_there_is(clock, heard) -> None:
    informer = an_informer(ScriptedServer([a_list(7, a_node("n1", 3))]), clock)
    await run_for(1, informer)
    informer.subscribe(heard)
    assert heard.take() == ["ADDED n1@3"]


async def test_a_failing_handler_is_counted_and_the_others_still_hear(clock, heard, caplog) -> None:
    metrics = Metrics(clock)
    informer = Informer(ScriptedServer([a_list(7, a_node("n1", 3))]), NODES, clock=clock, metrics=metrics)

    def broken(event) -> None:
        raise ValueError("bug")

    informer.subscribe(broken)
    informer.subscribe(heard)
    await run_for(1, informer)
    assert heard.take() == ["ADDED n1@3"]
    labels = {"kind": "Node"}
    assert metrics.registry.get_sample_value("karpenter_informer_handler_errors_total", labels) == 1
    assert [record.message for record in caplog.records] == ["informer handler failed"]


async def test_raw_objects_are_known_by_their_metadata(clock) -> None:
    pool = {"metadata": {"name": "default", "uid": "u", "resourceVersion": "5"}}
    informer = an_informer(ScriptedServer([Listing((pool,), "7")]), clock)
    await run_for(1, informer)
    assert informer.get(ObjectKey("", "default")) is pool


@pytest.mark.parametrize("order", list(permutations(range(4))))
async def test_any_order_of_our_answers_and_the_watch_ends_in_the_same_state(clock, order) -> None:
    """The stream keeps its order; answers to our writes may come before, between or after it, in any order."""
    writes = [a_node("n1", 8), a_node("n2", 9), a_node("n1", 10), a_node("n2", 11)]
    stream = [step for write in writes for step in (10.0, modified(write))]
    informer = an_informer(ScriptedServer([a_list(7, a_node("n1", 1), a_node("n2", 2))], [stream]), clock)
    running = asyncio.create_task(informer.run())
    await informer.wait_synced()
    for position in order:
        await asyncio.sleep(7)
        informer.fold(writes[position])
    await asyncio.sleep(60)
    assert known(informer) == {"n1": "10", "n2": "11"}
    running.cancel()
