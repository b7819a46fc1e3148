"""What the log says, in Karpenter's words (spec v1 §5.5)."""

import logging

import pytest

from karpenter.runtime import kube as api
from karpenter.runtime.clock import LoopClock
from tests.scenarios.world import NODE_TEMPLATE, PROVISIONER, a_world


async def test_the_life_of_a_node_is_told_in_karpenters_words(
    clock: LoopClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with a_world(clock) as world:
        await world.apply(PROVISIONER, NODE_TEMPLATE)
        await world.deploy("web", 1, cpu="1")
        await clock.sleep(3)
        await world.deploy("small", 1, cpu="100m")  # fits on the machine that is still booting
        await world.all_running(2)
        node, *_ = await world.nodes()
        await world.kube.delete(api.NODES, node.metadata.name)
        await world.all_running(2)
        await clock.sleep(120)
    said = {record.getMessage() for record in caplog.records}
    assert {
        "found provisionable pod(s)",
        "computed new nodeclaim(s) to fit pod(s)",
        "created nodeclaim",
        "launched nodeclaim",
        "computed unready node(s) will fit pod(s)",
        "registered nodeclaim",
        "initialized nodeclaim",
        "tainted node",
        "deleted node",
        "deleted nodeclaim",
    } <= said
