"""Sets of completion numbers as a Job's status has them: `1,3-5,7`."""

from __future__ import annotations

from collections.abc import Iterable


def format_indexes(indexes: Iterable[int]) -> str:
    """Return a set of numbers, runs of three and more as first and last, shorter ones one by one."""
    runs: list[list[int]] = []
    for index in sorted(set(indexes)):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    parts = []
    for run in runs:
        parts.extend([f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(index) for index in run])
    return ",".join(parts)


def parse_indexes(text: str, completions: int) -> frozenset[int]:
    """Return the numbers below `completions` of a text; empty for an empty one."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(index for index in found if index < completions)
