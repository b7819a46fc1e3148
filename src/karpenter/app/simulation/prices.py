"""What the new nodes cost, in one sentence: planned, expected, at worst, against the optimum, and what rails add."""

from __future__ import annotations

from karpenter.scheduling.solution import Solution

_NOTHING = 5e-5
"""USD per hour and shares below are not worth a word."""


def price_sentence(solution: Solution) -> str:
    """Return the prices of a solution's new nodes; empty when there are none."""
    if not solution.new_claims:
        return ""
    planned, expected, worst = solution.price, solution.expected_price, solution.worst_price
    words = [f"${planned:.4f} an hour planned, {expected:.4f} expected, {worst:.4f} at worst"]
    if solution.lower_bound:
        words.append(_above(solution.price / solution.lower_bound - 1))
    if solution.rails_cost is not None and solution.rails_cost > _NOTHING:
        words.append(f"rails cost {solution.rails_cost / solution.price:.1%}".replace("%", " %"))
    return "; ".join(words)


def _above(share: float) -> str:
    if share < _NOTHING:
        return "the optimum under your policy"
    return f"at most {share:.1%} above the optimum under your policy".replace("%", " %")
