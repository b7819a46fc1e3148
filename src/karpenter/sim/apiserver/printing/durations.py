"""Ages as Kubernetes prints them: two digits of precision, `5m12s`, `3d4h`, `99d`."""

from __future__ import annotations

from typing import Final

from karpenter.model.units import UnixSeconds, from_rfc3339

UNKNOWN: Final = "<unknown>"
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY


def age(timestamp: str | None, now: UnixSeconds) -> str:
    """Return how long ago a timestamp was; `<unknown>` when there is none."""
    return human(now - from_rfc3339(timestamp)) if timestamp else UNKNOWN


def human(seconds: float) -> str:
    """Return a duration, the shorter the more exact."""
    if seconds < -2:
        return "<invalid>"
    total = max(0, int(seconds))
    if total < 2 * _MINUTE:
        return f"{total}s"
    if total < 10 * _MINUTE:
        return _two(total, (_MINUTE, "m"), (1, "s"))
    if total < 3 * _HOUR:
        return f"{total // _MINUTE}m"
    if total < 8 * _HOUR:
        return _two(total, (_HOUR, "h"), (_MINUTE, "m"))
    if total < 2 * _DAY:
        return f"{total // _HOUR}h"
    if total < 8 * _DAY:
        return _two(total, (_DAY, "d"), (_HOUR, "h"))
    if total < 2 * _YEAR:
        return f"{total // _DAY}d"
    if total < 8 * _YEAR:
        return _two(total, (_YEAR, "y"), (_DAY, "d"))
    return f"{total // _YEAR}y"


def _two(total: int, large: tuple[int, str], small: tuple[int, str]) -> str:
    count, rest = divmod(total, large[0])
    rest //= small[0]
    return f"{count}{large[1]}" + (f"{rest}{small[1]}" if rest else "")
