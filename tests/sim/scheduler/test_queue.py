"""The order of pods, and when a pod that failed is tried again."""

from karpenter.model.units import ObjectKey
from karpenter.sim.scheduler.podfacts import PodFacts, facts_of
from karpenter.sim.scheduler.queue import ANY_NUMBER, Helped, QueuedPod, SchedulingQueue
from tests.builders import a_pod

FIT = frozenset({"NodeResourcesFit"})
FACTS = facts_of(a_pod())


def queued(name: str, *, priority: int = 0, created: float = 0.0, facts: PodFacts = FACTS) -> QueuedPod:
    return QueuedPod(name, ObjectKey("default", name), facts, priority, created)


def rejected_by(plugin: str) -> Helped:
    return lambda _, plugins: ANY_NUMBER if plugin in plugins else 0


def anybody(_: PodFacts, plugins: frozenset[str]) -> int:
    return len(plugins) and ANY_NUMBER


def queue_of(*pods: QueuedPod) -> SchedulingQueue:
    queue = SchedulingQueue()
    for pod in pods:
        queue.put(pod, now=0.0)
    return queue


def order(queue: SchedulingQueue, now: float = 0.0) -> list[str]:
    names = []
    while (pod := queue.pop(now)) is not None:
        names.append(pod.uid)
    return names


def test_important_pods_go_first_then_older_ones() -> None:
    queue = queue_of(queued("young", created=2.0), queued("old", created=1.0), queued("vip", priority=10, created=3.0))
    assert order(queue) == ["vip", "old", "young"]


def test_a_pod_that_nobody_takes_waits_for_an_event() -> None:
    queue = queue_of(queued("a"))
    queue.give_up(queue.pop(0.0), FIT, 0.0)
    assert order(queue, 200.0) == []
    queue.wake(200.0, helped=rejected_by("NodeResourcesFit"))
    assert order(queue, 200.0) == ["a"]


def test_events_that_cannot_help_wake_nobody() -> None:
    queue = queue_of(queued("a"))
    queue.give_up(queue.pop(0.0), FIT, 0.0)
    queue.wake(1.0, helped=rejected_by("NodeAffinity"))
    assert order(queue, 1.0) == []


def test_without_any_event_a_pod_is_tried_again_after_five_minutes() -> None:
    queue = queue_of(queued("a"))
    queue.give_up(queue.pop(0.0), FIT, 0.0)
    assert queue.next_due() == 300.0
    assert order(queue, 299.0) == []
    assert order(queue, 300.0) == ["a"]


def test_pods_that_back_off_come_after_others_and_at_once_when_there_are_none() -> None:
    queue = queue_of(queued("failed", priority=10))
    queue.give_up(queue.pop(0.0), FIT, 0.0)
    queue.put(queued("new"), now=0.1)
    queue.wake(0.1, helped=anybody)
    assert queue.next_due() == 0.0
    assert order(queue, 0.1) == ["new", "failed"]


def test_after_the_backoff_importance_counts_again() -> None:
    queue = queue_of(queued("failed", priority=10))
    queue.give_up(queue.pop(0.0), FIT, 0.0)
    queue.put(queued("new"), now=0.1)
    queue.wake(0.1, helped=anybody)
    assert order(queue, 1.0) == ["failed", "new"]


def test_a_pod_whose_binding_failed_waits_twice_as_long_each_time_up_to_ten_seconds() -> None:
    queue = queue_of(queued("a"))
    now, waits = 0.0, []
    for _ in range(6):
        pod = queue.pop(now)
        assert pod is not None
        queue.retry(pod, now)
        assert queue.pop(now + 0.5) is None
        due = queue.next_due()
        waits.append(due - now)
        now = due
    assert waits == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_pod_that_is_gone_is_not_tried() -> None:
    queue = queue_of(queued("a"), queued("b"))
    queue.remove("a")
    assert order(queue) == ["b"]
    assert len(queue) == 0


def test_a_pod_seen_again_unchanged_keeps_waiting() -> None:
    queue = queue_of(queued("a"))
    queue.give_up(queue.pop(0.0), FIT, 0.0)
    queue.put(queued("a"), now=1.0)
    assert order(queue, 1.0) == []


def test_a_pod_whose_wishes_changed_is_tried_again() -> None:
    queue = queue_of(queued("a"))
    queue.give_up(queue.pop(0.0), FIT, 0.0)
    smaller = facts_of(a_pod(cpu="1m"))
    queue.put(queued("a", facts=smaller), now=1.0)
    pod = queue.pop(1.0)
    assert pod is not None
    assert pod.facts is smaller
    assert len(queue) == 0


def test_a_change_that_makes_room_for_two_wakes_the_two_that_come_first() -> None:
    queue = queue_of(queued("c", created=3.0), queued("b", created=2.0), queued("a", created=1.0))
    for _ in range(3):
        queue.give_up(queue.pop(0.0), FIT, 0.0)
    queue.wake(20.0, helped=lambda *_: 2)
    assert order(queue, 20.0) == ["a", "b"]
