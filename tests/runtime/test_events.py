"""Events: each fact once (EVT-1), counts, limits, what `kubectl describe` needs."""

import asyncio
from typing import Any

import pytest

from karpenter.runtime.events import REASON_LIMITS, EventRecorder, ObjectRef, RateLimit, ref_to
from karpenter.runtime.kube import EVENTS, NAMESPACES, NODES, Unavailable
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.runtime.metrics import Metrics

POD = ObjectRef("v1", "Pod", "api-0", "web", "uid-1", "17")
NODE = ObjectRef("v1", "Node", "n1", uid="uid-2")


class Failing(MemoryKubeClient):
    """An API server that cannot be reached for its first few writes."""

    def __init__(self, store: MemoryStore, failures: int) -> None:
        super().__init__(store)
        self.failures = failures

    async def create(self, *args: Any, **kwargs: Any) -> Any:
        if self.failures:
            self.failures -= 1
            raise Unavailable("connection refused")
        return await super().create(*args, **kwargs)


@pytest.fixture
async def store(clock) -> MemoryStore:
    store = MemoryStore(clock)
    await MemoryKubeClient(store).create(NAMESPACES, {"metadata": {"name": "web"}})
    return store


@pytest.fixture
def kube(store) -> MemoryKubeClient:
    return MemoryKubeClient(store)


@pytest.fixture
def recorder(kube, clock) -> EventRecorder:
    return EventRecorder(kube, clock)


async def events_of(kube: MemoryKubeClient) -> list[dict[str, Any]]:
    return sorted(
        (await kube.list(EVENTS)).items, key=lambda event: (event["involvedObject"]["name"], event["message"])
    )


async def test_an_event_says_all_that_kubectl_shows(recorder, kube) -> None:
    recorder.record(POD, "Warning", "FailedScheduling", "no pool fits")
    await recorder.flush()
    (event,) = await events_of(kube)
    metadata = event.pop("metadata")
    assert metadata["namespace"] == "web"
    assert metadata["name"].startswith("api-0.")
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "api-0",
            "namespace": "web",
            "uid": "uid-1",
            "resourceVersion": "17",
        },
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": "no pool fits",
        "source": {"component": "karpenter"},
        "reportingComponent": "karpenter",
        "reportingInstance": "karpenter",
        "firstTimestamp": "2023-11-14T22:13:20Z",
        "lastTimestamp": "2023-11-14T22:13:20Z",
        "count": 1,
    }


async def test_an_event_on_a_cluster_scoped_object_lives_in_the_default_namespace(recorder, kube) -> None:
    recorder.record(NODE, "Normal", "DisruptionBlocked", "pdb default/db")
    await recorder.flush()
    (event,) = await events_of(kube)
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["involvedObject"]


async def test_the_same_event_is_dropped_for_two_minutes_and_then_counted(recorder, kube) -> None:
    """EVT-1."""
    for _ in range(13):  # at 0 s, 10 s … 120 s
        recorder.record(POD, "Warning", "FailedScheduling", "no pool fits")
        await recorder.flush()
        await asyncio.sleep(10)
    (event,) = await events_of(kube)
    assert (event["count"], event["firstTimestamp"], event["lastTimestamp"]) == (
        2, "2023-11-14T22:13:20Z", "2023-11-14T22:15:20Z",
    )  # fmt: skip


async def test_a_caller_can_drop_equal_events_for_longer(recorder, kube) -> None:
    recorder.record(NODE, "Normal", "Unconsolidatable", "no cheaper type", dedupe_s=900)
    await asyncio.sleep(600)
    recorder.record(NODE, "Normal", "Unconsolidatable", "no cheaper type", dedupe_s=900)
    await recorder.flush()
    assert [event["count"] for event in await events_of(kube)] == [1]


async def test_another_message_type_reason_or_object_is_another_event(recorder, kube) -> None:
    recorder.record(POD, "Warning", "FailedScheduling", "no pool fits")
    recorder.record(POD, "Warning", "FailedScheduling", "limits reached")
    recorder.record(POD, "Normal", "FailedScheduling", "no pool fits")
    recorder.record(POD, "Warning", "Evicted", "no pool fits")
    recorder.record(NODE, "Warning", "FailedScheduling", "no pool fits")
    recorder.record(ObjectRef("v1", "Pod", "api-0", "web", "uid-of-successor"), "Warning", "Evicted", "no pool fits")
    await recorder.flush()
    assert len(await events_of(kube)) == 6


