"""Conditions and terminations as metrics (spec v1 §5.3, `operator_*`)."""

import asyncio
from typing import Any

from karpenter.app.measures.conditions import Conditions
from karpenter.model.units import to_rfc3339
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kube import WatchEvent
from karpenter.runtime.metrics import Metrics


def a_claim(clock: LoopClock, status: str, *, is_deleting: bool = False) -> Any:
    now = to_rfc3339(clock.now())
    deleted = {"deletionTimestamp": now} if is_deleting else {}
    condition = {"type": "Registered", "status": status, "reason": "Because", "lastTransitionTime": now}
    return {"metadata": {"uid": "u", "name": "c", **deleted}, "status": {"conditions": [condition]}}


async def test_a_change_of_status_is_counted_with_how_long_the_old_one_lasted(clock: LoopClock) -> None:
    metrics = Metrics(clock)
    heard = Conditions(metrics, clock).on_object("nodeclaim")
    heard(WatchEvent("ADDED", a_claim(clock, "Unknown"), ""))
    await asyncio.sleep(40)
    heard(WatchEvent("MODIFIED", a_claim(clock, "True"), ""))
    heard(WatchEvent("MODIFIED", a_claim(clock, "True"), ""))
    value = metrics.registry.get_sample_value
    changed = {"type": "Registered", "status": "True", "reason": "Because"}
    assert value("operator_nodeclaim_status_condition_transitions_total", changed) == 1
    lasted = {"type": "Registered", "status": "Unknown"}
    assert value("operator_nodeclaim_status_condition_transition_seconds_sum", lasted) == 40


async def test_each_condition_has_a_sample_only_where_that_is_asked_for(clock: LoopClock) -> None:
    metrics = Metrics(clock)
    conditions = Conditions(metrics, clock)
    conditions.on_object("nodepool")(WatchEvent("ADDED", a_claim(clock, "True"), ""))
    await asyncio.sleep(7)
    labels = {"namespace": "", "name": "c", "type": "Registered", "status": "True", "reason": "Because"}
    value = metrics.registry.get_sample_value
    conditions.publish(clock.now(), per_object=False)
    assert value("operator_nodepool_status_condition_count", labels) is None
    conditions.publish(clock.now(), per_object=True)
    assert value("operator_nodepool_status_condition_count", labels) == 1
    assert value("operator_nodepool_status_condition_current_status_seconds", labels) == 7


async def test_a_termination_is_timed_while_it_lasts_and_when_it_is_over(clock: LoopClock) -> None:
    metrics = Metrics(clock)
    conditions = Conditions(metrics, clock)
    heard = conditions.on_object("nodeclaim")
    going = a_claim(clock, "True", is_deleting=True)
    heard(WatchEvent("ADDED", going, ""))
    await asyncio.sleep(9)
    conditions.publish(clock.now(), per_object=False)
    value = metrics.registry.get_sample_value
    assert value("operator_nodeclaim_termination_current_time_seconds", {"namespace": "", "name": "c"}) == 9
    heard(WatchEvent("DELETED", going, ""))
    conditions.publish(clock.now(), per_object=False)
    assert value("operator_nodeclaim_termination_current_time_seconds", {"namespace": "", "name": "c"}) is None
    assert value("operator_nodeclaim_termination_duration_seconds_sum", {}) == 9
