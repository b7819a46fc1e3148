"""Trouble on request, as users write it: shortages, limited stock and faults, one a line.

    m5.* us-west-2a spot                    sold out: type, zone, capacity type; globs; what is left out means all
    5 c6g.* * spot                          at most five instances of these
    create throttle times=3 seconds=2       operation, kind of fault, and how it shows
    cr-1 m5.large us-west-2a 3              a capacity reservation: id, type, zone, machines; capacity-block at the end

Empty lines and what follows a # are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeVar

from karpenter.sim.market.capacity import Pattern, Shortage, Stock
from karpenter.sim.market.faults import Fault, FaultKind
from karpenter.sim.market.reservations import CapacityReservation

T = TypeVar("T")

OPERATIONS: Final = ("create", "delete", "get", "list", "instance_types", "*")
_AWS_OPERATION: Final = re.compile(r"[A-Z][a-z]+(?:[A-Z0-9][a-z]*)+")
"""As AWS writes them, such as `DescribeSubnets`; only the cloud that speaks AWS's own protocol has them."""


def read_shortages(text: str) -> tuple[list[Shortage], list[str]]:
    """Return the shortages that lines name, and what is wrong with the lines that name none."""
    return _read(text, lambda words: Shortage(_pattern(words)))


def read_stocks(text: str) -> tuple[list[Stock], list[str]]:
    """Return the limits that lines name, and what is wrong with the lines that name none."""
    return _read(text, _stock)


def read_reservations(text: str) -> tuple[list[CapacityReservation], list[str]]:
    """Return the capacity reservations that lines name, and what is wrong with the lines that name none."""
    return _read(text, _reservation)


def read_faults(text: str) -> tuple[list[Fault], list[str]]:
    """Return the faults that lines name, and what is wrong with the lines that name none."""
    return _read(text, _fault)


def _read(text: str, read: Callable[[list[str]], T]) -> tuple[list[T], list[str]]:
    found: list[T] = []
    problems: list[str] = []
    for line, words in _lines(text):
        try:
            found.append(read(words))
        except ValueError as error:
            problems.append(f"{line!r}: {error}")
    return found, problems


def _lines(text: str) -> Iterator[tuple[str, list[str]]]:
    for raw in text.splitlines():
        line = raw.partition("#")[0].strip()
        if line:
            yield line, line.split()


def _pattern(words: list[str]) -> Pattern:
    if len(words) > 3:
        raise ValueError("expected at most type, zone and capacity type")
    return Pattern(*words)


def _stock(words: list[str]) -> Stock:
    if not words[0].isdecimal():
        raise ValueError(f"expected a number of instances first, got {words[0]!r}")
    return Stock(_pattern(words[1:]), int(words[0]))


def _reservation(words: list[str]) -> CapacityReservation:
    if len(words) not in {4, 5} or not words[3].isdecimal():
        raise ValueError("expected id, instance type, zone and a number of machines")
    if words[4:] not in ([], ["capacity-block"], ["default"]):
        raise ValueError(f"{words[4]!r} is not one of default, capacity-block")
    identity, instance_type, zone, count = words[:4]
    kind: Literal["default", "capacity-block"] = "capacity-block" if words[4:] == ["capacity-block"] else "default"
    return CapacityReservation(identity, instance_type, zone, int(count), kind)


def _fault(words: list[str]) -> Fault:
    operation, kind, *details = words if len(words) > 1 else (words[0], "")
    if operation not in OPERATIONS and not _AWS_OPERATION.fullmatch(operation):
        raise ValueError(f"{operation!r} is not one of {', '.join(OPERATIONS)}, nor of AWS")
    if kind not in set(FaultKind):
        raise ValueError(f"{kind!r} is not one of {', '.join(FaultKind)}")
    given = dict(detail.partition("=")[::2] for detail in details)
    unknown = given.keys() - {"times", "seconds", "code", "type"}
    if unknown:
        raise ValueError(f"{min(unknown)!r} is not one of times, seconds, code, type")
    if kind == FaultKind.OTHER_TYPE and "type" not in given:
        raise ValueError("type=NAME is missing: which instance type should come instead?")
    return Fault(
        FaultKind(kind),
        operation,
        times=_number(given, "times", int),
        seconds=_number(given, "seconds", float),
        code=given.get("code", Fault(FaultKind.ERROR).code),
        instance_type=given.get("type", ""),
    )


def _number(given: dict[str, str], name: str, read: Callable[[str], T]) -> T:
    text = given.get(name, "1")
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"{name}={text} is not a number") from error
