"""Machines that the cloud is about to take away: replaced first where the notice leaves time, drained within it.

Controller `interruption`. A notice is written onto the claim, which wakes the controller for that claim, also after a
restart; from then on the node takes no pods, and those on it are planned elsewhere at once. The drain begins when all
of them have a place that is ready, at the latest shortly before the machine goes. Source: issue 6, point 9; spec
v1alpha5 §5.7; case SPOT-DRAIN.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import msgspec

from karpenter.cloud.errors import CloudError
from karpenter.disruption.context import Context
from karpenter.disruption.options import InterruptionSettings
from karpenter.disruption.relocation import places_now, pods_to_move
from karpenter.model import labels
from karpenter.model.instance import Interruption, InterruptionKind
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.runtime import logs
from karpenter.runtime.backoff import Backoff
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.cpu import run_cpu
from karpenter.runtime.kube import KubeError

log = logs.get("interruption")

POLL_S: Final = 1.0
NOTICE_KEPT_S: Final = 300.0
"""A notice that cannot be written down for so long is dropped (INT-9)."""
_WORDS: Final = {
    InterruptionKind.SPOT_INTERRUPTION: "spot_interrupted",
    InterruptionKind.REBALANCE_RECOMMENDATION: "rebalance_recommendation",
    InterruptionKind.SCHEDULED_CHANGE: "scheduled_change",
    InterruptionKind.STOPPING: "instance_stopped",
    InterruptionKind.TERMINATING: "instance_terminated",
}
"""As metrics spell the kinds."""


class Notice(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A notice as the claim's annotation holds it."""

    kind: str
    noticed_at: float
    deadline: float | None = None


class Interruptions:
    """Takes notices in, and sees each of them through."""

    name: Final = "interruption"

    def __init__(
        self,
        context: Context,
        notices: Callable[[], AsyncIterator[Interruption]],
        *,
        settings: InterruptionSettings,
        wait_synced: Callable[[], Awaitable[None]],
        plan_now: Callable[[], None],
        backoff: Backoff,
    ) -> None:
        """`plan_now` has the provisioner look for places at once."""
        self._context = context
        self._notices = notices
        self._settings = settings
        self._wait_synced = wait_synced
        self._plan_now = plan_now
        self._backoff = backoff

    async def run(self) -> None:
        """Take notices in until cancelled. A notice is acknowledged by asking for the next one."""
        await self._wait_synced()
        while True:
            try:
                async for notice in self._notices():
                    await self._take_in(notice)
                    self._backoff.reset()
                return
            except CloudError as error:
                log.warning("cannot hear of interruptions, trying again", error=error)
                await self._context.clock.sleep(self._backoff.next_s())

    async def _take_in(self, notice: Interruption) -> None:
        """Act on a notice, until it works or the notice is old."""
        self._context.metrics.interruption_received_messages_total.labels(message_type=_WORDS[notice.kind]).inc()
        while self._context.clock.now() - notice.noticed_at < NOTICE_KEPT_S:
            try:
                await self._act(notice)
            except KubeError as error:
                log.warning("cannot act on interruption, trying again", provider_id=notice.provider_id, error=error)
                await self._context.clock.sleep(self._backoff.next_s())
            else:
                return

    async def _act(self, notice: Interruption) -> None:
        claim = self._context.state.claim_with(notice.provider_id)
        if claim is None:
            log.debug("interruption of an unknown instance", provider_id=notice.provider_id)
            return
        is_advice = notice.kind is InterruptionKind.REBALANCE_RECOMMENDATION
        text = f"the cloud says: {notice.kind.value}{_until(notice)}"
        self._context.tell(claim, notice.kind.value, text, kind="Normal" if is_advice else "Warning")
        log.info("interruption", nodeclaim=claim.name, kind=notice.kind.value, deadline=notice.deadline)
        if is_advice and self._settings.rebalance == "ignore":
            return
        if notice.kind in {InterruptionKind.STOPPING, InterruptionKind.TERMINATING}:
            await self._end(claim, _WORDS[notice.kind], None)
            return
        await self._write_down(claim, Notice(notice.kind.value, notice.noticed_at, notice.deadline))
        await self._set_aside(claim)
        self._plan_now()

    async def _write_down(self, claim: NodeClaim, notice: Notice) -> None:
        """Keep the notice with the earlier end, if there was one before."""
        known = notice_on(claim)
        if known is None or (notice.deadline or float("inf")) < (known.deadline or float("inf")):
            text = msgspec.json.encode(notice).decode()
            await self._context.writer.patch_claim(claim, {"metadata": {"annotations": {labels.INTERRUPTION: text}}})

    async def _set_aside(self, claim: NodeClaim) -> None:
        """Keep pods off the node, and let those on it look for another place."""
        node = self._context.state.node_of(claim)
        self._context.state.mark_for_deletion(node.metadata.name if node else claim.name)
        if node is not None:
            await self._context.writer.set_disrupted(node, is_disrupted=True)

    async def reconcile(self, key: str) -> Result:
        """See the interruption of one claim, by name, through."""
        state, now = self._context.state, self._context.clock.now()
        claim = state.claims.get(key)
        notice = notice_on(claim) if claim else None
        if claim is None or notice is None:
            return DONE
        if state.pauses.stops_everything(claim.pool):
            return Result(POLL_S)
        if claim.metadata.is_deleting:
            await self._set_deadline(claim, notice)
            return DONE
        await self._set_aside(claim)
        if self._settings.mode == "replace-first" and now < self._drain_at(notice) and await self._is_homeless(claim):
            return Result(min(POLL_S, self._drain_at(notice) - now))
        kind = InterruptionKind(notice.kind)
        await self._end(claim, _WORDS[kind], notice)
        return DONE

    def _drain_at(self, notice: Notice) -> float:
        if notice.deadline is None:
            return notice.noticed_at + self._settings.patience_s
        return notice.deadline - self._settings.drain_s

    async def _is_homeless(self, claim: NodeClaim) -> bool:
        """Return whether a pod of the node has no place yet that is ready for it, and have places looked for."""
        node = self._context.state.node_of(claim)
        if node is None:
            return False
        snapshot = self._context.snapshot()
        pods = pods_to_move(snapshot, frozenset({node.metadata.name}))
        places = await run_cpu(places_now, snapshot, pods, self._context.options.solve)
        if all(pod.metadata.key in places for pod in pods):
            return False
        if not all(self._context.state.is_planned(pod, snapshot.taken_at) for pod in pods):
            self._plan_now()
        return True

    async def _end(self, claim: NodeClaim, reason: str, notice: Notice | None) -> None:
        if notice is not None:
            await self._set_deadline(claim, notice)
        self._context.tell(claim, "TerminatingOnInterruption", f"draining: {reason}", kind="Warning")
        await self._context.writer.disrupt(claim, reason)

    async def _set_deadline(self, claim: NodeClaim, notice: Notice) -> None:
        """Let the drain end with the machine: pods get what grace is left, whatever budgets say."""
        if notice.deadline is not None:
            await self._context.writer.limit_drain(claim, UnixSeconds(notice.deadline))


def notice_on(claim: NodeClaim) -> Notice | None:
    """Return the notice that a claim carries; None when it carries none that can be read."""
    text = claim.metadata.annotations.get(labels.INTERRUPTION)
    try:
        return msgspec.json.decode(text, type=Notice) if text else None
    except msgspec.DecodeError:
        return None


def _until(notice: Interruption) -> str:
    return f", it goes at {to_rfc3339(notice.deadline)}" if notice.deadline is not None else ""
