"""Which pods a ReplicaSet gives up first."""

from typing import Any

from msgspec.structs import replace

from karpenter.model.core import Pod
from karpenter.model.meta import Condition
from karpenter.sim.controllers.victims import choose_victims, deletion_cost
from tests.builders import EPOCH, a_pod


def running(name: str, *, ready: bool = True, since: str = "2023-11-14T21:00:00Z", **more: Any) -> Pod:
    pod = a_pod(name, **{"node": "n1", "created": "2023-11-14T21:00:00Z", **more})
    condition = Condition("Ready", "True" if ready else "False", last_transition_time=since)
    return replace(pod, status=replace(pod.status, conditions=(*pod.status.conditions, condition)))


def first(*pods: Pod, related: tuple[Pod, ...] = ()) -> str:
    forward = choose_victims(pods, (*pods, *related), 1, now=EPOCH)[0].metadata.name
    backward = choose_victims(pods[::-1], (*pods, *related), 1, now=EPOCH)[0].metadata.name
    assert forward == backward
    return forward


def test_a_pod_without_a_node_goes_before_one_that_has_one() -> None:
    assert first(running("a"), a_pod("b")) == "b"


def test_a_pending_pod_goes_before_a_running_one() -> None:
    assert first(running("a"), running("b", phase="Pending", ready=False)) == "b"


def test_a_pod_that_is_not_ready_goes_before_one_that_is() -> None:
    assert first(running("a"), running("b", ready=False)) == "b"


def test_a_lower_deletion_cost_goes_first() -> None:
    cheap = {"controller.kubernetes.io/pod-deletion-cost": "-5"}
    assert first(running("a"), running("b", annotations=cheap)) == "b"


def test_a_cost_that_is_no_number_counts_as_none() -> None:
    assert deletion_cost(a_pod(annotations={"controller.kubernetes.io/pod-deletion-cost": "much"})) == 0


def test_a_crowded_node_gives_up_a_pod_first() -> None:
    neighbour = running("other", node="n2")
    assert first(running("a", node="n1"), running("b", node="n2"), related=(neighbour,)) == "b"


def test_a_pod_that_became_ready_lately_goes_first() -> None:
    assert first(running("a"), running("b", since="2023-11-14T22:13:00Z")) == "b"


def test_a_younger_pod_goes_first() -> None:
    pods = [running("a", ready=False), running("b", ready=False, created="2023-11-14T22:13:00Z")]
    assert first(*pods) == "b"


def test_when_all_have_to_go_all_go() -> None:
    pods = [running("a"), running("b")]
    assert choose_victims(pods, pods, 5, now=EPOCH) == pods
