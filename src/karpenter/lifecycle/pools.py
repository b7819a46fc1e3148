"""What a pool's status says: the capacity in use, and whether it can launch.

Controllers `nodepool.counter` and `nodepool.readiness` as one, since both write the same status. Source: spec v1alpha5
§1.6, spec v1 §1.4.2.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from karpenter.lifecycle.registration import RegistrationHealth
from karpenter.model.envelope import read_conditions
from karpenter.model.meta import Condition, changed_condition, find_condition, merged_conditions
from karpenter.model.nodepool import NodeClassRef, NodePool
from karpenter.model.pools import encode_pool_status
from karpenter.model.resources import CPU, NODES, Resources
from karpenter.model.units import ObjectKey, PoolKey, UnixSeconds
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import NODE_POOLS, PROVISIONERS, KubeClient, NotFound
from karpenter.runtime.metrics import Metrics
from karpenter.scheduling.snapshot import PoolView
from karpenter.state.cluster import ClusterState
from karpenter.state.informers import ClusterInformers

VALIDATED: Final = "ValidationSucceeded"
CLASS_READY: Final = "NodeClassReady"
READY: Final = "Ready"
INVALID: Final = "NodePoolValidationFailed"
NOT_READY: Final = "NodeClassNotReady"
COUNT_AGAIN_S: Final = 10.0


class PoolStatus:
    """Keeps the status of each pool true."""

    name = "nodepool.counter"

    def __init__(
        self,
        client: KubeClient,
        state: ClusterState,
        informers: ClusterInformers,
        *,
        health: RegistrationHealth,
        class_generation: Callable[[NodeClassRef | None], int],
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        """`class_generation` returns the generation of a node class; 0 when nobody knows."""
        self._client = client
        self._state = state
        self._informers = informers
        self._health = health
        self._class_generation = class_generation
        self._clock = clock
        self._metrics = metrics

    async def reconcile(self, key: PoolKey) -> Result:
        """Look at one pool. Whoever runs it has it look again within `COUNT_AGAIN_S` of any change of the state."""
        now = self._clock.now()
        view = next((view for view in self._state.snapshot(now).pools if view.pool.key == key), None)
        if view is None:
            await self._refuse(key, now)
            return DONE
        pool = view.pool
        self._gauge(pool, view.usage)
        old = pool.origin.kind == PROVISIONERS.kind
        class_generation = self._class_generation(pool.template.node_class_ref)
        conditions = None if old else self._conditions(view, class_generation, now)
        # A Provisioner's status has no node count (§1.6).
        used = {name: amount for name, amount in view.usage.items() if amount and not (old and name == NODES)}
        is_seen = old or class_generation in {0, pool.class_generation}
        if used == _nonzero(pool.resources) and conditions in {None, pool.conditions} and is_seen:
            return DONE
        patch = encode_pool_status(pool, view.usage, conditions, class_generation=class_generation)
        await self._write(key, patch)
        return DONE  # the write comes back as a change

    async def _refuse(self, key: PoolKey, now: UnixSeconds) -> None:
        """Say on a NodePool that cannot be read what is wrong with it."""
        error = self._informers.invalid_pools.get(key)
        raw = self._informers.node_pools.get(ObjectKey("", key.name))
        if error is None or raw is None or key.kind != NODE_POOLS.kind:
            return
        message = "; ".join(str(each) for each in error.errors)
        invalid = [Condition(kind, "False", INVALID, message) for kind in (VALIDATED, READY)]
        present = read_conditions(raw.get("status") or {})
        changed = [found for each in invalid if (found := changed_condition(present, each, now)) is not None]
        if changed:
            await self._write(key, {"status": {"conditions": merged_conditions(_merged(present, changed), ())}})

    async def _write(self, key: PoolKey, patch: Mapping[str, object]) -> None:
        resource = PROVISIONERS if key.kind == PROVISIONERS.kind else NODE_POOLS
        with contextlib.suppress(NotFound):  # deleted meanwhile; its event is on the way
            await self._client.patch(resource, key.name, patch, subresource="status")

    def _gauge(self, pool: NodePool, usage: Resources) -> None:
        for gauge, amounts in ((self._metrics.nodepools_limit, pool.limits), (self._metrics.nodepools_usage, usage)):
            for name, amount in amounts.items():
                value = amount / 1000 if name == CPU else amount
                gauge.labels(resource_type=name, nodepool=pool.name).set(value)

    def _conditions(self, view: PoolView, class_generation: int, now: UnixSeconds) -> tuple[Condition, ...]:
        """Return the conditions of a pool as they should be."""
        pool = view.pool
        wanted = [Condition(VALIDATED, "True"), *_readiness(view)]
        wanted.append(self._health.condition(pool, class_generation=class_generation))
        seen = [replace(condition, observed_generation=pool.metadata.generation or None) for condition in wanted]
        changed = [found for each in seen if (found := changed_condition(pool.conditions, each, now)) is not None]
        return _merged(pool.conditions, changed)


def _readiness(view: PoolView) -> tuple[Condition, Condition]:
    """Return whether the node class is ready, and whether the pool as a whole is."""
    if view.unready is None:
        return Condition(CLASS_READY, "True"), Condition(READY, "True")
    reason = view.unready_reason or NOT_READY
    return Condition(CLASS_READY, "False", reason, view.unready), Condition(READY, "False", reason, view.unready)


def _nonzero(amounts: Resources) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}


def _merged(present: Sequence[Condition], changed: Sequence[Condition]) -> tuple[Condition, ...]:
    kept = [find_condition(changed, condition.type) or condition for condition in present]
    new = [condition for condition in changed if find_condition(present, condition.type) is None]
    return (*kept, *new)
