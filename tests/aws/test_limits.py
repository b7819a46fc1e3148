"""Calls of EC2 are spaced. Source: spec v1 §6.7."""

import pytest

from karpenter.aws.limits import CallLimits
from karpenter.runtime.clock import Clock


async def made_in(clock: Clock, limits: CallLimits, operation: str, times: int, *, service: str = "ec2") -> float:
    """Return how many seconds so many calls take to be let through."""
    began = clock.now()
    for _ in range(times):
        await limits.wait(service, operation)
    return clock.now() - began


@pytest.mark.parametrize(
    "operation,burst,per_s",
    [
        ("DescribeInstances", 100, 20),
        ("CreateFleet", 50, 5),
        ("TerminateInstances", 100, 5),
        ("CreateTags", 100, 10),
    ],
)
async def test_a_burst_passes_and_then_calls_are_spaced(clock: Clock, operation: str, burst: int, per_s: float) -> None:
    limits = CallLimits(clock)
    assert await made_in(clock, limits, operation, burst) == 0
    assert await made_in(clock, limits, operation, 10) == pytest.approx(10 / per_s)


async def test_reads_share_a_bucket_and_do_not_slow_launches(clock: Clock) -> None:
    limits = CallLimits(clock)
    await made_in(clock, limits, "DescribeSubnets", 100)
    assert await made_in(clock, limits, "DescribeImages", 1) == pytest.approx(0.05)
    assert await made_in(clock, limits, "CreateFleet", 1) == 0


async def test_after_a_refusal_nothing_is_saved_up(clock: Clock) -> None:
    limits = CallLimits(clock)
    limits.refused("ec2", "CreateFleet")
    assert await made_in(clock, limits, "CreateFleet", 5) == pytest.approx(1.0)


async def test_other_services_are_not_held_back(clock: Clock) -> None:
    assert await made_in(clock, CallLimits(clock), "ReceiveMessage", 1000, service="sqs") == 0
