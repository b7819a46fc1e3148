"""What a cloud must be able to do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from karpenter.model.instance import Instance, Interruption, RepairPolicy
from karpenter.model.instancetype import InstanceType
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.units import ProviderID


class GroupKind(NamedTuple):
    """API group and kind of a node class."""

    group: str
    kind: str


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider can do beyond the minimum."""

    flexible_create: bool = True
    """`create` chooses among many types and zones by itself."""
    interruptions: bool = True
    """`interruptions` yields notices."""


class CloudProvider(Protocol):
    """The seam to a cloud. Calls raise `CloudError`s; none blocks the event loop."""

    @property
    def name(self) -> str:
        """Short name, as `--cloud` takes it."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    @property
    def node_class_kinds(self) -> Sequence[GroupKind]:
        """Kinds of node classes it understands; the first is the default."""
        ...

    @property
    def repair_policies(self) -> Sequence[RepairPolicy]:
        """Node conditions after which a machine should be replaced."""
        ...

    async def create(self, claim: NodeClaim) -> Instance:
        """Launch a machine for a claim, the same one however often it is called for the claim's uid.

        Raises InsufficientCapacityError, NodeClassNotReadyError, LaunchError.
        """
        ...

    async def delete(self, provider_id: ProviderID) -> None:
        """Ask for a machine's end; safe to repeat. Raises InstanceNotFoundError once it is gone."""
        ...

    async def get(self, provider_id: ProviderID) -> Instance:
        """Return one machine. Raises InstanceNotFoundError."""
        ...

    async def list_instances(self) -> Sequence[Instance]:
        """Return our machines, those being terminated included; other people's are not listed."""
        ...

    async def instance_types(self, pool: NodePool) -> Sequence[InstanceType]:
        """Return every type the pool's node class can give, available or not. Raises NodeClassNotReadyError."""
        ...

    async def drift_reason(self, claim: NodeClaim) -> str | None:
        """Return why the machine no longer matches its node class; None when it does."""
        ...

    def interruptions(self) -> AsyncIterator[Interruption]:
        """Yield notices for as long as the process lives."""
        ...
