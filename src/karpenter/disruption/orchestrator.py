"""Carries commands out: taint, launch replacements, wait until they are ready, look again, drain.

Controller `disruption.queue`, keyed by command id. Everything it must know is in the cluster (see `records`), so a
process that starts in the middle goes on, or takes back what is incomplete. Source: issue 6, point 6; spec v1 §3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from karpenter.disruption.context import Context
from karpenter.disruption.progress import Progress, candidates_under_way, progress_of
from karpenter.disruption.records import CommandRecord, encode_record, record_of, record_on
from karpenter.disruption.retreat import Retreat
from karpenter.disruption.validation import Objection, homeless, objection
from karpenter.disruption.verdict import Command
from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.units import UnixSeconds
from karpenter.provisioning.writing import Purpose
from karpenter.runtime import logs
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.cpu import run_cpu
from karpenter.scheduling.snapshot import Snapshot
from karpenter.state.refs import claim_ref

log = logs.get("disruption.queue")

POLL_S: Final = 5.0
"""Events wake a command sooner; this is for those that get lost."""
OBJECTED_S: Final = 2.0
KEEP_ROOM_S: Final = 20.0
DRAIN_S: Final = 300.0
"""So long before its deadline a command no longer waits for replacements."""


class Orchestrator:
    """Starts commands, and brings those under way one step further."""

    name = "disruption.queue"

    def __init__(
        self, context: Context, retreat: Retreat, *, is_synced: Callable[[], bool], plan_anew: Callable[[str], None]
    ) -> None:
        """`plan_anew` is called with the name of a node whose pods need places that nobody has planned yet."""
        self._context = context
        self._retreat = retreat
        self._is_synced = is_synced
        self._plan_anew = plan_anew
        self._starting: set[str] = set()

    # --- the start ------------------------------------------------------------------------------------------------

    async def start(self, command: Command, snapshot: Snapshot) -> str | None:
        """Start a command that was decided on this snapshot; return its id, None when it cannot be started.

        Raises KubeError when the API fails in between: what was done by then is taken back by the next looks.
        """
        claims = self._claims(command)
        if claims is None:
            return None
        record = record_of(command, claims, self._context.clock.now())
        self._starting.add(record.id)
        try:
            return record.id if await self._begin(record, command, snapshot) else None
        finally:
            self._starting.discard(record.id)

    def _claims(self, command: Command) -> list[NodeClaim] | None:
        """Return the candidates' claims; None when one of them is gone, leaving, or somebody else's candidate."""
        claims: list[NodeClaim] = []
        for name in command.nodes:
            node = self._context.state.nodes.get(name)
            claim = self._context.state.claim_of(node) if node else None
            if claim is None or claim.metadata.is_deleting or record_on(claim) is not None:
                return None
            claims.append(claim)
        return claims

    async def _begin(self, record: CommandRecord, command: Command, snapshot: Snapshot) -> bool:
        """Taint, look again, write the record down, launch; only then do the nodes count as leaving.

        Were they to count earlier, the provisioner would launch for their pods as well (D-30).
        """
        state, writer = self._context.state, self._context.writer
        for name in command.nodes:
            await writer.set_disrupted(state.nodes[name], is_disrupted=True)
        found = None
        if command.deadline is None:
            found = objection(await self._context.fresh_snapshot(command.nodes), command.nodes, command.reason)
        if found is not None:
            await self._retreat.let_go(command.nodes, found.message)
            return False
        for name in record.claims:
            await self._write_down(state.claims[name], record)
        purpose = Purpose(
            reason=command.reason.lower(),
            names=dict(zip((plan.name for plan in command.replacements), record.replacements, strict=True)),
            annotations={labels.REPLACEMENT_FOR: record.id},
        )
        written = await self._context.claims.write(snapshot, command.replacements, purpose)
        if written.refusals:
            await self._retreat.give_up(record, min(written.refusals.values()))
            return False
        for name in record.replacements:
            text = f"launching NodeClaim: {command.reason}"
            self._context.recorder.record(claim_ref(state.claims[name]), "Normal", "DisruptionLaunching", text)
        self._count_as_leaving(record)
        self._keep_room(command, snapshot, dict(purpose.names))
        return True

    async def _write_down(self, claim: NodeClaim, record: CommandRecord) -> None:
        patch = {"metadata": {"annotations": {labels.DISRUPTION_COMMAND: encode_record(record)}}}
        claim = await self._context.writer.patch_claim(claim, patch)
        await self._context.mark_disrupted(claim, record.reason)

    def _count_as_leaving(self, record: CommandRecord) -> None:
        for claim in progress_of(record, self._context.state).remaining:
            node = self._context.state.node_of(claim)
            self._context.state.mark_for_deletion(node.metadata.name if node else claim.name)

    def _keep_room(self, command: Command, snapshot: Snapshot, names: dict[str, str]) -> None:
        """Let the places of the moved pods, and of pods that ride along on a new machine, wait for them."""
        now = self._context.clock.now()
        pods: dict[object, Pod] = {pod.metadata.key: pod for view in snapshot.nodes for pod in view.pods}
        places = [(pods[key], place) for key, place in command.placements.items() if key in pods]
        riders = [(pod, plan.name) for plan in command.replacements for pod in plan.pods]
        for pod, place in (*places, *riders):
            name = names.get(place, place)
            self._context.state.plan(pod, name, now=now, keep_s=KEEP_ROOM_S)
            self._context.state.nominate(name, UnixSeconds(now + KEEP_ROOM_S))

    # --- the way ----------------------------------------------------------------------------------------------------

    def resume(self) -> tuple[str, ...]:
        """Let the candidates of all commands under way count as leaving; return the commands' ids."""
        records = {record.id: record for record in candidates_under_way(self._context.state).values()}
        for identity, record in records.items():
            if identity not in self._starting:
                self._count_as_leaving(record)
        return tuple(records)

    async def reconcile(self, key: str) -> Result:
        """Bring one command, by id, a step further."""
        if key in self._starting or not self._is_synced():
            return Result(1.0)
        under_way = candidates_under_way(self._context.state)
        record = next((record for record in under_way.values() if record.id == key), None)
        if record is None:
            return DONE
        progress = progress_of(record, self._context.state)
        broken = progress.broken or ("disruption is paused" if progress.is_paused else None)
        if broken is not None:
            await self._retreat.give_up(record, broken, hold=not progress.is_paused)
            return DONE
        self._count_as_leaving(record)
        now = self._context.clock.now()
        if progress.waiting and not (record.deadline is not None and now >= record.deadline - DRAIN_S):
            self._announce_waiting(progress)
            message = f"not ready in time: {', '.join(progress.waiting)}"
            return await self._wait(record, message, queued=len(under_way), again_s=POLL_S)
        found = await self._look_again(progress)
        if found is None:
            await self._finish(progress)
            return DONE
        if found.is_final:
            self._context.metrics.voluntary_disruption_failed_validations_total.labels(consolidation_type="").inc()
            await self._retreat.give_up(record, found.message)
            return DONE
        return await self._wait(record, found.message, queued=len(under_way), again_s=OBJECTED_S)

    async def _wait(self, record: CommandRecord, message: str, *, queued: int, again_s: float) -> Result:
        """Come back later; too late, and the command is given up (D-32)."""
        left_s = record.expires_at(queued) - self._context.clock.now()
        if left_s <= 0:
            await self._retreat.give_up(record, message, is_failure=True)
            return DONE
        return Result(min(again_s, left_s))

    def _announce_waiting(self, progress: Progress) -> None:
        for name in progress.waiting:
            claim = self._context.state.claims.get(name)
            if claim is not None and name in progress.record.replacements:
                text = f"waiting on readiness to continue disruption: {progress.record.reason}"
                self._context.recorder.record(claim_ref(claim), "Normal", "DisruptionWaitingReadiness", text)

    async def _look_again(self, progress: Progress) -> Objection | None:
        """Judge the command on what is really there now; one with a deadline goes on whatever that is."""
        nodes, record = progress.nodes, progress.record
        if record.deadline is not None:
            return None
        snapshot = await self._context.fresh_snapshot(nodes)
        found = objection(snapshot, nodes, record.reason)
        if found is None:
            solve = self._context.options.solve
            found = await run_cpu(homeless, snapshot, nodes, record.reason, options=solve)
            if found is not None and not found.is_final:
                for name in nodes:
                    self._plan_anew(name)
        return found

    async def _finish(self, progress: Progress) -> None:
        """Let the nodes go: their drain begins."""
        record = progress.record
        for claim in progress.remaining:
            self._context.tell(claim, "DisruptionTerminating", f"disrupting node: {record.reason}")
            if record.deadline is not None:
                await self._context.writer.limit_drain(claim, UnixSeconds(record.deadline))
            await self._context.writer.disrupt(claim, record.reason.lower())
        log.info("draining nodes", command=record.id, reason=record.reason, nodes=list(progress.nodes))


def ids_of(claim: NodeClaim) -> Sequence[str]:
    """Return the commands that a claim has to do with, as candidate or as replacement."""
    record = record_on(claim)
    replaces = claim.metadata.annotations.get(labels.REPLACEMENT_FOR)
    return [identity for identity in (record.id if record else None, replaces) if identity]
