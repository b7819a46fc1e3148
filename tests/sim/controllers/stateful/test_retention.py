import pytest

from karpenter.model.core import Pod
from karpenter.model.meta import ObjectMeta, OwnerReference
from karpenter.sim.controllers.stateful.retention import blocks_pod, new_owners
from karpenter.sim.kinds import StatefulSet
from tests.sim.controllers.workloads import a_stateful_set

SET = OwnerReference("apps/v1", "StatefulSet", "db", "uid-db", controller=True, block_owner_deletion=True)
STAYING = Pod(ObjectMeta(name="db-0", namespace="default", uid="uid-0"))
SURPLUS = Pod(ObjectMeta(name="db-7", namespace="default", uid="uid-7"))


def kept(when_scaled: str, when_deleted: str) -> StatefulSet:
    policy = {"whenScaled": when_scaled, "whenDeleted": when_deleted}
    return a_stateful_set(replicas=3, persistentVolumeClaimRetentionPolicy=policy)


def claim(*owners: OwnerReference) -> ObjectMeta:
    return ObjectMeta(name="data-db-0", namespace="default", owner_references=owners)


@pytest.mark.parametrize(
    "when_scaled, when_deleted, staying, surplus",
    [
        ("Retain", "Retain", [], []),
        ("Retain", "Delete", ["db"], ["db"]),
        ("Delete", "Retain", [], ["db-7"]),
        ("Delete", "Delete", ["db"], ["db-7"]),
    ],
)
def test_a_claim_goes_with_the_set_or_with_a_pod_that_is_scaled_away(
    when_scaled: str, when_deleted: str, staying: list[str], surplus: list[str]
) -> None:
    policy = kept(when_scaled, when_deleted)
    for pod, expected in ((STAYING, staying), (SURPLUS, surplus)):
        owners = new_owners(policy, pod, claim())
        assert [owner["name"] for owner in owners or []] == expected
        assert all(owner["controller"] for owner in owners or [])


def test_a_claim_with_the_right_owners_is_left_alone_and_others_are_taken_off() -> None:
    assert new_owners(kept("Retain", "Delete"), STAYING, claim(SET)) is None
    assert new_owners(kept("Retain", "Retain"), STAYING, claim(SET)) == []
    assert new_owners(kept("Delete", "Delete"), SURPLUS, claim(SET)) != []


def test_owners_of_somebody_else_stay_and_another_controller_keeps_us_out() -> None:
    friend = OwnerReference("v1", "ConfigMap", "friend", "uid-friend")
    rival = OwnerReference("example.com/v1", "Database", "rival", "uid-rival", controller=True)
    assert [one["name"] for one in new_owners(kept("Retain", "Delete"), STAYING, claim(friend)) or []] == [
        "friend",
        "db",
    ]
    assert new_owners(kept("Retain", "Delete"), STAYING, claim(rival)) is None
    assert [one["name"] for one in new_owners(kept("Retain", "Delete"), STAYING, claim(rival, SET)) or []] == ["rival"]


def test_a_claim_of_a_namesake_is_left_to_the_garbage_collector() -> None:
    former = OwnerReference("apps/v1", "StatefulSet", "db", "uid-former", controller=True)
    assert new_owners(kept("Retain", "Delete"), STAYING, claim(former)) is None


def test_a_pod_waits_for_the_claim_that_goes_with_the_one_before_it() -> None:
    former = OwnerReference("v1", "Pod", "db-0", "uid-former", controller=True)
    assert blocks_pod(kept("Delete", "Retain"), [claim(former)], "db-0")
    assert not blocks_pod(kept("Delete", "Retain"), [claim()], "db-0")
    assert not blocks_pod(kept("Retain", "Retain"), [claim(former)], "db-0")
