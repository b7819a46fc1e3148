"""Pools as decisions see them: with what they can launch, what they use, and whether people paused them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from karpenter.model.nodepool import NodePool
from karpenter.model.pause import Pauses
from karpenter.model.resources import NODES, Resources, add
from karpenter.model.units import PoolKey
from karpenter.scheduling.snapshot import NodeView, PoolView
from karpenter.state.offers import Offers


def pool_views(
    pools: Iterable[NodePool], nodes: Iterable[NodeView], *, offers: Offers, pauses: Pauses
) -> tuple[PoolView, ...]:
    """Return the views of all pools that are not being deleted: by descending weight, then kind and name."""
    usage: dict[PoolKey, Resources] = {}
    for view in nodes:
        if view.pool is not None and not view.is_deleting:
            usage[view.pool] = add(usage.get(view.pool, {}), view.capacity, {NODES: 1})
    live = [pool for pool in pools if not pool.metadata.is_deleting]
    ordered = sorted(live, key=lambda pool: (-pool.weight, pool.key.kind, pool.name))
    return tuple(_paused(offers.pool_view(pool, usage.get(pool.key, {})), pauses) for pool in ordered)


def _paused(view: PoolView, pauses: Pauses) -> PoolView:
    if pauses.stops_everything(view.pool.key):
        return replace(view, unready="it is paused; karpenter resume ends that", is_paused=True)
    return replace(view, is_paused=True) if pauses.stops_disruption(view.pool.key) else view
