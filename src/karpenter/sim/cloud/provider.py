"""The `CloudProvider` of the simulated cloud."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Final

from karpenter.cloud.errors import (
    CloudError,
    InstanceNotFoundError,
    InsufficientCapacityError,
    LaunchError,
    NodeClassNotReadyError,
    ThrottledError,
    UnauthorizedError,
)
from karpenter.cloud.provider import Capabilities, GroupKind
from karpenter.cloud.unavailable import OfferingKey, UnavailableOfferings
from karpenter.model import labels
from karpenter.model.aws.classstatus import ClassReport
from karpenter.model.aws.drift import is_of_another_class
from karpenter.model.aws.launch import LaunchPlan, plan_launch
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.orders import FindNodeClass, UnusableClassError, class_for
from karpenter.model.aws.tags import CLAIM, NAME, launch_tags
from karpenter.model.aws.traits import NODE_CLASS_KINDS, REPAIR_POLICIES
from karpenter.model.instance import Instance, Interruption, InterruptionKind, RepairPolicy
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodeClassRef, NodePool
from karpenter.model.units import PoolKey, ProviderID
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.sim.cloud.supply import Order, Supply
from karpenter.sim.market.faults import Fault, FaultKind
from karpenter.sim.market.instances import InstanceState, MarketInstance
from karpenter.sim.market.launching import LaunchRequest, LaunchResult
from karpenter.sim.market.market import Market

log = logs.get("cloudprovider")

FindPool = Callable[[PoolKey], NodePool | None]


class SimulatedCloud:
    """A cloud in this process, with Karpenter's AWS behaviour and a market's."""

    name: Final = "simulated"
    capabilities: Final = Capabilities()
    node_class_kinds: Final[Sequence[GroupKind]] = tuple(GroupKind(*kind) for kind in NODE_CLASS_KINDS)
    repair_policies: Final[Sequence[RepairPolicy]] = REPAIR_POLICIES

    def __init__(
        self,
        market: Market,
        supply: Supply,
        clock: Clock,
        *,
        unavailable: UnavailableOfferings,
        cluster_name: str,
        node_class: FindNodeClass,
        pool: FindPool,
        well_known: frozenset[str] = frozenset(),
    ) -> None:
        """`node_class` and `pool` look objects up as they are now; None for one that does not exist."""
        self.market = market
        self.unavailable = unavailable
        self.well_known = well_known
        """Label keys of the catalogue that pods may constrain although no pool mentions them."""
        self._supply = supply
        self._clock = clock
        self._cluster_name = cluster_name
        self._node_class = node_class
        self._pool = pool

    async def inspect(self, node_class: AwsNodeClass) -> ClassReport:
        """Return what a node class's selectors find now, and what is missing."""
        return self._supply.inspect(node_class)

    async def create(self, claim: NodeClaim) -> Instance:
        """Launch a machine for a claim; see `CloudProvider`. The answer takes as long as a fleet request does."""
        async with self._call("create"):
            await self._clock.sleep(self.market.settings.launch_s / self.market.settings.speed)
            launched = self._seen(self._launch(claim))
            node_class = self._order_of(claim).node_class
            return replace(launched, annotations=node_class.hash_annotations) if node_class else launched

    async def delete(self, provider_id: ProviderID) -> None:
        """Begin the end of a machine; see `CloudProvider`."""
        async with self._call("delete"):
            self.market.terminate(self._find(provider_id).id)

    async def get(self, provider_id: ProviderID) -> Instance:
        """Return one machine; see `CloudProvider`."""
        async with self._call("get"):
            return self._seen(self._find(provider_id))

    async def list_instances(self) -> Sequence[Instance]:
        """Return the machines tagged with our cluster's name, in the order of their launch; see `CloudProvider`."""
        async with self._call("list"):
            ours = (labels.MANAGED_BY, self._cluster_name)
            return tuple(self._seen(one) for one in self.market.instances() if ours in one.tags.items())

    async def instance_types(self, pool: NodePool) -> Sequence[InstanceType]:
        """Return every type the pool can get; see `CloudProvider`. Unchanged types are the same objects as before."""
        async with self._call("instance_types"):
            return self._supply.types(self._order(pool, pool.template.node_class_ref))

    async def drift_reason(self, claim: NodeClaim) -> str | None:
        """Return `NodeClassDrift`, `AMIDrift`, `SecurityGroupDrift`, `SubnetDrift` or None; see `CloudProvider`."""
        instance = self.market.find(claim.provider_id) if claim.provider_id else None
        if instance is None:
            return None
        try:
            order = self._order_of(claim)
        except NodeClassNotReadyError:
            return None
        if is_of_another_class(claim, order.node_class):
            return "NodeClassDrift"
        return self._supply.drift_reason(order, instance)

    async def interruptions(self) -> AsyncIterator[Interruption]:
        """Yield the market's notices; see `CloudProvider`. An interrupted spot offering is believed short (INT-5)."""
        async for notice in self.market.notices():
            instance = self.market.find(notice.provider_id)
            if instance is not None and notice.kind is InterruptionKind.SPOT_INTERRUPTION:
                self.unavailable.mark([instance.offering])
            yield notice

    # --- launching ----------------------------------------------------------------------------------------------------

    def _launch(self, claim: NodeClaim) -> MarketInstance:
        token = claim.metadata.uid or claim.name
        running = self.market.running(token)
        if running is not None:
            return running
        order = self._order_of(claim)
        plan = plan_launch(self._supply.types(order), claim.requirements, claim.requests)
        if plan is None:
            raise InsufficientCapacityError(
                f"no instance type that claim {claim.name!r} allows has an offering left that holds its pods"
                + self.unavailable.described(claim.requirements.allowed(labels.INSTANCE_TYPE).allows)
            )
        if plan.lacks_choice:
            log.warning("falling back to on-demand with few instance types to choose from", nodeclaim=claim.name)
        requests = self._reserved_requests(claim, order, plan) or [
            LaunchRequest(
                token=token,
                options=tuple(_key(*option) for option in plan.options),
                blueprint=lambda key: self._supply.blueprint(order, claim, key),
                tags=self._tags(claim, order),
            )
        ]
        result = LaunchResult(None)
        for request in requests:
            result = self.market.launch(request)
            if result.instance is not None:
                break
        self.unavailable.mark(key for key in result.refused if key.capacity_type != labels.RESERVED)
        if result.instance is None:
            refused = ", ".join(str(key) for key in result.refused[:3])
            more = f" and {len(result.refused) - 3} more" if len(result.refused) > 3 else ""
            raise InsufficientCapacityError(
                f"the cloud has no capacity for claim {claim.name!r}: {refused}{more}", offerings=result.refused
            )
        return result.instance

    def _reserved_requests(self, claim: NodeClaim, order: Order, plan: LaunchPlan) -> list[LaunchRequest]:
        """Return a request for each reservation that would do; none where nothing is reserved."""

        def request(found: InstanceType, held: Offering) -> LaunchRequest:
            return LaunchRequest(
                token=claim.metadata.uid or claim.name,
                options=(_key(found, held),),
                blueprint=lambda key: self._supply.blueprint(order, claim, key, held=held),
                tags=self._tags(claim, order),
                reservation=held.reservation_id or "",
            )

        return [request(found, held) for found, held in plan.options if held.reservation_id is not None]

    def _tags(self, claim: NodeClaim, order: Order) -> dict[str, str]:
        """Return the instance's tags: those of any launch, and whose claim it is, which is told at once here."""
        launched = launch_tags(claim, order.node_class, cluster_name=self._cluster_name)
        return {NAME: claim.name, **launched, labels.MANAGED_BY: self._cluster_name, CLAIM: claim.name}

    def _order_of(self, claim: NodeClaim) -> Order:
        pool = self._pool(claim.pool) if claim.pool else None
        return self._order(pool, claim.node_class_ref)

    def _order(self, pool: NodePool | None, reference: NodeClassRef | None) -> Order:
        kubelet = pool.kubelet if pool else None
        if not self._supply.needs_node_class:
            return Order(kubelet=kubelet)
        try:
            wanted = class_for(pool, reference, self._node_class)
        except UnusableClassError as error:
            raise NodeClassNotReadyError(str(error), reason=error.reason) from error
        return Order(wanted.node_class, wanted.kubelet, is_inline=wanted.is_inline)

    # --- answers ------------------------------------------------------------------------------------------------------

    def _find(self, provider_id: ProviderID) -> MarketInstance:
        found = self.market.find(provider_id)
        if found is None or found.state(self._clock.now()) is InstanceState.GONE:
            raise InstanceNotFoundError(f"instance {provider_id} is not there")
        return found

    def _seen(self, one: MarketInstance) -> Instance:
        return Instance(
            provider_id=one.provider_id,
            instance_type=one.offering.instance_type,
            zone=one.offering.zone,
            capacity_type=one.offering.capacity_type,
            created_at=one.launched_at,
            image_id=one.blueprint.image_id,
            labels=one.blueprint.labels,
            capacity=one.boot.capacity,
            allocatable=one.boot.allocatable,
            claim_name=one.tags.get(CLAIM),
            claim_uid=one.token,
            price=self.market.price(one.offering),
            is_terminating=one.state(self._clock.now()) is InstanceState.TERMINATING,
        )

    @contextlib.asynccontextmanager
    async def _call(self, operation: str) -> AsyncIterator[None]:
        """Let the faults that are due happen to one call."""
        faults = {fault.kind: fault for fault in self.market.take_faults(operation)}
        if FaultKind.SLOW in faults:
            await self._clock.sleep(faults[FaultKind.SLOW].seconds)
        for kind in (FaultKind.THROTTLE, FaultKind.UNAUTHORIZED, FaultKind.ERROR):
            if kind in faults:
                raise _error(operation, faults[kind])
        yield
        if FaultKind.LOST_REPLY in faults:
            raise _error(operation, faults[FaultKind.LOST_REPLY])


def _key(found: InstanceType, offering: Offering) -> OfferingKey:
    return OfferingKey(found.name, offering.zone, offering.capacity_type)


def _error(operation: str, fault: Fault) -> CloudError:
    what = f"simulated fault: {operation} answered {fault.code}"
    match fault.kind:
        case FaultKind.THROTTLE:
            return ThrottledError(f"simulated fault: too many calls of {operation}", retry_after_s=fault.seconds)
        case FaultKind.UNAUTHORIZED:
            return UnauthorizedError(f"simulated fault: not authorized to {operation}")
        case _:
            return LaunchError(fault.code, what) if operation == "create" else CloudError(what)
