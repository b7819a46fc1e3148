"""The controller loop: keys come out of a queue, `reconcile` looks at the world as it is, failures come round again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from karpenter.model.units import ObjectKey
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import Conflict, TerminalError, TooManyRequests
from karpenter.runtime.metrics import Metrics
from karpenter.runtime.queue import DEFAULT_BASE_DELAY_S, DEFAULT_MAX_DELAY_S, WorkQueue

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)

log = logs.get("runtime.controller")


@dataclass(frozen=True, slots=True)
class Result:
    """How a reconcile ended well."""

    requeue_after_s: float | None = None
    """Look again after so many seconds, 0 for at once; None waits for the next event."""


DONE: Final = Result()


class Reconciler(Protocol[K_contra]):
    """Brings the world one step closer to what is wanted for one key. It reads current state, whatever woke it."""

    @property
    def name(self) -> str:
        """The `controller` label of metrics and logs, from spec v1 §5.7."""
        ...

    async def reconcile(self, key: K_contra) -> Result:
        """Act on `key`. Raises TerminalError when only a change of the object can help, anything else to be retried."""
        ...


class Runnable(Protocol):
    """Something that runs for as long as the process does."""

    async def run(self) -> None:
        """Work until cancelled."""
        ...


async def run_all(*runnables: Runnable) -> None:
    """Run all of them until one fails, which ends the others and raises, or until cancelled."""
    async with asyncio.TaskGroup() as group:
        for runnable in runnables:
            group.create_task(runnable.run(), name=getattr(runnable, "name", type(runnable).__name__))


class Controller(Generic[K]):
    """Feeds keys to a reconciler: one key never twice at once, `workers` different ones in parallel.

    An exception is logged and retried with back-off; `Conflict` the same, quietly, since someone else was only faster;
    `TerminalError` waits for the next event. A reconcile that takes longer than `timeout_s` has failed.
    """

    def __init__(
        self,
        reconciler: Reconciler[K],
        *,
        clock: Clock,
        workers: int = 1,
        metrics: Metrics | None = None,
        base_delay_s: float = DEFAULT_BASE_DELAY_S,
        max_delay_s: float = DEFAULT_MAX_DELAY_S,
        timeout_s: float = 600.0,
    ) -> None:
        self.name = reconciler.name
        self._reconciler = reconciler
        self._workers = workers
        self._timeout_s = timeout_s
        self._reconciles = 0
        self._count = _Counts(reconciler.name, metrics or Metrics(clock), workers)
        self._queue: WorkQueue[K] = WorkQueue(
            clock, base_delay_s=base_delay_s, max_delay_s=max_delay_s, observer=self._count
        )

    def enqueue(self, key: K) -> None:
        """Let `key` be reconciled as soon as a worker is free."""
        self._queue.add(key)

    def enqueue_after(self, key: K, seconds: float) -> None:
        """Let `key` be reconciled in `seconds`."""
        self._queue.add_after(key, seconds)

    async def run(self) -> None:
        """Reconcile until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._workers):
                    group.create_task(self._work(), name=f"{self.name}-{number}")
        finally:
            self._queue.close()

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            try:
                await self._handle(key)
            finally:
                self._queue.done(key)

    async def _handle(self, key: K) -> None:
        self._reconciles += 1
        with logs.bound(controller=self.name, **_named(key), reconcileID=str(self._reconciles)):
            started = self._count.started()
            outcome = "error"
            try:
                async with asyncio.timeout(self._timeout_s):
                    result = await self._reconciler.reconcile(key)
                outcome = self._settle(key, result)
            except TerminalError as error:
                self._queue.forget(key)
                self._count.terminal_error()
                log.error("reconcile cannot succeed until the object changes", error=error)
            except Conflict as error:
                outcome = "requeue"
                log.debug("object changed meanwhile, reconciling again", error=error, retry_in_s=self._retry(key))
            except TooManyRequests as error:
                outcome = "requeue"
                log.debug("told to slow down", error=error, retry_in_s=self._retry(key, error.retry_after_s or 0.0))
            except Exception as error:
                log.error("reconcile failed", error=error, retry_in_s=self._retry(key))
            finally:
                self._count.finished(outcome, started)

    def _settle(self, key: K, result: Result) -> str:
        """Do what the result says; return its name in metrics."""
        self._queue.forget(key)
        if result.requeue_after_s is None:
            return "success"
        self._queue.add_after(key, result.requeue_after_s)
        return "requeue_after"

    def _retry(self, key: K, at_least_s: float = 0.0) -> float:
        self._count.retried()
        return self._queue.add_rate_limited(key, at_least_s=at_least_s)


