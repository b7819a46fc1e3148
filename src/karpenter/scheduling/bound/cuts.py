"""Rounded rows: what whole copies obey and fractions do not.

A machine holds Σ weights·request·copies ≤ weights·room. Multiplied by a number and rounded down on the left, where
copies are whole, and then on the right, this is a tighter row: of copies that need 60 % of a machine it allows one, of
those that need 35 % two, of both together one and one. Everything is in whole numbers, so rounding is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Floats, Ints

_FINE: Final = 1 << 40
"""Weights of resources are whole numbers so large that a full machine weighs about this."""
_MOST_TIMES: Final = 32
_MIXTURES: Final = (0.25, 0.5, 0.75)
_MOST_RESOURCES: Final = 3
_FULL: Final = 0.5
"""Only resources of which a machine's load takes this share can be what rounding is about."""
_VIOLATED: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Cut:
    """floor(times · weights·amounts / size), for a copy and for a room."""

    weights: tuple[int, ...]
    """What a unit of each resource weighs (R)."""
    times: int
    size: int

    def of(self, amounts: Floats) -> Floats:
        """Return the rounded weight of each of n amounts (n×R)."""
        weighed = amounts.astype(np.int64) @ np.array(self.weights, dtype=np.int64)
        return np.asarray((self.times * weighed // self.size).astype(np.float64))


def weighings(room: Floats, resources: Sequence[int]) -> list[Ints]:
    """Return weights (R) by which a machine of this room (R) can be full: each resource, mixtures of the first two.

    A weight is scaled so that a full machine weighs about 2**40, which leaves room for 32 times as much in 64 bits.
    """
    found: list[Ints] = []
    for resource in resources:
        single = np.zeros(len(room), dtype=np.int64)
        single[resource] = 1
        found.append(single)
    if len(resources) > 1:
        first, second = resources[:2]
        for share in _MIXTURES:
            mixed = np.zeros(len(room), dtype=np.int64)
            mixed[first] = round(share * _FINE / room[first])
            mixed[second] = round((1 - share) * _FINE / room[second])
            found.append(mixed)
    return found


def violated(room: Floats, requests: Floats, copies: Floats, *, most: int) -> list[Cut]:
    """Return the cuts that these fractional copies (S) on one machine break most, each by its share."""
    load = copies @ requests
    share = np.where(room > 0, load / np.maximum(room, 1.0), 0.0)
    full = [int(at) for at in np.argsort(-share, kind="stable")[:_MOST_RESOURCES] if share[at] >= _FULL]
    times = np.arange(2, _MOST_TIMES + 1)
    found: list[tuple[float, int, Cut]] = []
    for weights in weighings(room, full):
        own = requests.astype(np.int64) @ weights
        weight = int(room.astype(np.int64) @ weights)
        allowed = times * weight // (weight + 1)
        broken = (times[:, None] * own // (weight + 1)) @ copies / allowed - 1
        at = int(broken.argmax())
        if broken[at] > _VIOLATED:
            cut = Cut(tuple(int(each) for each in weights), int(times[at]), weight + 1)
            found.append((float(broken[at]), len(found), cut))
    return [cut for _, _, cut in sorted(found, key=lambda each: (-each[0], each[1]))[:most]]
