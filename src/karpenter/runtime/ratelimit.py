"""A token bucket: so many a second on average, so many at once at most."""

from __future__ import annotations

from collections.abc import Callable


class TokenBucket:
    """Holds up to `burst` tokens and gains `rate_per_s` of them a second; `now` tells seconds, on any clock."""

    def __init__(self, *, rate_per_s: float, burst: int, now: Callable[[], float]) -> None:
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._now = now
        self._tokens = float(burst)
        self._counted_at: float | None = None  # full until first asked, so it can be made before there is a loop

    def try_take(self) -> bool:
        """Take a token if there is one; return whether there was."""
        self._count()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def reserve_s(self) -> float:
        """Take a token, on credit if there is none; return after how many seconds it is there to be used."""
        self._count()
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate_per_s)

    def _count(self) -> None:
        now = self._now()
        if self._counted_at is not None:
            self._tokens = min(float(self._burst), self._tokens + (now - self._counted_at) * self._rate_per_s)
        self._counted_at = now
