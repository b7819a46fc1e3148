"""Brakes on launching, whatever a plan says: so many machines a minute, so many dollars an hour, a class that fails.

Source: issue 6, point 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Protocol

from karpenter.model.nodepool import NodeClassRef
from karpenter.model.units import UnixSeconds
from karpenter.runtime.clock import Clock
from karpenter.scheduling.snapshot import PoolView, Snapshot
from karpenter.scheduling.solution import ClaimPlan

MINUTE_S: Final = 60.0
REMEMBERED_S: Final = 3600.0
"""Longer than any claim waits for its machine, whose price is the planned one until then."""


@dataclass(frozen=True, slots=True)
class LaunchLimits:
    """How much may be launched."""

    per_minute: int = 20
    """Machines a minute that are always allowed."""
    share_per_minute: float = 0.1
    """Share of the fleet that is allowed a minute where that is more."""
    price_per_hour: float = 0.0
    """USD per hour that all our machines together may cost; 0 for no cap."""


class Breaker(Protocol):
    """Stops launches of a node class whose machines do not become nodes."""

    def refusal(self, node_class: NodeClassRef | None) -> str | None:
        """Return why one more machine of the class is not launched now; None when it may be."""
        ...


class Governor:
    """Says whether one more machine may be launched now, and keeps count of those that are."""

    def __init__(self, limits: LaunchLimits, breaker: Breaker, *, clock: Clock) -> None:
        self._limits = limits
        self._breaker = breaker
        self._clock = clock
        self._number = 0
        self._launches: dict[int, _Launch] = {}

    def refusal(self, plan: ClaimPlan, pool: PoolView, snapshot: Snapshot) -> str | None:
        """Return why the machine of a plan is not launched now, in words; None when it may be."""
        return (
            self._breaker.refusal(pool.pool.template.node_class_ref)
            or self._too_many(snapshot)
            or self._too_dear(plan, snapshot)
        )

    def count(self, price: float) -> int:
        """Count a machine that is about to be asked for, at its planned price in USD per hour; return its number."""
        now = self._clock.now()
        self._number += 1
        self._launches[self._number] = _Launch(now, price)
        old = [number for number, launch in self._launches.items() if launch.at <= now - REMEMBERED_S]
        for number in old:
            del self._launches[number]
        return self._number

    def written(self, number: int, claim: str) -> None:
        """Take in which claim asks for a machine that was counted."""
        self._launches[number] = replace(self._launches[number], claim=claim)

    def _too_many(self, snapshot: Snapshot) -> str | None:
        since = self._clock.now() - MINUTE_S
        lately = sum(1 for launch in self._launches.values() if launch.at > since)
        fleet = sum(1 for view in snapshot.nodes if view.claim is not None)
        allowed = max(self._limits.per_minute, math.ceil(self._limits.share_per_minute * fleet))
        if lately < allowed:
            return None
        return f"{lately} machines were launched within a minute, the limit is {allowed}; it is tried again soon"

    def _too_dear(self, plan: ClaimPlan, snapshot: Snapshot) -> str | None:
        cap = self._limits.price_per_hour
        spent = self._spent(snapshot) if cap else 0.0
        if spent + plan.price <= cap or not cap:
            return None
        return f"all machines cost {spent:.2f} $/h, {plan.price:.2f} more would exceed the cap of {cap:g} $/h"

    def _spent(self, snapshot: Snapshot) -> float:
        """Return what all our machines cost, those whose price is not known yet at the planned one."""
        known = {view.claim.name: view.price for view in snapshot.nodes if view.claim is not None}
        priced = sum(price for price in known.values() if price is not None)
        waiting = (
            launch.price
            for launch in self._launches.values()
            if (launch.at >= snapshot.taken_at and launch.claim not in known)
            or (launch.claim in known and known[launch.claim] is None)
        )
        return priced + sum(waiting)


@dataclass(frozen=True, slots=True)
class _Launch:
    at: UnixSeconds
    price: float
    claim: str = ""
    """Empty until it is written."""
