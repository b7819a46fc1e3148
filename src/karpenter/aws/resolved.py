"""What a node class means in the account now: the values that launches, offerings and drift are decided by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from karpenter.model.aws.drift import SelectedParts
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.instancetype import InstanceType, Offering
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import KubeletConfiguration
from karpenter.model.requirements import Requirements
from karpenter.model.units import UnixSeconds


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet that machines may be launched in."""

    id: str
    zone: str
    zone_id: str = ""
    free_addresses: int = 0
    """As EC2 said when it was last asked."""
    gives_public_ip: bool = False
    """Whether machines get a public address unless something else is said."""


@dataclass(frozen=True, slots=True)
class SecurityGroup:
    """A firewall that machines get."""

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Ami:
    """An image, and which instance types it serves."""

    id: str
    name: str = ""
    requirements: Requirements = field(default_factory=Requirements)
    """Architecture, and for variants the devices that a type must or must not have (A-7)."""
    created: str = ""
    """RFC 3339; sorts as text."""
    is_deprecated: bool = False


@dataclass(frozen=True, slots=True)
class Reservation:
    """A capacity reservation that the class may launch into."""

    id: str
    instance_type: str
    zone: str
    available: int
    """Machines that it still holds: what EC2 said, less what was launched since (A-11)."""
    owner_id: str = ""
    match_criteria: Literal["open", "targeted"] = "targeted"
    kind: Literal["default", "capacity-block"] = "default"
    state: Literal["active", "expiring"] = "active"
    """A capacity block expires from 40 minutes before its end (A-10)."""
    is_interruptible: bool = False
    ends_at: UnixSeconds | None = None
    """None for one without an end."""


@dataclass(frozen=True, slots=True)
class PlacementGroup:
    """Where machines stand relative to each other."""

    id: str
    name: str
    strategy: Literal["cluster", "spread", "partition"]
    partitions: int = 0
    """Number of partitions; 0 unless the strategy is partition."""


@dataclass(frozen=True, slots=True)
class ResolvedNodeClass:
    """A node class that is ready: each of its selectors found something."""

    node_class: AwsNodeClass
    subnets: tuple[Subnet, ...]
    """Most free addresses first, then by id (A-4)."""
    security_groups: tuple[SecurityGroup, ...] = ()
    """By id. Empty only with a launch template of the user's own."""
    amis: tuple[Ami, ...] = ()
    """In the order in which they are tried (A-8). Empty only with a launch template of the user's own."""
    instance_profile: str = ""
    """Name of the profile. Empty only with a launch template of the user's own."""
    reservations: tuple[Reservation, ...] = ()
    placement_group: PlacementGroup | None = None

    @property
    def name(self) -> str:
        """The node class's name."""
        return self.node_class.name

    @property
    def zones(self) -> tuple[str, ...]:
        """Names of the zones that have a subnet, sorted."""
        return tuple(sorted({subnet.zone for subnet in self.subnets}))

    @property
    def zone_ids(self) -> Mapping[str, str]:
        """Zone name to zone id."""
        return {subnet.zone: subnet.zone_id for subnet in self.subnets if subnet.zone_id}

    def ami_for(self, found: InstanceType) -> Ami | None:
        """Return the image that instances of a type boot from; None when none fits, and such types are dropped."""
        return next((ami for ami in self.amis if not found.requirements.conflicts(ami.requirements)), None)

    def parts_for(self, found: InstanceType | None) -> SelectedParts:
        """Return what machines of a type would be made of now; None for a type that is not known any more."""
        ami = self.ami_for(found) if found is not None else None
        has_own_template = bool(self.node_class.launch_template)
        return SelectedParts(
            image_id=ami.id if ami is not None and not has_own_template else None,
            subnet_ids=frozenset(subnet.id for subnet in self.subnets),
            security_group_ids=None if has_own_template else frozenset(group.id for group in self.security_groups),
            reservation_ids=frozenset(one.id for one in self.reservations),
            placement_group_id=self.placement_group.id if self.placement_group else "",
        )


@dataclass(frozen=True, slots=True)
class MachineOrder:
    """One launch, as far as launch templates depend on it."""

    claim: NodeClaim
    resolved: ResolvedNodeClass
    capacity_type: str
    options: tuple[tuple[InstanceType, Offering], ...]
    """What may be launched, see `LaunchPlan.options`."""
    kubelet: KubeletConfiguration | None = None
    """Kubelet settings of a Provisioner, which go before the node class's."""


@dataclass(frozen=True, slots=True)
class Template:
    """A launch template that exists in EC2, and the options that it serves."""

    name: str
    image_id: str
    """Empty for a launch template of the user's own."""
    options: tuple[tuple[InstanceType, Offering], ...]


class NodeClassResolver(Protocol):
    """Finds out what node classes mean; answers from its caches where it can."""

    async def resolve(self, node_class: AwsNodeClass) -> ResolvedNodeClass:
        """Return what a class means now.

        Raises NodeClassNotReadyError when a selector finds nothing, CloudError when AWS cannot be asked.
        """
        ...


class TemplateSource(Protocol):
    """Makes launch templates, one per distinct content (A-39)."""

    async def launch_templates(self, order: MachineOrder) -> Sequence[Template]:
        """Return templates that together serve every option with an image; they exist when this returns.

        Raises LaunchError when there is no user data to be made, CloudError when AWS refuses.
        """
        ...

    def forget(self, name: str) -> None:
        """Forget a template that EC2 does not know any more: the next launch makes it anew (AWS-49)."""
        ...
