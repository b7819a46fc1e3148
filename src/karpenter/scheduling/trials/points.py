"""What kube-scheduler's default scoring gives for each further copy of a pod on each place.

Source: kube-scheduler 1.36: NodeResourcesFit (LeastAllocated), NodeResourcesBalancedAllocation, NodeAffinity,
PodTopologySpread with the system's default constraints.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from karpenter.scheduling.catalog import Bools, Floats

BEST: Final = 100.0
_LIKED: Final = 2 * BEST
"""NodeAffinity has weight 2, and brings the best node to 100 points."""
_SPREAD: Final = 2.0
"""The weight of PodTopologySpread."""


def of_resources(total: Floats, used: Floats, scored: Floats, *, asks: Floats, counts: Floats, copies: int) -> Floats:
    """Return the points of the first, second … copy on each place (places×copies).

    `total` and `used` are cpu and memory of the places (places×2), `scored` what is used as scoring counts it; `asks`
    is what one copy requests (2), `counts` what scoring counts for it.
    """
    steps = np.arange(copies + 1, dtype=np.float64)[None, :, None]
    size = np.maximum(total, 1.0)[:, None, :]
    free = (size - scored[:, None, :] - steps[:, 1:] * counts) * BEST
    least = np.floor(np.floor(np.maximum(free, 0.0) / size).mean(axis=2))
    if not asks.any():
        return np.asarray(least)
    shares = np.minimum((used[:, None, :] + steps * asks) / size, 1.0)
    balance = np.floor((1 - np.abs(shares[:, :, 0] - shares[:, :, 1]) / 2) * BEST)
    return np.asarray(least + BEST / 2 + np.floor((BEST / 2 + np.diff(balance, axis=1)) / 2))


def of_preference(liked: Bools) -> Floats:
    """Return the points for places that keep the preferences of a pod about nodes."""
    return np.where(liked, _LIKED, 0.0)


def of_spread(on_host: Floats, in_zone: Floats, *, hosts: int, zones: int, copies: int) -> Floats:
    """Return the points for places with few of a workload's pods on the host and in the zone (places×copies)."""
    weigh_host, weigh_zone = np.log(hosts + 2.0), np.log(zones + 2.0)
    more = np.arange(copies, dtype=np.float64) * (weigh_host + weigh_zone)
    raw = (on_host * weigh_host + in_zone * weigh_zone + 6.0)[:, None] + more
    most, least = raw[:, 0].max(), raw[:, 0].min()
    return np.asarray(_SPREAD * np.floor(np.maximum(most + least - raw, 0.0) * BEST / most))
