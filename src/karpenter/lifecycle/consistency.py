"""Whether nodes are as large as their claims say. Source: spec v1 L-7."""

from __future__ import annotations

import contextlib
from typing import Final

from karpenter.lifecycle.writer import Writer
from karpenter.model.core import Node
from karpenter.model.meta import Condition
from karpenter.model.nodeclaim import CONSISTENT_STATE_FOUND, INITIALIZED, NodeClaim
from karpenter.model.resources import format_amount, parse_resources
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import Result
from karpenter.runtime.events import EventRecorder
from karpenter.runtime.kube import NotFound
from karpenter.state.cluster import ClusterState
from karpenter.state.refs import claim_ref

INTERVAL_S: Final = 600.0
LEAST_SHARE: Final = 0.9
"""A node with less than this share of a promised amount is not what was launched."""


def shortfall(claim: NodeClaim, node: Node) -> str | None:
    """Return what a node lacks of the capacity that was promised for what its pods asked for; None when nothing."""
    reported = parse_resources(node.status.capacity)
    for name in sorted(claim.requests):
        promised, found = claim.capacity.get(name, 0), reported.get(name, 0)
        if found < LEAST_SHARE * promised:
            return f"expected {format_amount(name, promised)} of {name}, the node has {format_amount(name, found)}"
    return None


class Consistency:
    """Compares all claims with their nodes: condition `ConsistentStateFound`."""

    def __init__(self, state: ClusterState, writer: Writer, *, recorder: EventRecorder, clock: Clock) -> None:
        self._state = state
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    async def check(self) -> Result:
        """Look at every initialized claim once; return when to look again."""
        for claim in tuple(self._state.claims.values()):
            node = self._state.node_of(claim)
            if node is not None and claim.is_true(INITIALIZED) and not claim.metadata.is_deleting:
                await self._check(claim, node)
        return Result(INTERVAL_S)

    async def _check(self, claim: NodeClaim, node: Node) -> None:
        lacking = shortfall(claim, node)
        if lacking is None:
            condition = Condition(CONSISTENT_STATE_FOUND, "True")
        else:
            condition = Condition(CONSISTENT_STATE_FOUND, "False", "ConsistencyCheckFailed", lacking)
            self._recorder.record(claim_ref(claim), "Warning", "FailedConsistencyCheck", lacking)
        with contextlib.suppress(NotFound):  # it went meanwhile
            await self._writer.set_claim_condition(claim, condition, self._clock.now())
