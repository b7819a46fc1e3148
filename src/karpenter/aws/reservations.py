"""Capacity reservations that node classes may launch into, and what they still hold. Source: spec v1 A-10, A-11."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cachetools import TTLCache

from karpenter.aws.network import Filters, tag_filters
from karpenter.aws.resolved import Reservation
from karpenter.aws.session import AwsSession, collect
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.units import UnixSeconds
from karpenter.runtime.clock import Clock

_REMEMBERED_S: Final = 60.0
_MOST_REMEMBERED: Final = 500
BLOCK_ENDS_S: Final = 2400.0
"""How long before its end a capacity block takes no more machines: they are taken away half an hour before it."""
_SELECTOR: Final = "capacityReservationSelectorTerms"


@dataclass(frozen=True, slots=True)
class _Count:
    """What a reservation holds by our own account."""

    left: int
    at: UnixSeconds
    """When it was last changed: what EC2 was asked before that says nothing about it."""


class Reservations:
    """Finds reservations; answers are remembered for a minute, counts follow what is launched in between."""

    def __init__(self, aws: AwsSession, clock: Clock) -> None:
        self._aws = aws
        self._clock = clock
        self._found: TTLCache[object, tuple[UnixSeconds, tuple[Reservation, ...]]] = TTLCache(
            _MOST_REMEMBERED, _REMEMBERED_S, clock.now
        )
        self._counts: dict[str, _Count] = {}

    async def find(self, node_class: AwsNodeClass) -> tuple[Reservation, ...]:
        """Return the active reservations that a class selects, by id; none where it selects none. Raises CloudError."""
        terms = node_class.other.get(_SELECTOR)
        if not isinstance(terms, Sequence) or not selects_reservations(node_class):
            return ()
        asked = [_request(term) for term in terms]
        key = repr(asked)
        if key not in self._found:
            at = self._clock.now()
            self._found[key] = (at, await self._ask(asked))
        at, found = self._found[key]
        return tuple(self._counted(one, at) for one in found)

    async def _ask(self, asked: Sequence[dict[str, Any]]) -> tuple[Reservation, ...]:
        operation = ("ec2", "DescribeCapacityReservations")
        answers = await asyncio.gather(
            *(collect(self._aws, operation, "CapacityReservations", **request) for request in asked)
        )
        by_id = {raw["CapacityReservationId"]: self._reservation(raw) for answer in answers for raw in answer}
        return tuple(by_id[identity] for identity in sorted(by_id))

    def _reservation(self, raw: Mapping[str, Any]) -> Reservation:
        is_block = raw.get("ReservationType") == "capacity-block"
        ends = raw.get("EndDate")
        ends_at = None if ends is None else UnixSeconds(ends.timestamp())
        expires = is_block and ends_at is not None and ends_at - self._clock.now() <= BLOCK_ENDS_S
        return Reservation(
            id=raw["CapacityReservationId"],
            instance_type=raw["InstanceType"],
            zone=raw["AvailabilityZone"],
            available=raw.get("AvailableInstanceCount", 0),
            owner_id=raw.get("OwnerId", ""),
            match_criteria=raw.get("InstanceMatchCriteria", "targeted"),
            kind="capacity-block" if is_block else "default",
            state="expiring" if expires else "active",
            is_interruptible=bool(raw.get("Interruptible")),
            ends_at=ends_at,
        )

    def _counted(self, one: Reservation, asked_at: UnixSeconds) -> Reservation:
        known = self._counts.get(one.id)
        if known is None or known.at <= asked_at:
            return one
        return replace(one, available=known.left)

    # --- what we did to them ------------------------------------------------------------------------------------------

    def launched(self, one: Reservation) -> None:
        """Note that a machine of ours went into a reservation."""
        self._set(one.id, max(0, self._left(one) - 1))

    def ended(self, one: Reservation) -> None:
        """Note that a machine of ours left a reservation."""
        self._set(one.id, self._left(one) + 1)

    def exhausted(self, reservation_id: str) -> None:
        """Note that EC2 says that a reservation holds nothing more (A-44)."""
        self._set(reservation_id, 0)

    def _left(self, one: Reservation) -> int:
        known = self._counts.get(one.id)
        return one.available if known is None else known.left

    def _set(self, reservation_id: str, left: int) -> None:
        self._counts[reservation_id] = _Count(left, self._clock.now())


def _request(term: Mapping[str, Any]) -> dict[str, Any]:
    """Return the call that finds what a term of `capacityReservationSelectorTerms` selects (A-10)."""
    named = {"owner-id": term.get("ownerID"), "instance-match-criteria": term.get("instanceMatchCriteria")}
    given: Filters = [{"Name": name, "Values": [value]} for name, value in named.items() if value]
    filters = [*given, *tag_filters(term.get("tags") or {}), {"Name": "state", "Values": ["active"]}]
    ids = {"CapacityReservationIds": [term["id"]]} if term.get("id") else {}
    return {**ids, "Filters": filters}


def selects_reservations(node_class: AwsNodeClass) -> bool:
    """Return whether a class selects reservations at all."""
    return bool(node_class.other.get(_SELECTOR))
