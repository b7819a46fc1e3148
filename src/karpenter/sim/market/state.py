"""What a market is set to, and what it remembers over a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from karpenter.model.errors import KarpenterError
from karpenter.model.instance import Interruption
from karpenter.model.units import UnixSeconds
from karpenter.sim.market.capacity import Capacity
from karpenter.sim.market.faults import Fault
from karpenter.sim.market.instances import MarketInstance
from karpenter.sim.market.reservations import CapacityReservation

STATE_KEY: Final = "market"
"""Storage key of everything but the instances."""

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class MarketSettings:
    """How the market behaves. Delays are those of the real cloud, in seconds; they are divided by `speed`."""

    seed: int = 0
    speed: float = 10.0
    """By how much faster than the real cloud it is; only delays of the cloud are divided, not notices or prices."""
    launch_s: float = 1.5
    """How long the answer to a launch takes."""
    ready_p50_s: float = 45.0
    """Median time from launch to a node that can be Ready; log-normal."""
    ready_p90_s: float = 79.0
    booted_share: float = 0.75
    """After which share of that time the kubelet registers the node."""
    termination_s: float = 30.0
    """From the request to end an instance until it is gone."""
    price_hours: int = 1
    """For how many hours spot prices stand still."""
    notice_s: float = 120.0
    """How long before its end a spot instance is told; not divided by `speed`."""
    shortage_share: float = 0.0
    """Which share of all offerings is sold out at any time, by chance."""
    memory_shortfall: float = 0.0
    """Share of its promised allocatable memory that a node turns out not to have."""


DEFAULT_MARKET: Final = MarketSettings()


class MarketState(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that must survive a restart. `format` changes when an older one cannot be read."""

    seed: int
    started_at: UnixSeconds
    format: int = _FORMAT
    launches: int = 0
    image_generation: int = 1
    capacity: Capacity = Capacity()
    reservations: tuple[CapacityReservation, ...] = ()
    faults: tuple[Fault, ...] = ()
    notices: tuple[Interruption, ...] = ()
    instances: tuple[MarketInstance, ...] = ()
    """In the order of their launch; stored one by one, under their ids."""


class SavedMarketError(KarpenterError):
    """A saved market cannot be read."""


def plain(value: MarketState | MarketInstance) -> object:
    """Return a value as JSON would have it: dicts, lists, strings, numbers."""
    built: object = msgspec.to_builtins(value)
    return built


def read_state(saved: Mapping[str, Any]) -> MarketState:
    """Return the state of a market from what it gave to store: storage key to plain JSON value.

    Raises:
        SavedMarketError: it is damaged, or of another version of this program.
    """
    found = saved.get(STATE_KEY, {}).get("format")
    if found != _FORMAT:
        raise SavedMarketError(f"the saved cloud has format {found!r}, this version reads {_FORMAT}: use fresh data")
    entries = [value for key, value in saved.items() if key != STATE_KEY]
    try:
        instances = msgspec.convert(entries, tuple[MarketInstance, ...])
        state = msgspec.convert(saved[STATE_KEY], MarketState)
    except msgspec.ValidationError as error:
        raise SavedMarketError(f"the saved cloud cannot be read: {error}") from error
    return msgspec.structs.replace(state, instances=tuple(sorted(instances, key=lambda one: one.ordinal)))
