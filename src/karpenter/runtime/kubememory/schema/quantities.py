"""How a server writes a quantity that it was given: `0.5` becomes `500m`, `1024Mi` becomes `1Gi`."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache
from typing import Final

from karpenter.model.quantity import parse_quantity

_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_SMALLEST: Final = Decimal("1e-9")


@lru_cache(maxsize=65536)
def canonical(text: str | int | float) -> str:
    """Return a quantity with the largest suffix of its own family that leaves an integer. Raises ValueError."""
    value = parse_quantity(text)
    written = str(text)
    value = value.quantize(_SMALLEST, ROUND_CEILING if value > 0 else ROUND_FLOOR)
    if written.endswith("i") and abs(value) >= 1024:
        return _binary(value)
    if any(letter in written for letter in "eE") and not written.endswith("E"):
        return _exponent(value)
    return _decimal(value)


def _binary(value: Decimal) -> str:
    if value != value.to_integral_value():
        return _decimal(value)
    number, step = int(value), 0
    while number and number % 1024 == 0 and step < len(_BINARY) - 1:
        number, step = number // 1024, step + 1
    return f"{number}{_BINARY[step]}"


def _decimal(value: Decimal) -> str:
    nanos = int(value / _SMALLEST)
    if nanos == 0:
        return "0"
    step = 0
    while nanos % 1000 == 0 and step < len(_DECIMAL) - 1:
        nanos, step = nanos // 1000, step + 1
    return f"{nanos}{_DECIMAL[step]}"


def _exponent(value: Decimal) -> str:
    nanos, exponent = int(value / _SMALLEST), -9
    if nanos == 0:
        return "0"
    while nanos % 1000 == 0:
        nanos, exponent = nanos // 1000, exponent + 3
    return f"{nanos}e{exponent}" if exponent else str(nanos)
