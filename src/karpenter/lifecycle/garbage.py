"""Claims without a machine and machines without a claim: both go.

Source: spec v1 L-8, §4.11; spec v1alpha5 LIF-26, LIF-27.
"""

from __future__ import annotations

from typing import Final

from karpenter.cloud.errors import InstanceNotFoundError
from karpenter.cloud.provider import CloudProvider
from karpenter.lifecycle.writer import Writer
from karpenter.model.instance import Instance
from karpenter.model.nodeclaim import LAUNCHED, NodeClaim
from karpenter.model.nodes import is_ready
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import Result
from karpenter.state.cluster import ClusterState

log = logs.get("nodeclaim.garbagecollection")

CLAIM_GRACE_S: Final = 10.0
"""A claim launched more recently may be missing from a list that the cloud made a little earlier."""
INSTANCE_GRACE_S: Final = 30.0
"""An instance younger than this may belong to a claim whose launch is being written down."""
INTERVAL_S: Final = 120.0
FIRST_INTERVAL_S: Final = 10.0
FIRST_RUNS: Final = 20
"""After a start leaks of the last life are looked for more often (LIF-27)."""


class GarbageCollection:
    """Compares what we want with what the cloud runs."""

    def __init__(self, provider: CloudProvider, state: ClusterState, writer: Writer, *, clock: Clock) -> None:
        self._provider = provider
        self._state = state
        self._writer = writer
        self._clock = clock
        self._runs = 0

    async def collect(self) -> Result:
        """Look once; return when to look again."""
        instances = await self._provider.list_instances()
        alive = {instance.provider_id for instance in instances if not instance.is_terminating}
        for claim in tuple(self._state.claims.values()):
            if claim.provider_id and claim.provider_id not in alive and self._is_lost(claim):
                log.info("instance of nodeclaim is gone", nodeclaim=claim.name, provider_id=claim.provider_id)
                await self._writer.disrupt(claim, "garbage_collected")
        wanted = {claim.provider_id for claim in self._state.claims.values()}
        uids = {claim.metadata.uid for claim in self._state.claims.values()}
        for instance in instances:
            if instance.provider_id not in wanted and instance.claim_uid not in uids and self._is_leaked(instance):
                await self._drop_instance(instance)
        self._runs += 1
        return Result(FIRST_INTERVAL_S if self._runs < FIRST_RUNS else INTERVAL_S)

    def _is_lost(self, claim: NodeClaim) -> bool:
        launched = claim.condition(LAUNCHED)
        if claim.metadata.is_deleting or launched is None or not launched.is_true or launched.since is None:
            return False
        if self._clock.now() - launched.since <= CLAIM_GRACE_S:
            return False
        node = self._state.node_of(claim)
        return node is None or not is_ready(node)

    def _is_leaked(self, instance: Instance) -> bool:
        return not instance.is_terminating and self._clock.now() - instance.created_at > INSTANCE_GRACE_S

    async def _drop_instance(self, instance: Instance) -> None:
        log.info("terminating instance that no nodeclaim asked for", provider_id=instance.provider_id)
        try:
            await self._provider.delete(instance.provider_id)
        except InstanceNotFoundError:
            log.debug("instance is gone already", provider_id=instance.provider_id)
        for node in self._state.nodes_of(instance.provider_id):
            await self._writer.delete_node(node)
