"""What every pool can launch now, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from karpenter.cloud.errors import CloudError, NodeClassNotReadyError
from karpenter.cloud.provider import CloudProvider
from karpenter.model.instancetype import InstanceType
from karpenter.model.nodepool import NodeClassRef, NodePool
from karpenter.model.resources import Resources
from karpenter.model.units import PoolKey
from karpenter.scheduling.snapshot import NodeView, PoolView
from karpenter.state.allocatable import FoundAllocatable


@dataclass(frozen=True)
class Offers:
    """Instance types by pool; for a pool that has none, why."""

    types: Mapping[PoolKey, tuple[InstanceType, ...]] = field(default_factory=dict)
    unready: Mapping[PoolKey, str] = field(default_factory=dict)
    reasons: Mapping[PoolKey, str] = field(default_factory=dict)
    """The same in one word, for those whose node class is to blame."""
    well_known: frozenset[str] = frozenset()
    """Label keys of the catalogue that pods may constrain although no pool mentions them."""

    @cached_property
    def named(self) -> Mapping[PoolKey, Mapping[str, InstanceType]]:
        """The types by pool and name; made only for offers that are looked into, not for each that is asked for."""
        return {pool: {found.name: found for found in types} for pool, types in self.types.items()}

    def pool_view(self, pool: NodePool, usage: Resources) -> PoolView:
        """Return a pool with what it can launch and what it uses."""
        types = self.types.get(pool.key, ())
        reason = self.unready.get(pool.key)
        if reason is None and not types:
            reason = "its instance types are not known yet"
        word = self.reasons.get(pool.key, "") if reason else ""
        return PoolView(pool, types, usage, unready=reason, unready_reason=word)

    def priced(self, view: NodeView) -> NodeView:
        """Return the view with the current price of its offering; unchanged when that is unknown."""
        if view.pool is None or view.instance_type is None:
            return view
        found = self.named.get(view.pool, {}).get(view.instance_type)
        place = (view.zone, view.capacity_type)
        offerings = found.offerings if found is not None else ()
        prices = [offering.price for offering in offerings if (offering.zone, offering.capacity_type) == place]
        return replace(view, price=min(prices)) if prices else view


async def load_offers(
    provider: CloudProvider,
    pools: Iterable[NodePool],
    well_known: frozenset[str],
    *,
    found: FoundAllocatable | None = None,
    problem: Callable[[NodeClassRef | None], str | None] = lambda _: None,
) -> Offers:
    """Ask the cloud what each pool can launch; a failure makes that pool unready and no other (SCH-1, AWS-3, AWS-4).

    Amounts are corrected by what nodes turned out to offer; `problem` says why nothing of a node class may be planned.
    """
    types: dict[PoolKey, tuple[InstanceType, ...]] = {}
    unready: dict[PoolKey, str] = {}
    reasons: dict[PoolKey, str] = {}
    for pool in pools:
        try:
            offered = tuple(await provider.instance_types(pool))
        except CloudError as error:
            unready[pool.key] = str(error)
            if isinstance(error, NodeClassNotReadyError):
                reasons[pool.key] = error.reason
            continue
        types[pool.key] = found.corrected(pool, offered) if found is not None else offered
        reason = problem(pool.template.node_class_ref)
        if reason is not None or not offered:
            unready[pool.key] = reason or "its node class offers no instance type"
    return Offers(types, unready, reasons, well_known)
