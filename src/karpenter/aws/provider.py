"""The `CloudProvider` of AWS."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cachetools import TTLCache

from karpenter.aws.cluster import REFRESH_S as VERSION_S
from karpenter.aws.cluster import ClusterDiscovery
from karpenter.aws.fleets import Fleets, is_ambiguous
from karpenter.aws.instances import Machine, Machines, instance_id_of
from karpenter.aws.instancetypes import InstanceTypes
from karpenter.aws.launchtemplates import LaunchTemplates
from karpenter.aws.nodeclass import AwsNodeClasses
from karpenter.aws.ownership import Ownership, uid_of
from karpenter.aws.pricing import REFRESH_S, Pricing
from karpenter.aws.queue import InterruptionQueue
from karpenter.aws.resolved import MachineOrder, ResolvedNodeClass
from karpenter.aws.session import AwsSession
from karpenter.cloud.errors import CloudError, InstanceNotFoundError, InsufficientCapacityError, NodeClassNotReadyError
from karpenter.cloud.provider import Capabilities, GroupKind
from karpenter.cloud.unavailable import OfferingKey, UnavailableOfferings
from karpenter.model import labels
from karpenter.model.aws.classstatus import ClassReport
from karpenter.model.aws.drift import SelectedParts, drifted_part, is_of_another_class
from karpenter.model.aws.launch import LaunchPlan, plan_launch
from karpenter.model.aws.machinelabels import instance_labels
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.orders import ClassChoice, FindNodeClass, UnusableClassError, class_for
from karpenter.model.aws.traits import NODE_CLASS_KINDS, REPAIR_POLICIES
from karpenter.model.instance import Instance, Interruption, InterruptionKind, RepairPolicy
from karpenter.model.instancetype import InstanceType
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodeClassRef, NodePool
from karpenter.model.units import PoolKey, ProviderID
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock

log = logs.get("cloudprovider")

_REMEMBERED_S: Final = 600.0
"""For how long we know what we launched for a claim, which writes it down at once."""
_MOST_REMEMBERED: Final = 10_000
_TEMPLATES_S: Final = 10.0
_PROFILES_S: Final = 1800.0
_TEMPLATES_ADOPTED_S: Final = 3600.0
_RETRY_S: Final = 60.0
_LIST_EVERY_S: Final = 30.0
"""How often instances are listed at most because a notice names one that we do not know."""

FindPool = Callable[[PoolKey], NodePool | None]


@dataclass(frozen=True, slots=True)
class Parts:
    """What the provider is made of."""

    classes: AwsNodeClasses
    templates: LaunchTemplates
    cluster: ClusterDiscovery
    types: InstanceTypes
    pricing: Pricing
    fleets: Fleets
    machines: Machines
    ownership: Ownership
    unavailable: UnavailableOfferings
    queue: InterruptionQueue | None
    """None when no queue is named: the cloud takes machines without a word."""


class AwsCloud:
    """EC2 machines of one cluster in one region."""

    name: Final = "aws"
    node_class_kinds: Final[Sequence[GroupKind]] = tuple(GroupKind(*kind) for kind in NODE_CLASS_KINDS)
    repair_policies: Final[Sequence[RepairPolicy]] = REPAIR_POLICIES

    def __init__(
        self, session: AwsSession, parts: Parts, clock: Clock, *, node_class: FindNodeClass, pool: FindPool
    ) -> None:
        """`node_class` and `pool` look objects up as they are now; None for one that does not exist."""
        self.session = session
        """Its calls, counted."""
        self._parts = parts
        self._clock = clock
        self._node_class = node_class
        self._pool = pool
        self._known: dict[str, ProviderID] = {}
        self._listed_at = 0.0
        self._resolving: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._launched: TTLCache[str, Instance] = TTLCache(_MOST_REMEMBERED, _REMEMBERED_S, clock.now)

    async def run(self) -> None:
        """Keep prices, types, cluster and launch templates up to date, and instances tagged, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for work, every_s in (
                (self._parts.pricing.refresh, REFRESH_S),
                (self._parts.types.refresh, REFRESH_S),
                (self._parts.cluster.refresh, VERSION_S),
                (self._parts.templates.adopt, _TEMPLATES_ADOPTED_S),
                (self._parts.templates.delete_unused, _TEMPLATES_S),
                (self._delete_unused_profiles, _PROFILES_S),
            ):
                group.create_task(self._repeat(work, every_s), name=f"aws {work.__qualname__}")
            group.create_task(self._parts.ownership.run(), name="aws tags")

    async def _delete_unused_profiles(self) -> None:
        machines = await self._parts.machines.list()
        await self._parts.classes.delete_unused_profiles({one.instance_profile for one in machines})

    async def _repeat(self, work: Callable[[], Awaitable[float | None]], every_s: float) -> None:
        while True:
            try:
                wait_s = await work() or every_s
            except CloudError as error:
                log.warning("cannot keep up with AWS, trying again", what=work.__qualname__, error=error)
                wait_s = min(every_s, _RETRY_S)
            await self._clock.sleep(wait_s)

    async def inspect(self, node_class: AwsNodeClass) -> ClassReport:
        """Return what the status of a node class is to say."""
        await self._parts.cluster.ensure()
        return await self._parts.classes.inspect(node_class)

    async def clean_up(self, node_class: AwsNodeClass) -> None:
        """Delete what was made for a class, which goes. Raises CloudError."""
        await self._parts.classes.clean_up(node_class)

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        return Capabilities(interruptions=self._parts.queue is not None)

    async def instance_types(self, pool: NodePool) -> Sequence[InstanceType]:
        """Return every type the pool can get; see `CloudProvider`. Unchanged types are the same objects as before."""
        choice = self._choice(pool, pool.template.node_class_ref)
        resolved = await self._resolve(choice)
        return await self._parts.types.types(resolved, choice.kubelet)

    async def get(self, provider_id: ProviderID) -> Instance:
        """Return one machine; see `CloudProvider`."""
        return self._seen(await self._parts.machines.get(instance_id_of(provider_id)))

    async def list_instances(self) -> Sequence[Instance]:
        """Return the cluster's machines, oldest first; see `CloudProvider`."""
        machines = await self._parts.machines.list()
        self._known.update((machine.id, machine.provider_id) for machine in machines)
        return tuple(self._seen(machine) for machine in machines)

    async def delete(self, provider_id: ProviderID) -> None:
        """Begin the end of a machine; see `CloudProvider`."""
        machine = await self._parts.machines.get(instance_id_of(provider_id))
        if machine.state != "shutting-down":
            await self._parts.machines.terminate(machine.id)

    # --- launching ----------------------------------------------------------------------------------------------------

    async def create(self, claim: NodeClaim) -> Instance:
        """Launch a machine for a claim; see `CloudProvider`."""
        uid = uid_of(claim)
        known = self._launched.get(uid)
        if known is not None:
            return known
        choice = self._choice_of(claim)
        resolved = await self._resolve(choice)
        types = await self._parts.types.types(resolved, choice.kubelet)
        found = await self._parts.ownership.find(claim)
        if found is not None:
            log.info("found the machine of a nodeclaim again", nodeclaim=claim.name, provider_id=found.provider_id)
            instance = self._completed(self._seen(found), claim, resolved=resolved, types=types)
        else:
            plan = self._plan(claim, types)
            order = MachineOrder(claim, resolved, plan.capacity_type, plan.options, choice.kubelet)
            instance = self._completed(await self._launch(order), claim, resolved=resolved, types=types)
        self._launched[uid] = instance
        return instance

    def _plan(self, claim: NodeClaim, types: Sequence[InstanceType]) -> LaunchPlan:
        plan = plan_launch(types, claim.requirements, claim.requests)
        if plan is None:
            raise InsufficientCapacityError(
                f"no instance type that claim {claim.name!r} allows has an offering left that holds its pods"
                + self._parts.unavailable.described(claim.requirements.allowed(labels.INSTANCE_TYPE).allows)
            )
        if plan.lacks_choice:
            log.warning("falling back to on-demand with few instance types to choose from", nodeclaim=claim.name)
        return plan

    async def _launch(self, order: MachineOrder) -> Instance:
        try:
            launched = await self._parts.fleets.launch(order)
        except CloudError as error:
            if is_ambiguous(error):
                self._parts.ownership.doubt(order.claim)
            raise
        self._parts.ownership.launched(launched.instance_id, order.claim, is_tagged=launched.is_tagged)
        provider_id = ProviderID(f"aws:///{launched.zone}/{launched.instance_id}")
        self._known[launched.instance_id] = provider_id
        return Instance(
            provider_id=provider_id,
            instance_type=launched.instance_type,
            zone=launched.zone,
            capacity_type=order.capacity_type,
            created_at=self._clock.now(),
            image_id=launched.image_id,
            claim_name=order.claim.name,
            claim_uid=uid_of(order.claim),
            price=self._parts.pricing.price(launched.instance_type, launched.zone, order.capacity_type),
        )

    def _completed(
        self, instance: Instance, claim: NodeClaim, *, resolved: ResolvedNodeClass, types: Sequence[InstanceType]
    ) -> Instance:
        """Return a launched machine with what follows from its type: labels and amounts (A-45)."""
        found = next((one for one in types if one.name == instance.instance_type), None)
        if found is None:
            return instance
        place = (instance.instance_type, instance.zone, instance.capacity_type)
        zone_id = resolved.zone_ids.get(instance.zone)
        return replace(
            instance,
            labels={
                **instance_labels(found, claim.requirements, place),
                **({labels.ZONE_ID: zone_id} if zone_id else {}),
            },
            annotations=resolved.node_class.hash_annotations,
            capacity=found.capacity,
            allocatable=found.allocatable,
        )

    # --- drift and interruption ---------------------------------------------------------------------------------------

    async def drift_reason(self, claim: NodeClaim) -> str | None:
        """Return the first way in which a machine is not what its class gives now; None for none (A-50)."""
        try:
            choice = self._choice_of(claim)
            if choice.is_inline or claim.provider_id is None:
                return None
            if is_of_another_class(claim, choice.node_class):
                return "NodeClassDrift"
            resolved = await self._resolve(choice)
            machine = await self._parts.machines.get(instance_id_of(claim.provider_id))
        except (NodeClassNotReadyError, InstanceNotFoundError):
            return None  # what cannot be resolved says nothing about the nodes it once gave
        types = await self._parts.types.types(resolved, choice.kubelet)
        return drifted_part(machine.parts, _selected(resolved, types, machine))

    async def interruptions(self) -> AsyncGenerator[Interruption, None]:
        """Yield the queue's notices about our machines; see `CloudProvider`. None come without a queue."""
        if self._parts.queue is None:
            return
        async with contextlib.aclosing(self._parts.queue.notices()) as notices:  # what was taken is deleted now
            async for notice in notices:
                provider_id = await self._provider_id(notice.instance_id)
                if provider_id is None:
                    continue
                if notice.kind is InterruptionKind.SPOT_INTERRUPTION:
                    await self._mark_short(provider_id)
                yield Interruption(notice.kind, provider_id, notice.noticed_at, notice.deadline)

    async def _provider_id(self, instance_id: str) -> ProviderID | None:
        """Return the provider id of an instance of ours; None of somebody else's."""
        if instance_id not in self._known and self._clock.now() - self._listed_at >= _LIST_EVERY_S:
            # Before the call: a queue full of other people's instances must not ask for each.
            self._listed_at = self._clock.now()
            await self.list_instances()
        return self._known.get(instance_id)

    async def _mark_short(self, provider_id: ProviderID) -> None:
        try:
            machine = await self._parts.machines.get(instance_id_of(provider_id))
        except CloudError as error:
            log.debug("interrupted machine cannot be looked at", provider_id=provider_id, error=error)
            return
        self._parts.unavailable.mark([OfferingKey(machine.instance_type, machine.zone, labels.SPOT)])

    # --- answers ------------------------------------------------------------------------------------------------------

    async def _resolve(self, choice: ClassChoice) -> ResolvedNodeClass:
        await self._parts.cluster.ensure()
        # A thousand claims ask at once: the first finds out, the others find it remembered.
        async with self._resolving[choice.node_class.name]:
            return await self._parts.classes.resolve(choice.node_class)

    def _choice_of(self, claim: NodeClaim) -> ClassChoice:
        pool = self._pool(claim.pool) if claim.pool else None
        return self._choice(pool, claim.node_class_ref)

    def _choice(self, pool: NodePool | None, reference: NodeClassRef | None) -> ClassChoice:
        try:
            return class_for(pool, reference, self._node_class)
        except UnusableClassError as error:
            raise NodeClassNotReadyError(str(error), reason=error.reason) from error

    def _seen(self, machine: Machine) -> Instance:
        owner = self._parts.ownership.owner_of(machine)
        launched = self._launched.get(owner.uid) if owner else None
        return Instance(
            provider_id=machine.provider_id,
            instance_type=machine.instance_type,
            zone=machine.zone,
            capacity_type=machine.capacity_type,
            # EC2's clock and ours differ by a moment: what was said at the launch stands.
            created_at=launched.created_at if launched else machine.launched_at,
            image_id=machine.parts.image_id,
            labels={
                labels.INSTANCE_TYPE: machine.instance_type,
                labels.ZONE: machine.zone,
                labels.CAPACITY_TYPE: machine.capacity_type,
            },
            claim_name=owner.name if owner else None,
            claim_uid=owner.uid if owner else None,
            price=self._parts.pricing.price(machine.instance_type, machine.zone, machine.capacity_type),
            is_terminating=machine.state == "shutting-down",
        )


def _selected(resolved: ResolvedNodeClass, types: Sequence[InstanceType], machine: Machine) -> SelectedParts:
    found = next((one for one in types if one.name == machine.instance_type), None)
    ami = resolved.ami_for(found) if found else None
    has_own_template = bool(resolved.node_class.launch_template)
    return SelectedParts(
        image_id=None if has_own_template or found is None else ami.id if ami else "",
        subnet_ids=frozenset(subnet.id for subnet in resolved.subnets),
        security_group_ids=None if has_own_template else frozenset(group.id for group in resolved.security_groups),
        reservation_ids=frozenset(one.id for one in resolved.reservations),
        placement_group_id=resolved.placement_group.id if resolved.placement_group else "",
    )
