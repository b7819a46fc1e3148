"""What every stand-in is given, and how those that reconcile keys are run."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Controller, Reconciler, Result, run_all
from karpenter.runtime.events import EventRecorder, RateLimit
from karpenter.runtime.kube import Forbidden, KubeClient, NotFound
from karpenter.runtime.metrics import Metrics
from karpenter.sim.informers import SharedInformers

K = TypeVar("K", bound=Hashable)

log = logs.get("sim")

_EVENT_LIMIT: Final = RateLimit(per_s=1000, burst=10_000)
"""The API of a cluster in one process is not shared with anybody who would need protection from its events."""


class Recorders:
    """One event recorder for each component that events come from."""

    def __init__(self, kube: KubeClient, clock: Clock, metrics: Metrics) -> None:
        self._kube = kube
        self._clock = clock
        self._metrics = metrics
        self._recorders: dict[str, EventRecorder] = {}

    def of(self, component: str) -> EventRecorder:
        """Return the recorder of a component; to be asked for before `run`."""
        if component not in self._recorders:
            self._recorders[component] = EventRecorder(
                self._kube, self._clock, component, metrics=self._metrics, write_limit=_EVENT_LIMIT
            )
        return self._recorders[component]

    async def run(self) -> None:
        """Write events until cancelled."""
        await run_all(*self._recorders.values())


@dataclass(frozen=True, slots=True)
class Context:
    """The cluster as a stand-in meets it."""

    kube: KubeClient
    clock: Clock
    informers: SharedInformers
    events: Recorders
    metrics: Metrics


K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class Enqueue(Protocol[K_contra]):
    """Asks for a look at a key: at once, or in `after_s` so that one look serves many changes."""

    def __call__(self, key: K_contra, *, after_s: float = 0.0) -> None: ...


class Watching(Reconciler[K], Protocol):
    """A reconciler that knows itself what has to wake it."""

    def watch(self, enqueue: Enqueue[K]) -> None:
        """Subscribe to what matters; from now on call `enqueue` with each key that may need a look."""
        ...


class StandIn(Generic[K]):
    """Runs a reconciler once the informers have listed everything."""

    def __init__(self, reconciler: Watching[K], context: Context, *, workers: int = 4) -> None:
        self.name = reconciler.name
        self._reconciler = reconciler
        self._informers = context.informers
        self._controller = Controller(self, clock=context.clock, workers=workers, metrics=context.metrics)

    def _enqueue(self, key: K, *, after_s: float = 0.0) -> None:
        if after_s > 0:
            self._controller.enqueue_after(key, after_s)
        else:
            self._controller.enqueue(key)

    async def reconcile(self, key: K) -> Result:
        """Reconcile one key. What vanished meanwhile, or vanishes with its namespace, needs nothing more."""
        try:
            return await self._reconciler.reconcile(key)
        except NotFound as error:
            log.debug("gone meanwhile", controller=self.name, error=error)
        except Forbidden as error:
            if not any(cause.get("reason") == "NamespaceTerminating" for cause in error.details.get("causes", ())):
                raise
            log.debug("its namespace is going away", controller=self.name, error=error)
        return DONE

    async def run(self) -> None:
        """Reconcile until cancelled."""
        await self._informers.wait_synced()
        self._reconciler.watch(self._enqueue)
        await self._controller.run()
