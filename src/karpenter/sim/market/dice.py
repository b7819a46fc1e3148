"""Chance that does not depend on order: each draw is a function of the seed, its purpose and what it is for."""

from __future__ import annotations

import hashlib
import math
from statistics import NormalDist
from typing import Final

_BITS: Final = 53
_SCALE: Final = float(1 << _BITS)
_WORD: Final = (1 << 64) - 1


def draw(seed: int, purpose: str, *key: str | int) -> float:
    """Return a number strictly between 0 and 1, uniform over keys; the same arguments give the same number."""
    return _fraction(source(seed, purpose, *key))


def source(seed: int, purpose: str, *key: str | int) -> int:
    """Return 64 bits from which `draw_from` makes many numbers more cheaply than `draw` does."""
    digest = hashlib.blake2b(repr((seed, purpose, *key)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def draw_from(bits: int, index: int) -> float:
    """Return the number at an index of a source, as `draw` would."""
    # The output function of splitmix64: neighbouring indices give unrelated numbers.
    mixed = (bits + (index + 1) * 0x9E3779B97F4A7C15) & _WORD
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
    return _fraction(mixed ^ (mixed >> 31))


def _fraction(bits: int) -> float:
    return ((bits >> (64 - _BITS)) + 0.5) / _SCALE


def hex_digits(seed: int, purpose: str, *key: str | int, digits: int) -> str:
    """Return hexadecimal digits for an id."""
    return hashlib.blake2b(repr((seed, purpose, *key)).encode(), digest_size=(digits + 1) // 2).hexdigest()[:digits]


def log_normal(chance: float, *, p50: float, p90: float) -> float:
    """Return the value of a log-normal quantity, given by its median and 90th percentile, at a chance in (0, 1)."""
    standard = NormalDist()
    # ln(value) is normal: the 90th percentile lies 1.28 standard deviations above the median.
    distance = standard.inv_cdf(chance) / standard.inv_cdf(0.9)
    return p50 * math.exp(distance * math.log(p90 / p50))
