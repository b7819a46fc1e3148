"""Says how the search for cheaper fleets went: what may go and what it saves, what stays for its price, what pools that
say `Balanced` thought of moves, whether time was up.

Source: spec v1 D-11, D-12, D-25, §5.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karpenter.disruption.context import Context
from karpenter.disruption.verdict import BlockCode, Command, Score, Verdict
from karpenter.runtime import logs
from karpenter.runtime.events import DEDUPE_S
from karpenter.state.refs import pool_ref

log = logs.get("disruption")

PRICED: Final[frozenset[BlockCode]] = frozenset({"Price", "UnknownPrice", "Preference", "ChurnRail", "Unbalanced"})
"""Why a node stays that nobody and nothing protects: what its end would bring is not worth it."""
UNCONSOLIDATABLE_S: Final = 3600.0
"""An equal reason is told again after this long at the earliest: every node of a settled fleet has one."""


def tell_search(context: Context, verdict: Verdict) -> None:
    """Count every score and a search cut short; say on nodes, or on the pool when a move has several of them, what was
    thought of them.
    """
    if verdict.cut_short:
        context.metrics.voluntary_disruption_consolidation_timeouts_total.labels(
            consolidation_type=verdict.cut_short
        ).inc()
    for score in verdict.scores:
        told = {"decision": "approved" if score.is_approved else "rejected", "nodepool": score.pool.name}
        context.metrics.consolidation_score.labels(**told, policy="Balanced").observe(score.value)
        context.metrics.consolidation_moves_total.labels(**told, policy="Balanced").inc()
        log.debug("consolidation score", **told, nodes=list(score.nodes), score=score.value)
    saved = {command.nodes: command for command in verdict.commands if command.reason == "Underutilized"}
    for command in saved.values():
        text = f"goes, {_instead(command)}: saves {command.savings:.4g} $/h, {len(command.placements)} pods move"
        _tell_nodes(context, command.nodes, "ConsolidationCandidate", text=text)
    for score in verdict.scores:
        chosen = saved.get(score.nodes)
        if chosen is not None:
            _tell_judged(context, score, f"saves {chosen.savings:.4g} $/h")
        elif not score.is_approved:
            _tell_judged(context, score, "what it would save is")
    for blocked in verdict.blocked:
        if blocked.reason == "Underutilized" and blocked.code in PRICED:
            _tell_nodes(context, (blocked.node,), "Unconsolidatable", text=blocked.message, dedupe_s=UNCONSOLIDATABLE_S)


def _instead(command: Command) -> str:
    count = len(command.replacements)
    return f"{count} cheaper in its place" if count else "nothing in its place"


def _tell_judged(context: Context, score: Score, saves: str) -> None:
    reason = "ConsolidationApproved" if score.is_approved else "ConsolidationRejected"
    text = (
        f"{saves}{',' if score.is_approved else ''} worth {score.value:.2f} of what {score.pool} has disturbed for it"
    )
    if len(score.nodes) == 1:
        _tell_nodes(context, score.nodes, reason, text=text)
        return
    pool = next((pool for pool in context.state.pools.values() if pool.key == score.pool), None)
    if pool is not None:
        context.recorder.record(pool_ref(pool), "Normal", reason, text)


def _tell_nodes(context: Context, names: Iterable[str], reason: str, *, text: str, dedupe_s: float = DEDUPE_S) -> None:
    """Record an event on nodes and their claims."""
    for name in names:
        node = context.state.nodes.get(name)
        claim = context.state.claim_of(node) if node else None
        if claim is not None:
            context.tell(claim, reason, text, dedupe_s=dedupe_s)
