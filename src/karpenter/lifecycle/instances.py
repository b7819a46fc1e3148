"""Instances as the end of a node or claim needs them: asked to go, known to be gone."""

from __future__ import annotations

from dataclasses import dataclass

from karpenter.cloud.errors import InstanceNotFoundError
from karpenter.cloud.provider import CloudProvider
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.units import ProviderID


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a drain looks again, in seconds."""

    drain_poll_s: float = 1.0
    instance_poll_s: float = 5.0
    paused_poll_s: float = 2.0
    """How soon an end of a pause is noticed."""
    min_drain_s: float = 5.0
    """A node without pods stays this long, for a pod that was bound just before the taint (T-9)."""


class Instances:
    """Terminates instances and knows when they are gone."""

    def __init__(self, provider: CloudProvider) -> None:
        self._provider = provider

    async def terminate(self, provider_id: ProviderID) -> bool:
        """Ask for an instance's end; return whether it is gone already."""
        try:
            await self._provider.delete(provider_id)
        except InstanceNotFoundError:
            return True
        return False

    async def exists(self, provider_id: ProviderID) -> bool:
        """Return whether the cloud still knows the instance."""
        try:
            await self._provider.get(provider_id)
        except InstanceNotFoundError:
            return False
        return True

    async def launched_for(self, claim: NodeClaim) -> tuple[ProviderID, ...]:
        """Return the instances of a claim, also one whose launch we crashed before writing down."""
        if claim.provider_id:
            return (claim.provider_id,)
        found = await self._provider.list_instances()
        return tuple(instance.provider_id for instance in found if instance.claim_uid == claim.metadata.uid)