class Singleton:
    """A controller without keys: `fn` runs at the start, every `interval_s` after it ended, and when triggered.

    Its result may ask for another delay once. Without an interval it runs only when triggered or when it asked to.
    Failures come round again with back-off, as any reconcile's.
    """

    def __init__(
        self,
        name: str,
        fn: Callable[[], Awaitable[Result | None]],
        interval_s: float | None = None,
        *,
        clock: Clock,
        metrics: Metrics | None = None,
        timeout_s: float = 600.0,
    ) -> None:
        self.name = name
        self._fn = fn
        self._interval_s = interval_s
        self._controller: Controller[str] = Controller(self, clock=clock, metrics=metrics, timeout_s=timeout_s)

    def trigger(self) -> None:
        """Run as soon as possible, once more if it is running just now."""
        self._controller.enqueue("")

    def trigger_after(self, seconds: float) -> None:
        """Run in `seconds`; of several such wishes the earliest counts."""
        self._controller.enqueue_after("", seconds)

    async def reconcile(self, key: str) -> Result:
        """Run once."""
        result = await self._fn()
        if result is not None and result.requeue_after_s is not None:
            return result
        return Result(self._interval_s)

    async def run(self) -> None:
        """Run again and again until cancelled."""
        if self._interval_s is not None:
            self.trigger()
        await self._controller.run()


def _named(key: object) -> dict[str, object]:
    match key:
        case ObjectKey():
            return {"namespace": key.namespace, "name": key.name} if key.namespace else {"name": key.name}
        case "":
            return {}
        case _:
            return {"name": str(key)}


class _Counts:
    """One controller's rows in the metrics, those of its queue included."""

    def __init__(self, name: str, metrics: Metrics, workers: int) -> None:
        self._reconciled = metrics.controller_runtime_reconcile_total
        self._name = name
        self._errors = metrics.controller_runtime_reconcile_errors_total.labels(name)
        self._terminal = metrics.controller_runtime_terminal_reconcile_errors_total.labels(name)
        self._duration = metrics.controller_runtime_reconcile_time_seconds.labels(name)
        self._active = metrics.controller_runtime_active_workers.labels(name)
        metrics.controller_runtime_max_concurrent_reconciles.labels(name).set(workers)
        self._depth = metrics.workqueue_depth.labels(name, name)
        self._adds = metrics.workqueue_adds_total.labels(name, name)
        self._retries = metrics.workqueue_retries_total.labels(name, name)
        self._waited = metrics.workqueue_queue_duration_seconds.labels(name, name)
        self._worked = metrics.workqueue_work_duration_seconds.labels(name, name)

    def added(self) -> None:
        self._adds.inc()
        self._depth.inc()

    def handed_out(self, waited_s: float) -> None:
        self._depth.dec()
        self._waited.observe(waited_s)

    def retried(self) -> None:
        self._retries.inc()

    def terminal_error(self) -> None:
        self._terminal.inc()

    def started(self) -> float:
        self._active.inc()
        return asyncio.get_running_loop().time()

    def finished(self, outcome: str, started: float) -> None:
        self._active.dec()
        took_s = asyncio.get_running_loop().time() - started
        self._duration.observe(took_s)
        self._worked.observe(took_s)
        self._reconciled.labels(self._name, outcome).inc()
        if outcome == "error":
            self._errors.inc()
