"""Says how the search for cheaper fleets went: what pools that say `Balanced` thought of moves, whether time was up.

Source: spec v1 D-11, D-12, D-25.
"""

from __future__ import annotations

from karpenter.disruption.context import Context
from karpenter.disruption.verdict import Command, Score, Verdict
from karpenter.state.refs import pool_ref


def tell_search(context: Context, verdict: Verdict) -> None:
    """Count every score and a search cut short; say on what is moved, or on the pool when several nodes are, that it
    was approved.
    """
    if verdict.cut_short:
        context.metrics.voluntary_disruption_consolidation_timeouts_total.labels(
            consolidation_type=verdict.cut_short
        ).inc()
    for score in verdict.scores:
        told = {"decision": "approved" if score.is_approved else "rejected", "nodepool": score.pool.name}
        context.metrics.consolidation_score.labels(**told, policy="Balanced").observe(score.value)
        context.metrics.consolidation_moves_total.labels(**told, policy="Balanced").inc()
    for command in verdict.commands:
        for score in verdict.scores:
            if score.nodes == command.nodes:
                _tell_approved(context, command, score)


def _tell_approved(context: Context, command: Command, score: Score) -> None:
    text = f"saves {command.savings:.4g} $/h, worth {score.value:.2f} of what {score.pool} has disturbed for it"
    if len(command.nodes) == 1:
        node = context.state.nodes.get(command.nodes[0])
        claim = context.state.claim_of(node) if node else None
        if claim is not None:
            context.tell(claim, "ConsolidationApproved", text)
        return
    pool = next((pool for pool in context.state.pools.values() if pool.key == score.pool), None)
    if pool is not None:
        context.recorder.record(pool_ref(pool), "Normal", "ConsolidationApproved", text)
