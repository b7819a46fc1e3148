"""Even levels under limits: what a spread comes to when pods come one by one."""

from __future__ import annotations

from collections.abc import Sequence


def levelled(level: Sequence[int], limit: Sequence[int], amount: int) -> list[int]:
    """Return how much each vessel gets of an amount that fills them from the emptiest up, none above its limit."""
    low, high = min(level, default=0), max(limit, default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_filled(level, limit, middle)) <= amount:
            low = middle
        else:
            high = middle - 1
    given = _filled(level, limit, low)
    rest = amount - sum(given)
    for at in sorted(range(len(level)), key=level.__getitem__):
        if rest > 0 and low < limit[at] and level[at] + given[at] <= low:
            given[at] += 1
            rest -= 1
    return given


def _filled(level: Sequence[int], limit: Sequence[int], height: int) -> list[int]:
    return [max(0, min(height, most) - now) for now, most in zip(level, limit, strict=True)]
