"""Writes on claims what time rules count from: since when a node is empty. Controller `nodeclaim.disruption`.

The condition lives in the cluster, so a restart neither forgets nor restarts a timer. A node that became empty while
nobody looked counts from when it is first seen empty: later, never sooner.
"""

from __future__ import annotations

from karpenter.disruption.emptiness import is_empty
from karpenter.lifecycle.writer import Writer
from karpenter.model.meta import Condition, changed_condition
from karpenter.model.nodeclaim import EMPTY, INITIALIZED, NodeClaim
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.state.cluster import ClusterState

NOMINATED_RECHECK_S = 30.0


class Marks:
    """Keeps the `Empty` condition of each claim true to what is on its node (DEP-40)."""

    name = "nodeclaim.disruption"

    def __init__(self, state: ClusterState, writer: Writer, *, clock: Clock) -> None:
        self._state = state
        self._writer = writer
        self._clock = clock

    async def reconcile(self, key: str) -> Result:
        """Look at one claim, by name."""
        claim = self._state.claims.get(key)
        if claim is None or claim.metadata.is_deleting or not claim.is_true(INITIALIZED):
            return DONE
        now = self._clock.now()
        view = self._state.view_of(claim, now)
        if view is None or view.is_nominated or not is_empty(view):
            await self._writer.drop_claim_conditions(claim, EMPTY)
            nominated = view is not None and view.is_nominated
            return Result(NOMINATED_RECHECK_S) if nominated else DONE
        await self._set(claim, Condition(EMPTY, "True", message="no pod would have to move"))
        return DONE

    async def _set(self, claim: NodeClaim, condition: Condition) -> None:
        changed = changed_condition(claim.conditions, condition, self._clock.now())
        await self._writer.patch_claim_status(claim, (changed,) if changed else ())
