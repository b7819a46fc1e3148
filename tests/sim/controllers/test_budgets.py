"""Budget arithmetic."""

from typing import Any

import pytest
from msgspec.structs import replace

from karpenter.model.core import Pod
from karpenter.model.meta import Condition, OwnerReference
from karpenter.sim.controllers.budgets import Coverage, Expected, UnknownScale, budget_status, expected, next_expiry
from tests.builders import EPOCH, a_pod
from tests.sim.controllers.workloads import a_budget


def healthy(name: str, **more: Any) -> Pod:
    pod = a_pod(name, **{"node": "n1", "labels": {"app": "web"}, **more})
    return replace(pod, status=replace(pod.status, conditions=(Condition("Ready", "True"),)))


def scale_of(size: int) -> Any:
    def scale(namespace: str, owner: OwnerReference) -> tuple[str, int] | None:
        return (owner.uid, size) if owner.kind == "ReplicaSet" else None

    return scale


PODS = [healthy(f"p{number}") for number in range(4)]


@pytest.mark.parametrize(
    "spec, size, wanted",
    [
        ({"minAvailable": 3}, 10, Expected(4, 3)),
        ({"minAvailable": "50%"}, 5, Expected(5, 3)),
        ({"maxUnavailable": 1}, 5, Expected(5, 4)),
        ({"maxUnavailable": "30%"}, 5, Expected(5, 3)),
        ({"maxUnavailable": 7}, 5, Expected(5, 0)),
        ({}, 5, Expected(4, 1)),
    ],
    ids=str,
)
def test_what_a_budget_expects(spec: dict[str, Any], size: int, wanted: Expected) -> None:
    assert expected(a_budget(**spec), PODS, scale_of(size)) == wanted


def test_pods_of_a_kind_without_a_size_cannot_be_judged() -> None:
    jobs = [healthy("j", owner="Job")]
    with pytest.raises(UnknownScale, match="Job 'owner' of pod 'j' has no scale"):
        expected(a_budget(maxUnavailable=1), jobs, scale_of(1))


def test_a_budget_allows_what_is_healthy_beyond_what_it_wants() -> None:
    budget = a_budget(minAvailable=3)
    status = budget_status(budget, PODS, Expected(4, 3), now=EPOCH)
    assert (status.disruptions_allowed, status.current_healthy, status.desired_healthy, status.expected_pods) == (
        1,
        4,
        3,
        4,
    )
    assert (status.conditions[0].status, status.conditions[0].reason) == ("True", "SufficientPods")


def test_pods_that_leave_or_are_not_ready_are_not_healthy() -> None:
    pods = [
        *PODS[:2],
        healthy("leaving", deleted="2023-11-14T22:14:00Z"),
        a_pod("ill", node="n1", labels={"app": "web"}),
    ]
    status = budget_status(a_budget(minAvailable=3), pods, Expected(4, 3), now=EPOCH)
    assert (status.disruptions_allowed, status.current_healthy) == (0, 2)
    assert status.conditions[0].reason == "InsufficientPods"


def test_a_granted_eviction_counts_until_the_pod_leaves_or_two_minutes_pass() -> None:
    budget = a_budget(minAvailable=2, disrupted={"p0": "2023-11-14T22:12:20Z", "gone": "2023-11-14T22:13:00Z"})
    status = budget_status(budget, PODS, Expected(4, 2), now=EPOCH)
    assert (status.disruptions_allowed, status.disrupted_pods) == (1, {"p0": "2023-11-14T22:12:20Z"})
    assert next_expiry(status) == EPOCH + 60
    later = budget_status(budget, PODS, Expected(4, 2), now=EPOCH + 61)
    assert (later.disruptions_allowed, later.disrupted_pods) == (2, {})


def test_without_expected_pods_nothing_is_allowed() -> None:
    assert budget_status(a_budget(maxUnavailable=5), [], Expected(0, 0), now=EPOCH).disruptions_allowed == 0


def test_a_relabelled_pod_leaves_its_budget() -> None:
    coverage, budget = Coverage(), a_budget(minAvailable=1)
    coverage.put_budget(budget, PODS, is_there=True)
    assert len(coverage.pods_under(budget.metadata.key)) == 4
    assert coverage.put_pod(healthy("p0", labels={"app": "debug"}), is_there=True) == [budget.metadata.key]
    assert coverage.put_pod(healthy("p0", labels={"app": "debug"}), is_there=True) == []
    assert len(coverage.pods_under(budget.metadata.key)) == 3
    assert coverage.put_pod(PODS[1], is_there=False) == [budget.metadata.key]
    assert len(coverage.pods_under(budget.metadata.key)) == 2
