"""How long to wait before trying again."""

from __future__ import annotations

import random


class Backoff:
    """Delays that double from `base_s` up to `cap_s`, each shortened by up to a half at random.

    The jitter keeps processes that failed together from returning together; its source is given, so runs repeat.
    """

    def __init__(self, source: random.Random, *, base_s: float, cap_s: float) -> None:
        self._source = source
        self._base_s = base_s
        self._cap_s = cap_s
        self._attempt = 0

    def next_s(self, *, at_least_s: float = 0.0) -> float:
        """Return the seconds to wait now; the next answer is about twice as long."""
        longest_s = min(self._base_s * 2.0 ** min(self._attempt, 64), self._cap_s)
        self._attempt += 1
        return max(longest_s * (1 - self._source.random() / 2), at_least_s)

    def reset(self) -> None:
        """Start from `base_s` again: it worked."""
        self._attempt = 0
