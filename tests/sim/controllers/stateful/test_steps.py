"""What is done next about the pods of a StatefulSet. A pod is drawn as its revision and how it stands."""

import pytest

from karpenter.model.core import Pod
from karpenter.model.meta import Condition, ObjectMeta
from karpenter.model.units import UnixSeconds
from karpenter.sim.controllers.stateful.steps import Create, Delete, Mend, next_steps, stateful_set_status
from karpenter.sim.kinds import StatefulSet
from tests.builders import a_pod
from tests.sim.controllers.workloads import a_stateful_set

NOW = UnixSeconds(1_700_000_000.0)
OLD, NEW = "db-old", "db-new"


def a_member(ordinal: int, drawing: str = "new well") -> Pod:
    """`well`, `starting` (not ready), `pending`, `ended` or `leaving`, of the revision `old` or `new`."""
    revision, state = drawing.split()
    phase = {"pending": "Pending", "ended": "Succeeded"}.get(state, "Running")
    ready = "True" if state in {"well", "leaving"} else "False"
    metadata = ObjectMeta(
        name=f"db-{ordinal}",
        namespace="default",
        uid=f"uid-{ordinal}",
        labels={"app": "db", "controller-revision-hash": f"db-{revision}"},
        deletion_timestamp="2023-11-14T22:13:20Z" if state == "leaving" else None,
    )
    pod = a_pod()
    conditions = (Condition("Ready", ready, last_transition_time="2023-11-14T22:00:00Z"),)
    return Pod(metadata, pod.spec, type(pod.status)(phase=phase, conditions=conditions))


def steps(stateful_set: StatefulSet, *drawings: str | None) -> list[str]:
    """Return what is done next, in short; `drawings` are the pods from number 0 on."""
    pods = [a_member(ordinal, drawing) for ordinal, drawing in enumerate(drawings) if drawing]
    taken = next_steps(stateful_set, pods, update=NEW, now=NOW)
    words = {Create: "create", Delete: "delete", Mend: "mend"}
    return [
        f"{words[type(step)]} {step.ordinal if isinstance(step, Create) else step.pod.metadata.name[3:]}"
        for step in taken
        if not isinstance(step, Mend)
    ]


def parallel(**more: object) -> StatefulSet:
    return a_stateful_set(podManagementPolicy="Parallel", **more)


@pytest.mark.parametrize(
    "drawings, expected",
    [
        ([], ["create 0"]),
        (["new pending"], []),
        (["new starting"], []),
        (["new well"], ["create 1"]),
        (["new well", "new leaving", "new well"], []),
        (["new ended", "new well", "new well"], ["delete 0"]),
        ([None, "new well", "new well"], ["create 0"]),
        (["new well", "new well", "new well"], []),
    ],
)
def test_pods_come_one_after_the_other_and_each_waits_for_those_before(
    drawings: list[str], expected: list[str]
) -> None:
    assert steps(a_stateful_set(replicas=3), *drawings) == expected


@pytest.mark.parametrize(
    "drawings, expected",
    [
        ([], ["create 0", "create 1", "create 2"]),
        (["new starting", None, "new pending"], ["create 1"]),
        (["new leaving", "new ended"], ["delete 1", "create 2"]),
        (["new well"] * 5, ["delete 4", "delete 3"]),
    ],
)
def test_managed_in_parallel_nobody_waits(drawings: list[str], expected: list[str]) -> None:
    assert steps(parallel(replicas=3), *drawings) == expected


@pytest.mark.parametrize(
    "drawings, expected",
    [
        (["new well"] * 3, ["delete 2"]),
        (["new well", "new well", "new leaving"], []),
        (["new starting", "new well", "new well"], []),
        (["new well", "new well", "new starting"], ["delete 2"]),
        (["new well", "new starting", "new starting"], []),
        (["new well", "new starting", "new well"], ["delete 2"]),
    ],
)
def test_scaling_down_takes_the_last_pod_once_the_others_are_well(drawings: list[str], expected: list[str]) -> None:
    assert steps(a_stateful_set(replicas=1), *drawings) == expected


@pytest.mark.parametrize(
    "drawings, expected",
    [
        (["old well"] * 3, ["delete 2"]),
        (["old well", "old well", "new starting"], []),
        (["old well", "old well", "new well"], ["delete 1"]),
        (["new well", "new well", "new well"], []),
    ],
)
def test_an_update_goes_from_the_last_pod_back_one_at_a_time(drawings: list[str], expected: list[str]) -> None:
    assert steps(a_stateful_set(replicas=3), *drawings) == expected


def test_parallel_pods_are_updated_one_at_a_time_too() -> None:
    assert steps(parallel(replicas=3), "old well", "old well", "old well") == ["delete 2"]
    assert steps(parallel(replicas=3), "old well", "old well", "new starting") == []


def test_a_partition_keeps_the_first_pods_as_they_are() -> None:
    held = a_stateful_set(replicas=3, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
    assert steps(held, "old well", "old well", "old well") == ["delete 2"]
    assert steps(held, "old well", "old well", "new well") == []


def test_on_delete_nothing_is_replaced() -> None:
    assert steps(a_stateful_set(replicas=2, updateStrategy={"type": "OnDelete"}), "old well", "old well") == []


def test_ordinals_may_start_anywhere() -> None:
    assert steps(a_stateful_set(replicas=2, ordinals={"start": 5})) == ["create 5"]
    assert steps(a_stateful_set(replicas=1, ordinals={"start": 1}), "new well", "new well") == ["delete 0"]


def test_a_pod_counts_once_it_has_been_ready_for_long_enough() -> None:
    young = a_stateful_set(replicas=2, minReadySeconds=3600)
    assert steps(young, "new well") == []
    status = stateful_set_status(young, [a_member(0)], current=NEW, update=NEW, now=NOW)
    assert (status.ready_replicas, status.available_replicas) == (1, 0)


def test_the_status_counts_by_revision_and_settles_when_all_are_new() -> None:
    wanted = a_stateful_set(replicas=3)

    def status(*drawings: str) -> tuple[int, int, int, int, str]:
        pods = [a_member(ordinal, drawing) for ordinal, drawing in enumerate(drawings)]
        found = stateful_set_status(wanted, pods, current=OLD, update=NEW, now=NOW)
        counts = found.replicas, found.ready_replicas, found.current_replicas, found.updated_replicas
        return (*counts, found.current_revision)

    assert status("old well", "old well", "new starting") == (3, 2, 2, 1, OLD)
    assert status("old well", "old leaving", "new well") == (3, 3, 1, 1, OLD)
    assert status("new well", "new well", "new well") == (3, 3, 3, 3, NEW)
