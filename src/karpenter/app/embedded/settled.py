"""When a cluster has come to rest: for scripts that apply something and want to see what comes of it."""

from __future__ import annotations

from typing import Final

from karpenter.model.nodeclaim import INITIALIZED
from karpenter.runtime.clock import Clock
from karpenter.state.cluster import ClusterState

QUIET_S: Final = 5.0
"""For how long nothing may be under way."""
LIMIT_S: Final = 300.0
_LOOK_S: Final = 0.25


def is_settled(state: ClusterState) -> bool:
    """Return whether no pod waits for a node and every claim has become one."""
    return not state.provisionable_pods() and all(claim.is_true(INITIALIZED) for claim in state.claims.values())


async def wait_settled(
    state: ClusterState, clock: Clock, *, quiet_s: float = QUIET_S, limit_s: float = LIMIT_S
) -> bool:
    """Return True once the cluster has been settled for `quiet_s` on end, False when `limit_s` passed before."""
    started = clock.now()
    since = None
    while clock.now() - started < limit_s:
        if not is_settled(state):
            since = None
        elif since is None:
            since = clock.now()
        elif clock.now() - since >= quiet_s:
            return True
        await clock.sleep(_LOOK_S)
    return False
