"""Offerings believed unavailable (spec v1alpha5 AWS-48, TV-95; spec v1 V62)."""

from karpenter.cloud.unavailable import OfferingKey, UnavailableOfferings
from karpenter.model.instancetype import Offering
from karpenter.model.units import UnixSeconds
from karpenter.runtime.clock import LoopClock
from karpenter.sim.loop import SIMULATION_START

REFUSED = OfferingKey("m5.xlarge", "us-west-2a", "spot")


async def test_a_refused_offering_is_unavailable_for_three_minutes(clock: LoopClock) -> None:
    """TV-95."""
    unavailable = UnavailableOfferings(clock)
    unavailable.mark([REFUSED])
    assert unavailable.until(REFUSED) == SIMULATION_START + 180
    await clock.sleep(179.9)
    assert REFUSED in unavailable
    await clock.sleep(0.1)
    assert REFUSED not in unavailable


async def test_other_zones_and_capacity_types_are_not_affected(clock: LoopClock) -> None:
    """TV-95, V62."""
    unavailable = UnavailableOfferings(clock)
    unavailable.mark([REFUSED])
    assert REFUSED._replace(zone="us-west-2b") not in unavailable
    assert REFUSED._replace(capacity_type="on-demand") not in unavailable
    assert unavailable.offerings() == {REFUSED}


async def test_another_refusal_starts_the_three_minutes_anew(clock: LoopClock) -> None:
    unavailable = UnavailableOfferings(clock)
    unavailable.mark([REFUSED])
    await clock.sleep(100)
    unavailable.mark([REFUSED])
    await clock.sleep(100)
    assert REFUSED in unavailable


async def test_the_version_changes_with_a_refusal_and_when_it_runs_out(clock: LoopClock) -> None:
    unavailable = UnavailableOfferings(clock)
    before = unavailable.version
    unavailable.mark([])
    assert unavailable.version == before
    unavailable.mark([REFUSED])
    marked = unavailable.version
    assert marked > before
    assert unavailable.version == marked
    await clock.sleep(180)
    assert unavailable.version > marked


async def test_refused_offerings_are_marked_with_the_end_of_the_belief(clock: LoopClock) -> None:
    """Case WHY-PENDING (d)."""
    unavailable = UnavailableOfferings(clock)
    unavailable.mark([REFUSED])
    refused, other = Offering("us-west-2a", "spot", 0.1), Offering("us-west-2b", "spot", 0.1)
    assert unavailable.marked("m5.xlarge", (refused, other)) == (
        Offering("us-west-2a", "spot", 0.1, available=False, retry_at=UnixSeconds(SIMULATION_START + 180)),
        other,
    )
