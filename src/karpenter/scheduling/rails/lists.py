"""Which of the types that would do a claim lists, and what the machine then costs.

EC2 may return any type that a claim lists. On demand it takes the cheapest that it has, so a claim lists whatever is
little dearer than the plan. Spot goes by price and depth of capacity, and few types are soon interrupted together, so
a spot claim lists more of them, and dearer ones to get there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from karpenter.model import labels
from karpenter.scheduling.catalog import Floats, Ints
from karpenter.scheduling.policy import FlexibilityRails

_DEEP: Final = 0.5
"""How likely a spot offering is among those that have capacity to spare."""
_SAME: Final = 1 + 1e-9


def listed(price: Floats, *, is_spot: bool, rails: FlexibilityRails) -> Ints:
    """Return the positions of the types to list, of these prices (n, cheapest first).

    Always the first one, and whatever costs at most `on_demand_ratio` of it; on spot, while there are fewer than
    `spot_types`, others up to `spot_ratio`.
    """
    close = price <= price[0] * rails.on_demand_ratio * _SAME
    if is_spot:
        near = price <= price[0] * rails.spot_ratio * _SAME
        close |= near & (np.arange(len(price)) < rails.spot_types)
    return np.flatnonzero(close)


def launched_as(price: Floats, capacity_types: Sequence[str]) -> int:
    """Return the position of the capacity type that the cloud is asked for: reserved before spot before the others.

    `price` is n×Z×K, finite where something can be had.
    """
    rank = {labels.RESERVED: 0, labels.SPOT: 1}
    there = np.flatnonzero(np.isfinite(price).any(axis=(0, 1))).tolist()
    return int(min(there, key=lambda at: (rank.get(capacity_types[at], 2), capacity_types[at])))


def expected_and_worst(price: Floats, capacity_types: Sequence[str]) -> tuple[float, float]:
    """Return USD per hour to be expected of a machine, and the dearest that it may cost (price: n×Z×K).

    On demand the cheapest is to be expected. Of spot offerings one half, any half, is taken to have capacity to spare,
    and the cheapest of these is launched: price-capacity-optimized. The worst is the dearest offering of the capacity
    type that is asked for.
    """
    kind = launched_as(price, capacity_types)
    offered = np.sort(price[:, :, kind], axis=None)
    offered = offered[: np.searchsorted(offered, np.inf)]
    return expected_of(offered, is_spot=capacity_types[kind] == labels.SPOT), float(offered[-1])


def expected_of(offered: Floats, *, is_spot: bool) -> float:
    """Return USD per hour to be expected where these offerings are open, the cheapest first (at least one)."""
    if not is_spot:
        return float(offered[0])
    chance = _DEEP * (1 - _DEEP) ** np.arange(len(offered))
    # If none has capacity to spare, the cheapest is launched all the same.
    chance[0] += (1 - _DEEP) ** len(offered)
    return float(offered @ chance)
