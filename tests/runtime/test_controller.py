"""The controller loop: retries, terminal errors, one key at a time, singletons."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from karpenter.model.units import ObjectKey
from karpenter.runtime.controller import Controller, Result, Singleton, run_all
from karpenter.runtime.kube import Conflict, TerminalError, TooManyRequests
from karpenter.runtime.metrics import Metrics


def now() -> float:
    return asyncio.get_running_loop().time()


class Recording:
    """A reconciler that notes when it is called and does what its script says, `None` for success."""

    name = "test.recording"

    def __init__(self, *script: Result | Exception | None, takes_s: float = 0.0) -> None:
        self.script = list(script)
        self.calls: list[tuple[str, float]] = []
        self.takes_s = takes_s
        self.running: set[str] = set()
        self.most_at_once = 0

    async def reconcile(self, key: str) -> Result:
        assert key not in self.running, "one key was handled twice at once"
        self.running.add(key)
        self.most_at_once = max(self.most_at_once, len(self.running))
        self.calls.append((key, now()))
        try:
            await asyncio.sleep(self.takes_s)
        finally:
            self.running.discard(key)
        outcome = self.script.pop(0) if self.script else None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome or Result()


async def run_for(seconds: float, *runnables, meanwhile: Callable[[], Awaitable[None]] | None = None) -> None:
    try:
        async with asyncio.timeout(seconds):
            async with asyncio.TaskGroup() as group:
                group.create_task(run_all(*runnables))
                if meanwhile is not None:
                    group.create_task(meanwhile())
    except TimeoutError:
        pass


async def test_a_key_is_reconciled_once_however_often_it_was_enqueued(clock) -> None:
    reconciler = Recording()
    controller = Controller(reconciler, clock=clock)
    controller.enqueue("a")
    controller.enqueue("a")
    await run_for(60, controller)
    assert reconciler.calls == [("a", 0.0)]


async def test_a_failure_is_retried_with_growing_delays_until_it_works(clock) -> None:
    reconciler = Recording(OSError("no"), OSError("no"), OSError("no"))
    controller = Controller(reconciler, clock=clock)
    controller.enqueue("a")
    await run_for(60, controller)
    assert [at for _, at in reconciler.calls] == pytest.approx([0, 0.1, 0.3, 0.7])


async def test_a_failure_is_logged_with_key_and_error(clock, caplog) -> None:
    controller: Controller[ObjectKey] = Controller(Recording(OSError("disk on fire")), clock=clock)
    controller.enqueue(ObjectKey("web", "api-0"))
    await run_for(60, controller)
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.message == "reconcile failed"
    assert record.fields["controller"] == "test.recording"
    assert (record.fields["namespace"], record.fields["name"]) == ("web", "api-0")
    assert str(record.fields["error"]) == "disk on fire"


async def test_success_starts_the_back_off_from_the_beginning(clock) -> None:
    reconciler = Recording(OSError("no"), OSError("no"), Result(requeue_after_s=10), OSError("no"))
    controller = Controller(reconciler, clock=clock)
    controller.enqueue("a")
    await run_for(60, controller)
    assert [at for _, at in reconciler.calls] == pytest.approx([0, 0.1, 0.3, 10.3, 10.4])


async def test_a_conflict_is_reconciled_again_without_an_error_in_the_log(clock, caplog) -> None:
    reconciler = Recording(Conflict("stale"))
    controller = Controller(reconciler, clock=clock)
    controller.enqueue("a")
    await run_for(60, controller)
    assert len(reconciler.calls) == 2
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


async def test_a_server_that_says_how_long_to_wait_is_obeyed(clock) -> None:
    reconciler = Recording(TooManyRequests("slow down", retry_after_s=20))
    controller = Controller(reconciler, clock=clock)
    controller.enqueue("a")
    await run_for(60, controller)
    assert [at for _, at in reconciler.calls] == [0.0, 20.0]


async def test_a_terminal_error_waits_for_the_next_event(clock) -> None:
    reconciler = Recording(TerminalError("no such instance type"))
    controller = Controller(reconciler, clock=clock)
    controller.enqueue("a")

    async def edit_the_object() -> None:
        await asyncio.sleep(30)
        controller.enqueue("a")

    await run_for(3600, controller, meanwhile=edit_the_object)
    assert [at for _, at in reconciler.calls] == [0.0, 30.0]


async def test_a_result_can_ask_to_be_looked_at_later(clock) -> None:
    reconciler = Recording(Result(requeue_after_s=90))
    controller = Controller(reconciler, clock=clock)
    controller.enqueue("a")
    await run_for(3600, controller)
    assert [at for _, at in reconciler.calls] == [0.0, 90.0]


async def test_workers_handle_different_keys_at_once_but_never_one_key_twice(clock) -> None:
    reconciler = Recording(takes_s=5)
    controller = Controller(reconciler, clock=clock, workers=3)
    for key in "abcd":
        controller.enqueue(key)

    async def change_everything() -> None:
        await asyncio.sleep(1)
        for key in "abcd":
            controller.enqueue(key)

    await run_for(60, controller, meanwhile=change_everything)
    assert reconciler.most_at_once == 3
    assert sorted(key for key, _ in reconciler.calls) == ["a", "a", "b", "b", "c", "c", "d"]


async def test_a_reconcile_that_hangs_is_ended_and_retried(clock) -> None:
    reconciler = Recording(takes_s=1e9)
    controller = Controller(reconciler, clock=clock, timeout_s=30)
    controller.enqueue("a")
    await run_for(31, controller)
    assert [at for _, at in reconciler.calls] == pytest.approx([0, 30.1])


async def test_a_cancelled_controller_stops_in_the_middle_and_leaves_no_timer(clock) -> None:
    controller = Controller(Recording(takes_s=100), clock=clock)
    controller.enqueue("a")
    controller.enqueue_after("b", 500)
    await run_for(1, controller)
    await asyncio.sleep(0)
    assert now() == 1.0


async def test_reconciles_are_counted_by_outcome(clock) -> None:
    metrics = Metrics(clock)
    controller = Controller(
        Recording(OSError("no"), Conflict("stale"), Result(requeue_after_s=1), takes_s=2), clock=clock, metrics=metrics
    )
    controller.enqueue("a")
    await run_for(60, controller)

    def total(result: str) -> float | None:
        return metrics.registry.get_sample_value(
            "controller_runtime_reconcile_total", {"controller": "test.recording", "result": result}
        )

    assert {result: total(result) for result in ("error", "requeue", "requeue_after", "success")} == {
        "error": 1, "requeue": 1, "requeue_after": 1, "success": 1,
    }  # fmt: skip
    queue = {"name": "test.recording", "controller": "test.recording"}
    assert metrics.registry.get_sample_value("workqueue_depth", queue) == 0
    assert metrics.registry.get_sample_value("workqueue_adds_total", queue) == 4
    assert metrics.registry.get_sample_value("workqueue_retries_total", queue) == 2
    assert metrics.registry.get_sample_value("workqueue_work_duration_seconds_sum", queue) == 8


async def test_a_singleton_runs_at_the_start_and_every_interval(clock) -> None:
    runs: list[float] = []

    async def collect() -> None:
        runs.append(now())

    await run_for(25, Singleton("garbage", collect, 10, clock=clock))
    assert runs == [0.0, 10.0, 20.0]


async def test_a_singleton_can_ask_for_another_delay_and_be_triggered(clock) -> None:
    runs: list[float] = []

    async def disrupt() -> Result:
        runs.append(now())
        return Result(requeue_after_s=1) if len(runs) == 1 else Result()

    singleton = Singleton("disruption", disrupt, 10, clock=clock)

    async def trigger() -> None:
        await asyncio.sleep(4)
        singleton.trigger()

    await run_for(12, singleton, meanwhile=trigger)
    assert runs == [0.0, 1.0, 4.0, 11.0]


async def test_a_singleton_without_an_interval_waits_to_be_triggered(clock) -> None:
    runs: list[float] = []

    async def provision() -> None:
        runs.append(now())

    singleton = Singleton("provisioner", provision, clock=clock)

    async def trigger() -> None:
        await asyncio.sleep(7)
        singleton.trigger()

    await run_for(60, singleton, meanwhile=trigger)
    assert runs == [7.0]


async def test_of_several_wishes_for_later_the_earliest_counts(clock) -> None:
    runs: list[float] = []

    async def look() -> Result:
        runs.append(now())
        return Result(requeue_after_s=3600)

    singleton = Singleton("disruption", look, clock=clock)

    async def change() -> None:
        singleton.trigger()
        for _ in range(3):
            await asyncio.sleep(4)
            singleton.trigger_after(10)

    await run_for(60, singleton, meanwhile=change)
    assert runs == [0.0, 14.0]


async def test_when_one_runnable_fails_the_others_end_and_the_failure_is_raised(clock) -> None:
    class Broken:
        async def run(self) -> None:
            await asyncio.sleep(3)
            raise ValueError("bug")

    with pytest.raises(ExceptionGroup) as caught:
        await run_all(Controller(Recording(), clock=clock), Broken())
    assert [str(error) for error in caught.value.exceptions] == ["bug"]
