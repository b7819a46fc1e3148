"""Capacity reservations as node classes see them. Source: spec v1 A-10."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.sim.market.account import has_tags
from karpenter.sim.market.reservations import OWNER, CapacityReservation

_SELECTOR: Final = "capacityReservationSelectorTerms"
_MATCH_CRITERIA: Final = "targeted"


def selected_reservations(
    node_class: AwsNodeClass, reservations: Iterable[CapacityReservation]
) -> tuple[CapacityReservation, ...]:
    """Return the reservations that a class selects, by id; none where it selects none."""
    terms = node_class.other.get(_SELECTOR)
    if not isinstance(terms, Sequence):
        return ()
    return tuple(one for one in reservations if any(_selects(term, one) for term in terms))


def listed_reservation(one: CapacityReservation) -> dict[str, object]:
    """Return a reservation as `status.capacityReservations` lists it."""
    return {
        "id": one.id,
        "availabilityZone": one.zone,
        "instanceType": one.instance_type,
        "ownerID": OWNER,
        "instanceMatchCriteria": _MATCH_CRITERIA,
        "reservationType": one.kind,
        "state": "active",
    }


def _selects(term: Mapping[str, Any], one: CapacityReservation) -> bool:
    if term.get("id"):
        return bool(term["id"] == one.id)
    named = term.get("ownerID") in {None, OWNER} and term.get("instanceMatchCriteria") in {None, _MATCH_CRITERIA}
    return named and has_tags(term.get("tags") or {}, {})
