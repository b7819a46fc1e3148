"""Kubernetes quantities as exact integers.

A quantity is read once, at the edge, and is an `int` ever after: thousandths for CPU, base units (bytes, counts) for
the rest. Fractions that do not fit are rounded up, away from zero, as the API machinery does.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from typing import Final

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
}
_GRAMMAR: Final = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?"
)
_EXACT: Final = Context(prec=2000)
"""Precise enough that no quantity of a sane length is rounded before it is rounded up."""
LARGEST: Final = 2**63 - 1
"""The API machinery cuts off what is larger in magnitude, counted in base units."""


def parse_quantity(text: str | int | float) -> Decimal:
    """Return the exact value of a Kubernetes quantity such as `1500m`, `2Gi`, `1e3` or `-.5`.

    Raises:
        ValueError: the text is not a quantity; the message quotes it.
    """
    match = _GRAMMAR.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{text!r} is not a quantity such as 500m, 2 or 4Gi")
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix in _BINARY:
        return _EXACT.multiply(number, Decimal(_BINARY[suffix]))
    if suffix in _DECIMAL:
        return _EXACT.multiply(number, _DECIMAL[suffix])
    return number.scaleb(int(suffix[1:]), _EXACT)


def _round_away(value: Decimal) -> int:
    rounded = int(value.to_integral_value(ROUND_CEILING if value >= 0 else ROUND_FLOOR))
    return max(-LARGEST, min(LARGEST, rounded))


@lru_cache(maxsize=65536)
def millis(text: str | int | float) -> int:
    """Return a quantity in thousandths, rounded away from zero: `100m` is 100, `2` is 2000. Raises ValueError."""
    return _round_away(_EXACT.multiply(parse_quantity(text), Decimal(1000)))


@lru_cache(maxsize=65536)
def whole(text: str | int | float) -> int:
    """Return a quantity in base units (bytes, counts), rounded away from zero: `1Ki` is 1024. Raises ValueError."""
    return _round_away(parse_quantity(text))


def format_millis(value: int) -> str:
    """Return thousandths as Kubernetes prints them: 2000 is `2`, 100 is `100m`."""
    return str(value // 1000) if value % 1000 == 0 else f"{value}m"


def format_bytes(value: int) -> str:
    """Return base units with the largest binary suffix that keeps them exact: 2147483648 is `2Gi`."""
    for suffix, factor in reversed(_BINARY.items()):
        if value and value % factor == 0:
            return f"{value // factor}{suffix}"
    return str(value)


def canonical(text: str) -> str:
    """Return a quantity of bytes or counts as the API machinery prints it: `20480Mi` is `20Gi`, `1000M` is `1G`.

    Raises:
        ValueError: the text is not a quantity; the message quotes it.
    """
    value = whole(text)
    is_binary = str(text)[-1:] == "i"
    suffixes = _BINARY if is_binary else {suffix: int(size) for suffix, size in _DECIMAL.items() if size >= 1}
    for suffix, size in sorted(suffixes.items(), key=lambda entry: -entry[1]):
        if value and value % size == 0:
            return f"{value // size}{suffix}"
    return str(value)
