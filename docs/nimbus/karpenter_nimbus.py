"""A cloud provider of one's own: Nimbus, which rents three kinds of servers in two zones.

`Nimbus` stands for a cloud's API client; everything else is what a provider has to be.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from karpenter.cloud.errors import InstanceNotFoundError, InsufficientCapacityError
from karpenter.cloud.provider import Capabilities, GroupKind
from karpenter.cloud.registry import ProviderContext
from karpenter.cloud.unavailable import OfferingKey, UnavailableOfferings
from karpenter.model import labels
from karpenter.model.instance import Instance, Interruption, RepairPolicy
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.resources import fits, parse_resources, subtract
from karpenter.model.units import ProviderID, UnixSeconds
from karpenter.runtime.clock import Clock

ZONES = ("north", "south")
SIZES = {"small": ("2", "4Gi", 0.04), "medium": ("4", "8Gi", 0.08), "large": ("16", "32Gi", 0.30)}
"""Name to cores, memory, and USD an hour."""
RESERVED = parse_resources({"cpu": "100m", "memory": "500Mi"})
"""What kubelet and system keep for themselves."""
ENDING_S = 30.0


def instance_type(name: str) -> InstanceType:
    """Return a kind of server: every label that its nodes will have, its offerings, and what it holds."""
    cpu, memory, price = SIZES[name]
    capacity = parse_resources({"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "50Gi"})
    values = {
        labels.INSTANCE_TYPE: (name,),
        labels.ARCH: ("amd64",),
        labels.OS: ("linux",),
        labels.ZONE: ZONES,
        labels.CAPACITY_TYPE: (labels.ON_DEMAND,),
    }
    requirements = Requirements(Requirement.of(key, "In", allowed) for key, allowed in values.items())
    offerings = tuple(Offering(zone, labels.ON_DEMAND, price) for zone in ZONES)
    return InstanceType(name, requirements, offerings, capacity, subtract(capacity, RESERVED))


@dataclass(frozen=True)
class Server:
    """What the cloud's API says of one server."""

    instance: Instance
    cluster: str
    gone_at: float | None = None


class Nimbus:
    """The cloud: forgets nothing while the process lives, and gives one server for one token."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._servers: dict[ProviderID, Server] = {}
        self.sold_out: set[OfferingKey] = set()

    def rent(self, token: str, instance: Instance, cluster: str) -> Instance | None:
        """Return the server of a token, a new one if there is none; None when there is no such server left."""
        for server in self.servers():
            if server.instance.claim_uid == token and server.gone_at is None:
                return server.instance
        if OfferingKey(instance.instance_type, instance.zone, instance.capacity_type) in self.sold_out:
            return None
        identity = ProviderID(f"nimbus:///{instance.zone}/{len(self._servers):08d}")
        rented = replace(instance, provider_id=identity, created_at=self._clock.now())
        self._servers[identity] = Server(rented, cluster)
        return rented

    def give_back(self, identity: ProviderID) -> None:
        """Begin the end of a server."""
        server = self._servers[identity]
        if server.gone_at is None:
            ending = replace(server.instance, is_terminating=True)
            self._servers[identity] = replace(server, instance=ending, gone_at=self._clock.now() + ENDING_S)

    def servers(self) -> list[Server]:
        """Return the servers that are not gone."""
        now = self._clock.now()
        return [server for server in self._servers.values() if server.gone_at is None or now < server.gone_at]


class NimbusProvider:
    """Nimbus, as Karpenter sees it."""

    name = "nimbus"
    capabilities = Capabilities(interruptions=False)
    node_class_kinds: Sequence[GroupKind] = (GroupKind("nimbus.example.com", "NimbusNodeClass"),)
    repair_policies: Sequence[RepairPolicy] = (RepairPolicy("Ready", "False", 1800.0),)

    def __init__(self, api: Nimbus, clock: Clock, cluster: str) -> None:
        self._api = api
        self._cluster = cluster
        self._types = tuple(instance_type(name) for name in SIZES)
        self._unavailable = UnavailableOfferings(clock)

    async def create(self, claim: NodeClaim) -> Instance:
        """Rent the cheapest server that the claim allows; what is sold out is left alone for three minutes."""
        refused = []
        for found, offering in self._options(claim):
            key = OfferingKey(found.name, offering.zone, offering.capacity_type)
            wanted = Instance(
                ProviderID(""),
                *key,
                created_at=UnixSeconds(0.0),
                labels={
                    labels.INSTANCE_TYPE: key.instance_type,
                    labels.ZONE: key.zone,
                    labels.CAPACITY_TYPE: key.capacity_type,
                },
                capacity=found.capacity,
                allocatable=found.allocatable,
                claim_name=claim.name,
                claim_uid=claim.metadata.uid,
                price=offering.price,
            )
            rented = self._api.rent(claim.metadata.uid, wanted, self._cluster)
            if rented is not None:
                return rented
            refused.append(key)
        self._unavailable.mark(refused)
        raise InsufficientCapacityError(f"Nimbus has no server for {claim.name}", offerings=refused)

    def _options(self, claim: NodeClaim) -> list[tuple[InstanceType, Offering]]:
        options = [
            (found, offering)
            for found in self._offered()
            if not found.requirements.conflicts(claim.requirements) and fits(claim.requests, found.allocatable)
            for offering in found.offerings
            if offering.available and claim.requirements.allowed(labels.ZONE).allows(offering.zone)
        ]
        return sorted(options, key=lambda option: (option[1].price, option[0].name, option[1].zone))

    def _offered(self) -> tuple[InstanceType, ...]:
        marked = self._unavailable.marked
        return tuple(replace(found, offerings=marked(found.name, found.offerings)) for found in self._types)

    async def instance_types(self, pool: NodePool) -> Sequence[InstanceType]:
        """Return all kinds, those that are sold out included."""
        return self._offered()

    async def get(self, provider_id: ProviderID) -> Instance:
        """Return one server."""
        for instance in await self.list_instances():
            if instance.provider_id == provider_id:
                return instance
        raise InstanceNotFoundError(f"there is no server {provider_id}")

    async def delete(self, provider_id: ProviderID) -> None:
        """Give a server back."""
        self._api.give_back((await self.get(provider_id)).provider_id)

    async def list_instances(self) -> Sequence[Instance]:
        """Return our servers, and nobody else's."""
        return [server.instance for server in self._api.servers() if server.cluster == self._cluster]

    async def drift_reason(self, claim: NodeClaim) -> str | None:
        """Return None: servers are all alike."""
        return None

    async def interruptions(self) -> AsyncIterator[Interruption]:
        """Yield nothing: Nimbus takes no server away."""
        return
        yield


def make_provider(context: ProviderContext) -> NimbusProvider:
    """Return the provider that `--cloud nimbus` names: what the entry point points to."""
    return NimbusProvider(Nimbus(context.clock), context.clock, context.cluster_name)
