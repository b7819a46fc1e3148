"""Capacity reservations and what they hold, over the real SDK. Source: spec v1 A-10, A-11, A-44."""

from typing import Any

import pytest

from karpenter.aws.reservations import BLOCK_ENDS_S, Reservations
from karpenter.aws.session import AwsSession
from karpenter.model.units import to_rfc3339
from tests.aws.canned import CannedEc2
from tests.aws.clocks import HandClock
from tests.awsbuilders import an_aws_node_class

pytestmark = pytest.mark.real_time


def raw(identity: str = "cr-1", *, left: int = 3, ends: float | None = None, block: bool = False) -> str:
    end = f"<endDate>{to_rfc3339(ends)}</endDate>" if ends else ""
    return (
        f"<item><capacityReservationId>{identity}</capacityReservationId><instanceType>m5.large</instanceType>"
        f"<availabilityZone>us-west-2a</availabilityZone><availableInstanceCount>{left}</availableInstanceCount>"
        f"<ownerId>123456789012</ownerId><instanceMatchCriteria>targeted</instanceMatchCriteria>{end}"
        f"<reservationType>{'capacity-block' if block else 'default'}</reservationType></item>"
    )


def answer(*reservations: str) -> dict[str, Any]:
    listed = f"<capacityReservationSet>{''.join(reservations)}</capacityReservationSet>"
    return {"DescribeCapacityReservations": listed}


def selecting(*selectors: dict[str, Any]) -> Any:
    return an_aws_node_class(other={"capacityReservationSelectorTerms": list(selectors)})


@pytest.fixture
def reservations(canned_aws: AwsSession, hand_clock: HandClock) -> Reservations:
    return Reservations(canned_aws, hand_clock)


async def test_a_class_that_selects_no_reservations_asks_for_none(ec2: CannedEc2, reservations: Reservations) -> None:
    assert await reservations.find(an_aws_node_class()) == ()
    assert ec2.asked == []


async def test_terms_become_calls_for_active_reservations(ec2: CannedEc2, reservations: Reservations) -> None:
    """A-10."""
    ec2.answers = answer()
    selectors = ({"id": "cr-1"}, {"tags": {"a": "*"}, "ownerID": "123456789012", "instanceMatchCriteria": "open"})
    await reservations.find(selecting(*selectors))
    by_id, by_tags = sorted(ec2.asked, key=lambda request: "CapacityReservationId.1" not in request)
    assert by_id["CapacityReservationId.1"] == "cr-1"
    filters = {by_tags[f"Filter.{n}.Name"]: by_tags[f"Filter.{n}.Value.1"] for n in range(1, 5)}
    assert filters == {
        "owner-id": "123456789012",
        "instance-match-criteria": "open",
        "tag-key": "a",
        "state": "active",
    }


async def test_launches_and_ends_are_counted_until_ec2_is_asked_again(
    ec2: CannedEc2, hand_clock: HandClock, reservations: Reservations
) -> None:
    """A-11."""
    ec2.answers = answer(raw(left=3))
    (one,) = await reservations.find(selecting({"id": "cr-1"}))
    hand_clock.time += 1
    reservations.launched(one)
    reservations.launched(one)
    reservations.ended(one)
    assert [found.available for found in await reservations.find(selecting({"id": "cr-1"}))] == [2]
    ec2.answers = answer(raw(left=1))
    hand_clock.time += 61
    assert [found.available for found in await reservations.find(selecting({"id": "cr-1"}))] == [1]


async def test_a_reservation_that_is_said_to_be_exhausted_holds_nothing(
    ec2: CannedEc2, hand_clock: HandClock, reservations: Reservations
) -> None:
    """A-11, A-44."""
    ec2.answers = answer(raw(left=3))
    await reservations.find(selecting({"id": "cr-1"}))
    hand_clock.time += 1
    reservations.exhausted("cr-1")
    assert [found.available for found in await reservations.find(selecting({"id": "cr-1"}))] == [0]


async def test_a_capacity_block_expires_before_its_end(
    ec2: CannedEc2, hand_clock: HandClock, reservations: Reservations
) -> None:
    """A-10: from 40 minutes before it."""
    soon, later = hand_clock.time + BLOCK_ENDS_S, hand_clock.time + BLOCK_ENDS_S + 60
    ec2.answers = answer(
        raw("cr-1", ends=soon, block=True), raw("cr-2", ends=later, block=True), raw("cr-3", ends=soon)
    )
    found = await reservations.find(selecting({"tags": {"a": "b"}}))
    assert [(one.id, one.kind, one.state) for one in found] == [
        ("cr-1", "capacity-block", "expiring"),
        ("cr-2", "capacity-block", "active"),
        ("cr-3", "default", "active"),
    ]
