"""What EventBridge's messages say, by the vectors of spec v1alpha5 §7.7."""

import pytest

from karpenter.model.aws.notices import Notice, UnreadableError, read_notices
from karpenter.model.instance import InterruptionKind
from karpenter.model.units import UnixSeconds, from_rfc3339

NOW = UnixSeconds(1_000.0)
AT = from_rfc3339("2023-05-01T00:00:00Z")


def a_body(source: str, detail_type: str, detail: str, *, version: str = "0") -> str:
    return (
        f'{{"version":"{version}","source":"{source}","detail-type":"{detail_type}",'
        f'"time":"2023-05-01T00:00:00Z","detail":{detail}}}'
    )


SPOT = a_body(
    "aws.ec2", "EC2 Spot Instance Interruption Warning", '{"instance-id":"i-0a1","instance-action":"terminate"}'
)
ENTITIES = '"affectedEntities":[{"entityValue":"i-0a1"},{"entityValue":"i-0b2"}]'


def a_health_event(service: str = "EC2", category: str = "scheduledChange") -> str:
    detail = f'{{"service":"{service}","eventTypeCategory":"{category}",{ENTITIES}}}'
    return a_body("aws.health", "AWS Health Event", detail)


def a_state_change(state: str) -> str:
    return a_body("aws.ec2", "EC2 Instance State-change Notification", f'{{"instance-id":"i-0a1","state":"{state}"}}')


def test_a_spot_notice_names_its_instance_and_when_it_ends() -> None:
    """TV-135, INT-7: two minutes."""
    kind = InterruptionKind.SPOT_INTERRUPTION
    assert read_notices(SPOT, NOW) == (Notice(kind, "i-0a1", AT, UnixSeconds(AT + 120)),)


def test_a_rebalance_recommendation_has_no_end() -> None:
    """TV-136."""
    body = a_body("aws.ec2", "EC2 Instance Rebalance Recommendation", '{"instance-id":"i-0a1"}')
    assert read_notices(body, NOW) == (Notice(InterruptionKind.REBALANCE_RECOMMENDATION, "i-0a1", AT),)


def test_a_health_event_names_every_instance_that_it_affects() -> None:
    """TV-137."""
    found = read_notices(a_health_event(), NOW)
    assert [(one.kind, one.instance_id) for one in found] == [
        (InterruptionKind.SCHEDULED_CHANGE, "i-0a1"),
        (InterruptionKind.SCHEDULED_CHANGE, "i-0b2"),
    ]


@pytest.mark.parametrize("event", [a_health_event(service="RDS"), a_health_event(category="issue")])
def test_health_events_of_other_services_or_kinds_say_nothing(event: str) -> None:
    """TV-138."""
    assert read_notices(event, NOW) == ()


@pytest.mark.parametrize(
    "state,kind",
    [
        ("shutting-down", InterruptionKind.TERMINATING),
        ("terminated", InterruptionKind.TERMINATING),
        ("STOPPED", InterruptionKind.STOPPING),
        ("stopping", InterruptionKind.STOPPING),
    ],
)
def test_a_state_change_that_ends_a_machine_is_a_notice(state: str, kind: InterruptionKind) -> None:
    """TV-139."""
    assert read_notices(a_state_change(state), NOW) == (Notice(kind, "i-0a1", AT),)


@pytest.mark.parametrize(
    "body",
    [
        a_state_change("running"),
        SPOT.replace('"version":"0"', '"version":"1"'),
        a_body("aws.s3", "Object Created", '{"bucket":["any","shape"]}'),
        "",
    ],
)
def test_what_says_nothing_about_machines_is_no_notice(body: str) -> None:
    """TV-139, TV-141, TV-142, INT-2."""
    assert read_notices(body, NOW) == ()


@pytest.mark.parametrize("body", ["not json", "[1]", SPOT.replace('"i-0a1"', "7")])
def test_what_is_no_event_cannot_be_read(body: str) -> None:
    """TV-141, INT-2."""
    with pytest.raises(UnreadableError):
        read_notices(body, NOW)


def test_an_undated_message_counts_from_its_receipt() -> None:
    (found,) = read_notices(SPOT.replace("2023-05-01T00:00:00Z", "yesterday"), NOW)
    assert (found.noticed_at, found.deadline) == (NOW, NOW + 120)
