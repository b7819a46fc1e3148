"""Metrics of a cloud provider, as a decorator of any: how long calls took and how they failed.

Source: spec v1 §5.3, `cloudprovider_*`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from karpenter.cloud.errors import (
    CloudError,
    InstanceNotFoundError,
    InsufficientCapacityError,
    LaunchError,
    NodeClassNotReadyError,
)
from karpenter.cloud.provider import Capabilities, CloudProvider, GroupKind
from karpenter.model.instance import Instance, Interruption, RepairPolicy
from karpenter.model.instancetype import InstanceType
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.units import ProviderID
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.metrics import Metrics

_ERROR_NAMES: Final[tuple[tuple[type[CloudError], str], ...]] = (
    (InstanceNotFoundError, "NodeClaimNotFoundError"),
    (InsufficientCapacityError, "InsufficientCapacityError"),
    (NodeClassNotReadyError, "NodeClassNotReadyError"),
    (LaunchError, "CreateError"),
)
"""What Karpenter's dashboards call our errors; others are counted under an empty name, as there."""


class MeteredProvider:
    """A provider like the one it wraps, with every call measured."""

    def __init__(self, provider: CloudProvider, metrics: Metrics, clock: Clock) -> None:
        self._provider = provider
        self._metrics = metrics
        self._clock = clock

    @property
    def name(self) -> str:
        """The wrapped provider's name."""
        return self._provider.name

    @property
    def capabilities(self) -> Capabilities:
        """The wrapped provider's capabilities."""
        return self._provider.capabilities

    @property
    def node_class_kinds(self) -> Sequence[GroupKind]:
        """The wrapped provider's node class kinds."""
        return self._provider.node_class_kinds

    @property
    def repair_policies(self) -> Sequence[RepairPolicy]:
        """The wrapped provider's repair policies."""
        return self._provider.repair_policies

    async def create(self, claim: NodeClaim) -> Instance:
        """Launch a machine; see `CloudProvider`."""
        with self._measured("Create"):
            return await self._provider.create(claim)

    async def delete(self, provider_id: ProviderID) -> None:
        """Ask for a machine's end; see `CloudProvider`."""
        with self._measured("Delete"):
            await self._provider.delete(provider_id)

    async def get(self, provider_id: ProviderID) -> Instance:
        """Return one machine; see `CloudProvider`."""
        with self._measured("Get"):
            return await self._provider.get(provider_id)

    async def list_instances(self) -> Sequence[Instance]:
        """Return our machines; see `CloudProvider`."""
        with self._measured("List"):
            return await self._provider.list_instances()

    async def instance_types(self, pool: NodePool) -> Sequence[InstanceType]:
        """Return every type a pool can get; see `CloudProvider`."""
        with self._measured("GetInstanceTypes"):
            return await self._provider.instance_types(pool)

    async def drift_reason(self, claim: NodeClaim) -> str | None:
        """Return why a machine has drifted; see `CloudProvider`."""
        with self._measured("IsDrifted"):
            return await self._provider.drift_reason(claim)

    def interruptions(self) -> AsyncIterator[Interruption]:
        """Yield notices; see `CloudProvider`."""
        return self._provider.interruptions()

    @contextlib.contextmanager
    def _measured(self, method: str) -> Iterator[None]:
        asked_by = {
            "controller": str(logs.bound_field("controller") or ""),
            "method": method,
            "provider": self._provider.name,
        }
        started = self._clock.now()
        try:
            yield
        except CloudError as error:
            name = next((shown for kind, shown in _ERROR_NAMES if isinstance(error, kind)), "")
            self._metrics.cloudprovider_errors_total.labels(**asked_by, error=name).inc()
            raise
        finally:
            self._metrics.cloudprovider_duration_seconds.labels(**asked_by).observe(self._clock.now() - started)
