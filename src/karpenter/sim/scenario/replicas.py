"""How many replicas an autoscaler wants at each step: the day's swing and noise. Deterministic by seed. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from karpenter.model.units import UnixSeconds
from karpenter.sim.scenario.file import DAY_S, Autoscaling, seconds_of


def wanted_replicas(
    scaling: Autoscaling, usual: int, *, start: UnixSeconds, dice: random.Random
) -> Iterator[tuple[float, int]]:
    """Yield (seconds from the start, replicas) for ever; `usual` is the middle of the day's swing."""
    every_s, peak_s, noise = seconds_of(scaling.every), seconds_of(scaling.peak), 0.0
    fresh = math.sqrt(max(0.0, 1 - scaling.memory**2))
    step = 0
    while True:
        step += 1
        after_s = step * every_s
        noise = scaling.memory * noise + fresh * dice.gauss(0, scaling.noise)
        swing = scaling.daily * math.cos(2 * math.pi * (start + after_s - peak_s) / DAY_S)
        wanted = round(usual * (1 + swing) * (1 + noise))
        yield after_s, min(scaling.max, max(scaling.min, wanted))
