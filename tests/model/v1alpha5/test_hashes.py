"""What makes nodes of a Provisioner drift (DEP-33, DEP-35)."""

import pytest

from karpenter.model.v1alpha5 import decode_provisioner
from tests.builders import a_provisioner

TAINTS = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute", "value": "c"}]


def digest(**spec) -> dict:
    return decode_provisioner(a_provisioner(**spec))[0].hash_annotations


BASE = digest()


def test_a_pool_and_its_claims_carry_the_digest_as_an_annotation() -> None:
    assert list(BASE) == ["karpenter.sh/provisioner-hash"]


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"team": "a"}},
        {"annotations": {"team": "a"}},
        {"taints": TAINTS},
        {"startupTaints": TAINTS},
        {"kubeletConfiguration": {"maxPods": 20}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_built_into_a_node_changes_the_digest(change: dict) -> None:
    """DEP-33, TV-125."""
    assert digest(**change) != BASE


@pytest.mark.parametrize(
    "change",
    [
        {"requirements": [{"key": "x", "operator": "Exists"}]},
        {"weight": 10},
        {"limits": {"resources": {"cpu": 1}}},
        {"ttlSecondsAfterEmpty": 30},
        {"ttlSecondsUntilExpired": 30},
        {"consolidation": {"enabled": True}},
        {"providerRef": {"name": "other"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_not_built_into_a_node_does_not(change: dict) -> None:
    """DEP-33, TV-125."""
    assert digest(**change) == BASE


def test_absent_and_empty_are_alike() -> None:
    """DEP-35."""
    assert digest(labels={}, annotations={}, taints=[], kubeletConfiguration={"kubeReserved": {}}) == BASE


def test_the_order_of_taints_and_the_spelling_of_quantities_do_not_matter() -> None:
    assert digest(taints=TAINTS) == digest(taints=TAINTS[::-1])
    assert digest(kubeletConfiguration={"kubeReserved": {"cpu": "0.1"}}) == digest(
        kubeletConfiguration={"kubeReserved": {"cpu": "100m"}}
    )


def test_a_taint_from_its_birth_is_not_a_startup_taint() -> None:
    assert digest(taints=TAINTS) != digest(startupTaints=TAINTS)


def test_the_digest_is_the_same_in_every_process() -> None:
    assert digest(labels={"b": "1", "a": "2"}, kubeletConfiguration={"maxPods": 20}) == {
        "karpenter.sh/provisioner-hash": "f11d4a06352ec3fb"
    }
