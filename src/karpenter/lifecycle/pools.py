"""What a pool's status says: the capacity in use, and whether it can launch.

Controllers `nodepool.counter` and `nodepool.readiness` as one, since both write the same status. Source: spec v1alpha5
§1.6, spec v1 §1.4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karpenter.model.meta import Condition, changed_condition, find_condition
from karpenter.model.nodepool import NodePool
from karpenter.model.pools import encode_pool_status
from karpenter.model.resources import CPU, NODES, Resources
from karpenter.model.units import PoolKey, UnixSeconds
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import NODE_POOLS, PROVISIONERS, KubeClient, NotFound
from karpenter.runtime.metrics import Metrics
from karpenter.scheduling.snapshot import PoolView
from karpenter.state.cluster import ClusterState

VALIDATED: Final = "ValidationSucceeded"
CLASS_READY: Final = "NodeClassReady"
READY: Final = "Ready"
COUNT_AGAIN_S: Final = 10.0


class PoolStatus:
    """Keeps the status of each pool true."""

    name = "nodepool.counter"

    def __init__(self, client: KubeClient, state: ClusterState, *, clock: Clock, metrics: Metrics) -> None:
        self._client = client
        self._state = state
        self._clock = clock
        self._metrics = metrics

    async def reconcile(self, key: PoolKey) -> Result:
        """Look at one pool."""
        now = self._clock.now()
        view = next((view for view in self._state.snapshot(now).pools if view.pool.key == key), None)
        if view is None:
            return DONE
        pool = view.pool
        self._gauge(pool, view.usage)
        old = pool.origin.kind == PROVISIONERS.kind
        conditions = None if old else _conditions(view, now)
        # A Provisioner's status has no node count (§1.6).
        used = {name: amount for name, amount in view.usage.items() if amount and not (old and name == NODES)}
        if used == _nonzero(pool.resources) and conditions in {None, pool.conditions}:
            return Result(COUNT_AGAIN_S)
        resource = PROVISIONERS if old else NODE_POOLS
        try:
            patch = encode_pool_status(pool, view.usage, conditions)
            await self._client.patch(resource, pool.name, patch, subresource="status")
        except NotFound:
            # Deleted meanwhile; its event is on the way.
            return DONE
        return Result(COUNT_AGAIN_S)

    def _gauge(self, pool: NodePool, usage: Resources) -> None:
        for gauge, amounts in ((self._metrics.nodepools_limit, pool.limits), (self._metrics.nodepools_usage, usage)):
            for name, amount in amounts.items():
                value = amount / 1000 if name == CPU else amount
                gauge.labels(resource_type=name, nodepool=pool.name).set(value)


def _nonzero(amounts: Resources) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}


def _conditions(view: PoolView, now: UnixSeconds) -> tuple[Condition, ...]:
    """Return the conditions of a pool as they should be."""
    if view.unready is None:
        class_ready, ready = Condition(CLASS_READY, "True"), Condition(READY, "True")
    else:
        class_ready = Condition(CLASS_READY, "False", "NodeClassNotReady", view.unready)
        ready = Condition(READY, "False", "NodeClassNotReady", view.unready)
    present = view.pool.conditions
    wanted = (Condition(VALIDATED, "True"), class_ready, ready)
    changed = (changed_condition(present, condition, now) for condition in wanted)
    return _merged(present, [condition for condition in changed if condition is not None])


def _merged(present: Sequence[Condition], changed: Sequence[Condition]) -> tuple[Condition, ...]:
    kept = [find_condition(changed, condition.type) or condition for condition in present]
    new = [condition for condition in changed if find_condition(present, condition.type) is None]
    return (*kept, *new)
