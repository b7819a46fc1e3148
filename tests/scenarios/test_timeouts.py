"""A search for a cheaper fleet that takes too long is cut short, and counted. Source: spec v1 D-11, D-12, §5."""

import pytest

from karpenter.disruption import controller
from karpenter.runtime.clock import LoopClock
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, a_world


async def test_a_search_that_runs_out_of_time_is_counted(clock: LoopClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, "DECISION_LIMIT_S", -1.0)
    pool = {**PROVISIONER, "spec": {**PROVISIONER["spec"], "consolidation": {"enabled": True}}}
    async with a_world(clock) as world:
        await world.apply(pool, NODE_TEMPLATE)
        await world.deploy("web", 5)
        await world.all_running(5)
        await clock.sleep(1800)
        counted = world.metrics.registry.get_sample_value(
            "karpenter_voluntary_disruption_consolidation_timeouts_total", {"consolidation_type": "multi"}
        )
        assert counted is not None
        assert counted >= 1
