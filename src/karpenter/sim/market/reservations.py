"""Capacity reservations of the account: machines that are paid for, whether anybody uses them or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

PRICE_SHARE: Final = 1e-7
"""Of the on-demand price: what a machine in a reservation counts as, since it is paid for already (spec v1 A-28)."""
OWNER: Final = "000000000000"
"""Account that holds them."""


@dataclass(frozen=True, slots=True)
class CapacityReservation:
    """Some machines of one type in one zone."""

    id: str
    instance_type: str
    zone: str
    count: int
    """Machines that it holds, those in use included."""
    kind: Literal["default", "capacity-block"] = "default"
