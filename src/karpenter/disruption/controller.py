"""Decides again and again which nodes to give back, and has it carried out: controller `disruption`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from karpenter.disruption.budgets import closed_reasons
from karpenter.disruption.context import Context
from karpenter.disruption.decide import METHODS, WITHOUT_PLANS, decide
from karpenter.disruption.ledger import Ledger
from karpenter.disruption.orchestrator import Orchestrator
from karpenter.disruption.removal import Removal
from karpenter.disruption.retreat import Retreat
from karpenter.disruption.scores import tell_search
from karpenter.disruption.stillness import Stillness
from karpenter.disruption.verdict import BlockCode, Blocked, Command, Verdict
from karpenter.disruption.wording import fields_of
from karpenter.runtime import logs
from karpenter.runtime.controller import Result
from karpenter.runtime.cpu import run_cpu
from karpenter.runtime.instruments import refresh
from karpenter.scheduling.snapshot import Snapshot
from karpenter.state.refs import pool_ref

log = logs.get("disruption")

INTERVAL_S: Final = 10.0
AGAIN_S: Final = 1.0
DECISION_LIMIT_S: Final = 60.0
"""Looking for places stops after this long; what was found by then is carried out."""
TOLD_S: Final = 900.0
TOLD: Final[frozenset[BlockCode]] = frozenset(
    {"PodDisruptionBudget", "DoNotDisrupt", "NodeDoNotDisrupt", "Unschedulable", "BackOff"}
)
"""Obstacles that somebody can remove: those get an event on the node."""


class Disruption:
    """One look: snapshot, decide, act.

    Whoever runs it has it look again within `INTERVAL_S` of any change of the state.
    """

    def __init__(
        self,
        context: Context,
        orchestrator: Orchestrator,
        retreat: Retreat,
        *,
        ledger: Ledger,
        is_synced: Callable[[], bool],
        enqueue: Callable[[str], None],
    ) -> None:
        """`enqueue` hands a command's id to the controller that carries it on."""
        self._context = context
        self._orchestrator = orchestrator
        self._retreat = retreat
        self._ledger = ledger
        self._removal = Removal(context)
        self._stillness = Stillness(context.options)
        self._is_synced = is_synced
        self._enqueue = enqueue

    async def run_once(self) -> Result:
        """Look once; return when to look again if nothing changes: when a timer ends, or after the interval where
        time may end an obstacle that does not say when.
        """
        if not self._is_synced():
            return Result(AGAIN_S)
        if (quiet_s := self._quiet_s()) > 0.0:
            return Result(quiet_s)
        await self._retreat.clean_up()
        for identity in self._orchestrator.resume():
            self._enqueue(identity)
        snapshot = self._context.snapshot()
        self._ledger.look(snapshot)
        verdict = await self._decide(snapshot)
        self._ledger.watch(verdict, snapshot.taken_at)
        self._tell(verdict.blocked)
        tell_search(self._context, verdict)
        self._tell_closed(snapshot)
        acted = [await self._execute(command, snapshot) for command in verdict.commands]
        if any(acted):
            # What moves is noted before the first pod of it does.
            self._ledger.look(self._context.snapshot())
        return Result(AGAIN_S if any(acted) else self._quiet_s() or self._next_look(verdict))

    def _quiet_s(self) -> float:
        now, judged_at = self._context.clock.now(), self._ledger.judged_next_at()
        left_s = self._stillness.left_s(self._context.state.generation, now)
        return left_s if judged_at is None else max(0.0, min(left_s, judged_at - now))

    async def _decide(self, snapshot: Snapshot) -> Verdict:
        """Ask the methods; those that plan machines only once every machine asked for before is known (S-4)."""
        state, clock = self._context.state, self._context.clock
        methods = WITHOUT_PLANS if state.unlaunched_claims() else METHODS
        known = frozenset(state.claims)
        deadline = clock.now() + DECISION_LIMIT_S
        options = replace(self._context.options, past=self._ledger.past())
        verdict = await run_cpu(decide, snapshot, options, methods=methods, stop=lambda: clock.now() > deadline)
        took_s = clock.now() - snapshot.taken_at
        self._context.metrics.voluntary_disruption_decision_evaluation_duration_seconds.labels(
            reason=verdict.commands[0].reason.lower() if verdict.commands else "", consolidation_type=""
        ).observe(took_s)
        refresh(self._context.metrics.voluntary_disruption_eligible_nodes, _eligible(verdict))
        if frozenset(state.claims) != known:
            # Somebody launched or deleted while we were thinking: the plan might count a machine twice.
            return Verdict(blocked=verdict.blocked)
        if methods is METHODS and not clock.now() > deadline:
            self._stillness.looked(snapshot, verdict)
        return verdict

    async def _execute(self, command: Command, snapshot: Snapshot) -> bool:
        """Carry a command out, or start to; return whether something was done."""
        log.info("disrupting node(s)", **fields_of(command, snapshot))
        self._count(command, snapshot)
        if command.is_forceful or not (command.placements or command.deadline):
            await self._removal.remove(command)
            return True
        identity = await self._orchestrator.start(command, snapshot)
        if identity is None:
            return False
        self._enqueue(identity)
        return True

    def _count(self, command: Command, snapshot: Snapshot) -> None:
        decision = "replace" if command.replacements else "delete"
        kind = _consolidation_type(command)
        metrics, told = self._context.metrics, {"decision": decision, "reason": command.reason.lower()}
        metrics.voluntary_disruption_decisions_total.labels(**told, consolidation_type=kind).inc()
        leaving = [view.pool.name for view in snapshot.nodes if view.name in command.nodes and view.pool is not None]
        for pool in sorted(set(leaving)):
            metrics.voluntary_disruption_decisions_by_nodepool_total.labels(
                **told, consolidation_type=kind, nodepool=pool
            ).inc()

    def _tell(self, blocked: Iterable[Blocked]) -> None:
        """Say on nodes that ought to go why they stay."""
        for one in blocked:
            node = self._context.state.nodes.get(one.node)
            claim = self._context.state.claim_of(node) if node else None
            if one.code in TOLD and claim is not None:
                self._context.tell(claim, "DisruptionBlocked", f"{one.reason}: {one.message}")

    def _tell_closed(self, snapshot: Snapshot) -> None:
        """Say on pools for which reasons their budgets let no node go now (B-8)."""
        for view in snapshot.pools:
            for reason in closed_reasons(view.pool, views=snapshot.nodes, now=snapshot.taken_at):
                text = f"its budgets allow no disruption for {reason} now"
                self._context.recorder.record(pool_ref(view.pool), "Normal", "DisruptionBlocked", text, dedupe_s=TOLD_S)

    def _next_look(self, verdict: Verdict) -> float:
        now = self._context.clock.now()
        timers = [blocked.until - now for blocked in verdict.blocked if blocked.until is not None]
        return max(AGAIN_S, min([INTERVAL_S, *timers])) if timers else INTERVAL_S


def _consolidation_type(command: Command) -> str:
    """Return the value of the metrics' label: empty for what is no consolidation."""
    if command.reason == "Underutilized":
        return "single" if len(command.nodes) == 1 else "multi"
    return "empty" if command.reason == "Empty" else ""


def _eligible(verdict: Verdict) -> dict[tuple[str], int]:
    """Return how many nodes there was a reason to give back for, by reason."""
    going = {(command.reason, node) for command in verdict.commands for node in command.nodes}
    staying = {(one.reason, one.node) for one in verdict.blocked if one.reason is not None}
    return dict(Counter((reason.lower(),) for reason, _ in going | staying))
