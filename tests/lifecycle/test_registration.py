"""Whether a pool's machines become nodes (spec v1 §1.4.2, `NodeRegistrationHealthy`)."""

from dataclasses import replace

import msgspec

from karpenter.lifecycle.registration import FAILED, HEALTHY, RegistrationHealth
from karpenter.model.meta import Condition
from karpenter.model.nodepool import NodePool
from tests.builders import a_pool

POOL = a_pool(kind="NodePool")


def _edited(pool: NodePool, generation: int) -> NodePool:
    return replace(pool, metadata=msgspec.structs.replace(pool.metadata, generation=generation))


def _status(health: RegistrationHealth, pool: NodePool = POOL, class_generation: int = 1) -> tuple[str, str]:
    condition = health.condition(pool, class_generation=class_generation)
    assert condition.type == HEALTHY
    return condition.status, condition.reason


def test_nothing_is_known_of_a_new_pool() -> None:
    assert _status(RegistrationHealth()) == ("Unknown", "")


def test_one_success_is_enough_and_one_failure_says_nothing() -> None:
    health = RegistrationHealth()
    health.failed(POOL.key)
    assert _status(health) == ("Unknown", "")
    health.succeeded(POOL.key)
    assert _status(health) == ("True", "")


def test_two_failures_of_four_are_unhealthy_with_the_last_ones_reason() -> None:
    health = RegistrationHealth()
    health.succeeded(POOL.key)
    health.failed(POOL.key, reason="LaunchFailed", message="no")
    health.failed(POOL.key)
    assert _status(health) == ("False", FAILED)


def test_successes_make_healthy_again_only_once_they_outweigh() -> None:
    health = RegistrationHealth()
    for _ in range(4):
        health.failed(POOL.key)
    for expected in ("False", "False", "True"):
        health.succeeded(POOL.key)
        assert _status(health)[0] == expected


def test_an_edit_of_pool_or_node_class_forgets_what_was_known() -> None:
    health = RegistrationHealth()
    health.succeeded(POOL.key)
    assert _status(health, _edited(POOL, 1))[0] == "True"
    assert _status(health, _edited(POOL, 2))[0] == "Unknown"
    health.succeeded(POOL.key)
    assert _status(health, _edited(POOL, 2), 1)[0] == "True"
    assert _status(health, _edited(POOL, 2), 2)[0] == "Unknown"


def test_after_a_restart_the_condition_is_what_is_remembered() -> None:
    told = replace(POOL, conditions=(Condition(HEALTHY, "False", FAILED),))
    health = RegistrationHealth()
    assert _status(health, told) == ("False", FAILED)
    health.succeeded(POOL.key)
    assert _status(health, told)[0] == "False"
