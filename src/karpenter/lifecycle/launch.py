"""Ask the cloud for a claim's machine and write down what came.

Source: spec v1 §3.1 (L-2, L-4), §1.5; spec v1alpha5 LIF-12.
"""

from __future__ import annotations

from typing import Final

from karpenter.cloud.errors import CloudError, InsufficientCapacityError, LaunchError, NodeClassNotReadyError
from karpenter.cloud.provider import CloudProvider
from karpenter.lifecycle.writer import Writer
from karpenter.model.instance import Instance
from karpenter.model.meta import Condition, changed_condition
from karpenter.model.nodeclaim import LAUNCHED, NodeClaim
from karpenter.model.resources import format_resources
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.events import EventRecorder
from karpenter.state.refs import claim_ref

log = logs.get("nodeclaim.lifecycle")
LONGEST_MESSAGE: Final = 300


class Launcher:
    """Launches machines. `create` is idempotent per claim, so a crash after it costs nothing: it is asked again."""

    def __init__(self, provider: CloudProvider, writer: Writer, recorder: EventRecorder, *, clock: Clock) -> None:
        self._provider = provider
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    async def launch(self, claim: NodeClaim) -> str | None:
        """Launch the machine of a claim; return None, or the reason for which the claim has to go.

        Raises CloudError when another try may succeed; the claim's `Launched` condition then says why.
        """
        try:
            instance = await self._provider.create(claim)
        except InsufficientCapacityError as error:
            self._warn(claim, "InsufficientCapacityError", str(error))
            log.info("deleting nodeclaim, no capacity", nodeclaim=claim.name, error=error)
            return "insufficient_capacity"
        except NodeClassNotReadyError as error:
            self._warn(claim, "NodeClassNotReady", str(error))
            return "nodeclass_not_ready"
        except CloudError as error:
            await self._record_failure(claim, error)
            raise
        await self._record(claim, instance)
        return None

    async def _record_failure(self, claim: NodeClaim, error: CloudError) -> None:
        reason = error.reason if isinstance(error, LaunchError) else "LaunchFailed"
        message = str(error)
        if len(message) > LONGEST_MESSAGE:
            message = f"{message[:LONGEST_MESSAGE]}..."
        changed = changed_condition(
            claim.conditions, Condition(LAUNCHED, "Unknown", reason, message), self._clock.now()
        )
        await self._writer.patch_claim_status(claim, (changed,) if changed else ())

    async def _record(self, claim: NodeClaim, instance: Instance) -> None:
        """Labels and annotations first, status after: a claim that says Launched carries its type and zone."""
        metadata = {"labels": {**instance.labels, **claim.labels}, "annotations": dict(instance.annotations)}
        claim = await self._writer.patch_claim(claim, {"metadata": metadata})
        launched = changed_condition(claim.conditions, Condition(LAUNCHED, "True"), self._clock.now())
        status = {
            "providerID": instance.provider_id,
            "imageID": instance.image_id,
            "capacity": format_resources(instance.capacity),
            "allocatable": format_resources(instance.allocatable),
        }
        await self._writer.patch_claim_status(claim, (launched,) if launched else (), status)
        log.info(
            "launched nodeclaim",
            nodeclaim=claim.name,
            provider_id=instance.provider_id,
            instance_type=instance.instance_type,
            zone=instance.zone,
            capacity_type=instance.capacity_type,
            allocatable=format_resources(instance.allocatable),
        )

    def _warn(self, claim: NodeClaim, reason: str, message: str) -> None:
        self._recorder.record(claim_ref(claim), "Warning", reason, message)
