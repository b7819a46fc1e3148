"""The ways in which manifests spell a stretch of time; here they become seconds.

Source: spec v1alpha5 §1.3 (durations as Go writes them), spec v1 §1.3 (the stricter grammars of v1).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

NEVER: Final = "Never"

_UNITS: Final = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "\u00b5s": Decimal("1e-6"),  # micro sign
    "\u03bcs": Decimal("1e-6"),  # Greek mu
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
}
_LONGEST_S: Final = Decimal(2**63 - 1).scaleb(-9)
_GO_GROUP: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_GO: Final = re.compile(rf"([-+]?)((?:{_GO_GROUP.pattern})+)")
_GROUPS: Final = re.compile(r"(?:[0-9]+[smh])+")
_BUDGET: Final = re.compile(r"(?:[0-9]+h[0-9]+m|[0-9]+h|[0-9]+m)(?:0s)?")


def parse_go_duration(text: str) -> float:
    """Return the seconds of a duration as Go writes it: `1m30s`, `1.5h`, `-2ms`, `0`. Raises ValueError."""
    if text in {"0", "+0", "-0"}:
        return 0.0
    match = _GO.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration such as 30s or 1m30s")
    seconds = sum((Decimal(number) * _UNITS[unit] for number, unit in _GO_GROUP.findall(match[2])), Decimal(0))
    if seconds > _LONGEST_S:
        raise ValueError(f"{text!r} is longer than 292 years")
    return float(-seconds if match[1] == "-" else seconds)


def parse_duration(text: str) -> float:
    """Return the seconds of a v1 duration, whole groups of hours, minutes and seconds: `1h30m`. Raises ValueError."""
    if not _GROUPS.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration such as 720h or 1m30s, in whole numbers of h, m and s")
    return parse_go_duration(text)


def parse_nillable_duration(text: str) -> float | None:
    """Return the seconds of a v1 duration; None for `Never`. Raises ValueError."""
    return None if text == NEVER else parse_duration(text)


def parse_budget_duration(text: str) -> float:
    """Return the seconds of a budget window, in hours and minutes: `8h`, `1h30m`, `10m0s`. Raises ValueError."""
    if not _BUDGET.fullmatch(text):
        raise ValueError(f"{text!r} is not a window such as 8h or 1h30m, in whole hours and minutes")
    return parse_go_duration(text)


def format_duration(seconds: float | None) -> str:
    """Return seconds in the v1 grammar, `720h`, `1m30s`; `Never` for None. Fractions are rounded down."""
    if seconds is None:
        return NEVER
    hours, rest = divmod(int(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    groups = [f"{amount}{unit}" for amount, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if amount]
    return "".join(groups) or "0s"


def format_go_duration(seconds: float) -> str:
    """Return seconds with the fewest units that keep them exact: `1m30s`, `720h`, `500ms`, `0s`."""
    if seconds < 0:
        return f"-{format_go_duration(-seconds)}"
    if seconds != int(seconds):
        return f"{seconds * 1000:g}ms" if seconds < 1 else f"{seconds:g}s"
    return format_duration(seconds)


def format_duration_like_go(seconds: float) -> str:
    """Return whole seconds as Go itself prints them, smaller units always there: `1m0s`, `720h0m0s`, `0s`."""
    hours, rest = divmod(int(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
