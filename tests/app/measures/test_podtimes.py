"""How long pods wait (spec v1 §5.3, `pods_*`)."""

import asyncio

from msgspec.structs import replace

from karpenter.app.measures.podtimes import PodTimes
from karpenter.model.core import Pod
from karpenter.model.units import to_rfc3339
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import WatchEvent
from karpenter.runtime.metrics import Metrics
from tests.builders import a_pod


class Life:
    """One pod, and what is said of it."""

    def __init__(self, clock: LoopClock) -> None:
        self.metrics = Metrics(clock)
        self.times = PodTimes(self.metrics, clock)
        pod = a_pod("p", unschedulable=True)
        self.pod: Pod = replace(pod, metadata=replace(pod.metadata, creation_timestamp=to_rfc3339(clock.now())))

    def happens(self, kind: str = "MODIFIED", *, phase: str = "Pending", node: str = "") -> None:
        status = replace(self.pod.status, phase=phase)
        self.pod = replace(self.pod, status=status, spec=replace(self.pod.spec, node_name=node))
        self.times.on_pod(WatchEvent(kind, self.pod, ""))  # type: ignore[arg-type]

    def value(self, metric: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"karpenter_pods_{metric}", labels)


async def test_a_pod_is_followed_from_creation_over_decision_and_binding_until_it_runs(clock: LoopClock) -> None:
    life = Life(clock)
    await asyncio.sleep(1)
    life.happens("ADDED")
    await asyncio.sleep(2)
    life.times.decided([life.pod], [])
    await asyncio.sleep(30)
    life.happens(node="n")
    await asyncio.sleep(3)
    life.happens(node="n", phase="Running")
    assert life.value("scheduling_decision_duration_seconds_sum") == 2
    assert life.value("bound_duration_seconds_sum") == 33
    assert life.value("provisioning_bound_duration_seconds_sum") == 30
    assert life.value("startup_duration_seconds_sum") == 36
    assert life.value("provisioning_startup_duration_seconds_sum") == 33


async def test_only_the_first_decision_counts(clock: LoopClock) -> None:
    life = Life(clock)
    life.happens("ADDED")
    life.times.decided([], [life.pod])
    await asyncio.sleep(10)
    life.times.decided([life.pod], [])
    assert life.value("scheduling_decision_duration_seconds_count") == 1
    assert life.value("scheduling_decision_duration_seconds_sum") == 0


async def test_a_pod_that_ran_before_we_looked_says_nothing(clock: LoopClock) -> None:
    life = Life(clock)
    life.happens("ADDED", node="n", phase="Running")
    assert life.value("startup_duration_seconds_count") in {None, 0}


async def test_ages_are_those_of_pods_still_on_their_way(clock: LoopClock) -> None:
    life = Life(clock)
    life.happens("ADDED")
    await asyncio.sleep(5)
    name = {"name": "p", "namespace": "default"}
    life.times.publish(clock.now())
    assert life.value("provisioning_scheduling_undecided_time_seconds", **name) == 5
    life.times.decided([life.pod], [])
    await asyncio.sleep(5)
    life.times.publish(clock.now())
    assert life.value("provisioning_scheduling_undecided_time_seconds", **name) is None
    assert life.value("provisioning_unbound_time_seconds", **name) == 5
    life.happens("DELETED")
    life.times.publish(clock.now())
    assert life.value("provisioning_unbound_time_seconds", **name) is None
