"""Durations as Go and Kubernetes manifests write them: `1m30s`, `720h`, `0`. Read once, seconds ever after."""

from __future__ import annotations

import re
from decimal import Decimal

_UNITS = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "\u00b5s": Decimal("1e-6"),  # micro sign
    "\u03bcs": Decimal("1e-6"),  # mu
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
}
_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_PART = re.compile(f"{_NUMBER}({'|'.join(_UNITS)})")
_WHOLE = re.compile(f"[+-]?(?:0|(?:{_PART.pattern})+)")


def parse_duration(text: str) -> float:
    """Return the seconds of a Go duration such as `1m30s`, `1.5h`, `-5s` or `0`.

    Raises:
        ValueError: the text is not a duration; the message quotes it.
    """
    if _WHOLE.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a duration such as 30s, 1m30s or 720h")
    seconds = sum((Decimal(number) * _UNITS[unit] for number, unit in _PART.findall(text)), Decimal(0))
    return float(-seconds if text.startswith("-") else seconds)


def format_duration(seconds: float) -> str:
    """Return seconds with the fewest units that keep them exact: 90 is `1m30s`, 2592000 is `720h`, 0.5 is `500ms`."""
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    if seconds != int(seconds):
        return f"{seconds * 1000:g}ms" if seconds < 1 else f"{seconds:g}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{amount}{unit}" for amount, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if amount]
    return "".join(parts) or "0s"
