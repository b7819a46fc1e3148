"""Faults on request: what goes wrong with the next calls to the cloud."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

LAUNCH: Final = "launch"
"""The market's own part of `create`: which instance is delivered."""


class FaultKind(StrEnum):
    """What can go wrong."""

    ERROR = "error"
    """The call fails without effect."""
    THROTTLE = "throttle"
    """Too many calls: the call is refused, with a time after which to try again."""
    UNAUTHORIZED = "unauthorized"
    """A permission is missing."""
    SLOW = "slow"
    """The call takes `seconds` longer."""
    LOST_REPLY = "lost-reply"
    """The call has its effect, but its answer is an error."""
    OTHER_TYPE = "other-type"
    """A launch brings `instance_type`, which was not asked for."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong with calls of one operation."""

    kind: FaultKind
    operation: str = "*"
    """`create`, `delete`, `get`, `list`, `instance_types`, an operation of AWS (`CreateFleet`), or `*` for all."""
    times: int = 1
    """With how many calls it goes wrong."""
    code: str = "InternalError"
    """The cloud's error code."""
    seconds: float = 1.0
    """How much slower, or after which time to try again; real seconds, whatever the market's speed."""
    instance_type: str = ""

    def concerns(self, *names: str) -> bool:
        """Return whether a call of this operation meets the fault; it may go by several names."""
        if LAUNCH in names or self.kind is FaultKind.OTHER_TYPE:
            return LAUNCH in names and self.kind is FaultKind.OTHER_TYPE
        return self.operation in {"*", *names}


def take(faults: tuple[Fault, ...], *names: str) -> tuple[tuple[Fault, ...], tuple[Fault, ...]]:
    """Return the faults that a call meets, given all names of its operation, one of each kind, and what is left."""
    met: dict[FaultKind, Fault] = {}
    left: list[Fault] = []
    for fault in faults:
        if fault.kind in met or not fault.concerns(*names):
            left.append(fault)
            continue
        met[fault.kind] = fault
        if fault.times > 1:
            left.append(replace(fault, times=fault.times - 1))
    return tuple(met.values()), tuple(left)