async def test_a_key_makes_different_messages_one_fact_whose_last_message_is_shown(recorder, kube) -> None:
    recorder.record(NODE, "Warning", "FailedDraining", "3 pods are waiting to be evicted", dedupe_key="pods")
    recorder.record(NODE, "Warning", "FailedDraining", "2 pods are waiting to be evicted", dedupe_key="pods")
    await recorder.flush()
    await asyncio.sleep(120)
    recorder.record(NODE, "Warning", "FailedDraining", "1 pods are waiting to be evicted", dedupe_key="pods")
    await recorder.flush()
    assert [(event["message"], event["count"]) for event in await events_of(kube)] == [
        ("1 pods are waiting to be evicted", 2)
    ]


async def test_counting_goes_on_after_a_restart(kube, clock) -> None:
    for _ in range(3):
        recorder = EventRecorder(kube, clock)
        recorder.record(POD, "Warning", "FailedScheduling", "no pool fits")
        await recorder.flush()
    assert [event["count"] for event in await events_of(kube)] == [3]


async def test_an_event_that_the_server_has_forgotten_is_written_anew(recorder, kube) -> None:
    recorder.record(POD, "Warning", "FailedScheduling", "no pool fits")
    await recorder.flush()
    (event,) = await events_of(kube)
    await kube.delete(EVENTS, event["metadata"]["name"], namespace="web")
    await asyncio.sleep(3600)
    recorder.record(POD, "Warning", "FailedScheduling", "no pool fits")
    await recorder.flush()
    assert [event["count"] for event in await events_of(kube)] == [1]


async def test_a_reason_that_comes_with_every_pod_is_limited(recorder, kube) -> None:
    """Spec v1alpha5 §6.4: Nominated 5 a second, at most 10 at once."""
    assert REASON_LIMITS["Nominated"] == RateLimit(5, 10)
    for number in range(50):
        recorder.record(ObjectRef("v1", "Pod", f"p{number}", "web"), "Normal", "Nominated", "should go to n1")
    await asyncio.sleep(1)
    for number in range(50, 100):
        recorder.record(ObjectRef("v1", "Pod", f"p{number}", "web"), "Normal", "Nominated", "should go to n1")
    await recorder.flush()
    assert len(await events_of(kube)) == 15


async def test_many_events_wait_in_line_for_the_api_server(kube, clock) -> None:
    recorder = EventRecorder(kube, clock, write_limit=RateLimit(10, 20))
    for number in range(50):
        recorder.record(ObjectRef("v1", "Pod", f"p{number}", "web"), "Warning", "FailedScheduling", "no pool fits")
    await recorder.flush()
    assert len(await events_of(kube)) == 50
    assert asyncio.get_running_loop().time() == pytest.approx(3, abs=0.01)


async def test_the_recorder_writes_in_the_background(recorder, kube) -> None:
    running = asyncio.create_task(recorder.run())
    for second in (1, 2):
        recorder.record(POD, "Warning", "FailedScheduling", f"reason {second}")
        await asyncio.sleep(1)
        assert len(await events_of(kube)) == second
    running.cancel()


async def test_an_unreachable_server_is_tried_again(store, clock) -> None:
    kube = Failing(store, failures=3)
    recorder = EventRecorder(kube, clock)
    recorder.record(POD, "Warning", "FailedScheduling", "no pool fits")
    await recorder.flush()
    assert len(await events_of(kube)) == 1


async def test_what_cannot_be_written_is_counted_and_forgotten(store, clock) -> None:
    metrics = Metrics(clock)
    recorder = EventRecorder(Failing(store, failures=100), clock, metrics=metrics)
    recorder.record(POD, "Warning", "FailedScheduling", "no pool fits")
    recorder.record(ObjectRef("v1", "Pod", "p", "no-such-namespace"), "Normal", "Evicted", "drained")
    await recorder.flush()
    recorder_of_refused = EventRecorder(MemoryKubeClient(store), clock, metrics=metrics)
    recorder_of_refused.record(ObjectRef("v1", "Pod", "p", "no-such-namespace"), "Normal", "Evicted", "drained")
    await recorder_of_refused.flush()
    value = metrics.registry.get_sample_value
    assert value("karpenter_events_dropped_total", {"cause": "unreachable"}) == 2
    assert value("karpenter_events_dropped_total", {"cause": "refused"}) == 1


async def test_a_very_long_message_is_cut(recorder, kube) -> None:
    recorder.record(POD, "Warning", "FailedScheduling", "x" * 10_000)
    await recorder.flush()
    (event,) = await events_of(kube)
    assert len(event["message"]) == 4096
    assert event["message"].endswith("…")


async def test_a_reference_names_wire_structs_and_raw_objects(kube) -> None:
    node = await kube.create(NODES, {"metadata": {"name": "n1"}})
    assert ref_to(NODES, node) == ObjectRef(
        "v1", "Node", "n1", uid=node.metadata.uid, resource_version=node.metadata.resource_version
    )
    event = {"metadata": {"name": "e", "namespace": "web", "uid": "u"}}
    assert ref_to(EVENTS, event) == ObjectRef("v1", "Event", "e", "web", "u")
