"""Numbers that look random and are equal in every run: the position in a sequence, hashed (splitmix64)."""

from __future__ import annotations

from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Floats

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))
_LAST: Final = np.uint64(31)
_MANTISSA: Final = np.uint64(11)


class Dice:
    """A sequence of numbers between 0 and 1, both excluded. Equal seeds give equal sequences."""

    def __init__(self, seed: int = 0) -> None:
        self._at = np.uint64(seed << 48)

    def roll(self, *shape: int) -> Floats:
        """Return the next numbers of the sequence."""
        count = int(np.prod(shape))
        with np.errstate(over="ignore"):
            value = (np.arange(count, dtype=np.uint64) + self._at) * _STEP
            self._at += np.uint64(count)
            for shift, factor in _MIX:
                value = (value ^ (value >> np.uint64(shift))) * factor
        value ^= value >> _LAST
        return (((value >> _MANTISSA).astype(np.float64) + 0.5) * 2.0**-53).reshape(shape)
