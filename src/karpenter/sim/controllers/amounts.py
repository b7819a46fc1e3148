"""Numbers of pods that may be given as percentages."""

from __future__ import annotations

from typing import TypeAlias

IntOrPercent: TypeAlias = int | str


def resolve(value: IntOrPercent, total: int, *, round_up: bool) -> int:
    """Return a number, or a percentage such as `25%` of `total`, rounded as told.

    Raises:
        ValueError: the text is no percentage.
    """
    if isinstance(value, int):
        return value
    if not value.endswith("%"):
        raise ValueError(f"{value!r} is neither a number nor a percentage such as 25%")
    share = int(value.removesuffix("%")) * total
    return -(-share // 100) if round_up else share // 100
