"""Brakes on launching: issue 6, point 8."""

from dataclasses import replace

import pytest

from karpenter.model.nodepool import NodeClassRef
from karpenter.provisioning.governor import Governor, LaunchLimits
from karpenter.runtime.clock import LoopClock
from karpenter.scheduling import Demand, solve
from karpenter.scheduling.snapshot import Snapshot
from karpenter.scheduling.solution import ClaimPlan
from tests.builders import a_claim, a_node_view, a_pod, a_pool, a_pool_view, a_snapshot

POOL = a_pool()


class Open:
    """A breaker that stops nothing."""

    def refusal(self, node_class: NodeClassRef | None) -> str | None:
        return None


class Broken:
    def refusal(self, node_class: NodeClassRef | None) -> str | None:
        return "five in a row failed"


def a_fleet(nodes: int, price: float | None = 0.2) -> Snapshot:
    views = [
        a_node_view(f"n{at:03}", pool=POOL, claim=a_claim(f"c{at:03}", pool=POOL), price=price) for at in range(nodes)
    ]
    return a_snapshot(nodes=views, pools=[a_pool_view(POOL)])


@pytest.fixture(scope="module")
def plan() -> ClaimPlan:
    """One machine, for 0.06 USD per hour."""
    pod = a_pod(cpu="3")
    return solve(a_snapshot(pools=[a_pool_view(POOL)], pending=[pod]), Demand.each([pod])).new_claims[0]


def refusals(governor: Governor, plan: ClaimPlan, fleet: Snapshot, asked: int) -> int:
    """Ask for so many machines; return how many are refused."""
    refused = 0
    for _ in range(asked):
        if governor.refusal(plan, a_pool_view(POOL), fleet) is None:
            governor.count(plan.price)
        else:
            refused += 1
    return refused


@pytest.mark.parametrize("fleet,allowed", [(0, 20), (200, 20), (201, 21), (450, 45)])
async def test_a_minute_lets_twenty_machines_through_or_a_tenth_of_the_fleet(
    clock: LoopClock, plan: ClaimPlan, fleet: int, allowed: int
) -> None:
    governor = Governor(LaunchLimits(), Open(), clock=clock)
    assert refusals(governor, plan, a_fleet(fleet), 60) == 60 - allowed


async def test_the_next_minute_lets_as_many_through_again(clock: LoopClock, plan: ClaimPlan) -> None:
    governor = Governor(LaunchLimits(per_minute=2), Open(), clock=clock)
    assert refusals(governor, plan, a_fleet(0), 3) == 1
    await clock.sleep(59.9)
    assert refusals(governor, plan, a_fleet(0), 1) == 1
    await clock.sleep(0.2)
    assert refusals(governor, plan, a_fleet(0), 3) == 1


async def test_a_cap_on_the_price_of_the_fleet_counts_machines_that_were_just_asked_for(
    clock: LoopClock, plan: ClaimPlan
) -> None:
    governor = Governor(LaunchLimits(price_per_hour=0.2 + 2 * plan.price), Open(), clock=clock)
    fleet = replace(a_fleet(1), taken_at=clock.now())
    assert refusals(governor, plan, fleet, 5) == 3
    found = governor.refusal(plan, a_pool_view(POOL), fleet)
    assert found is not None
    assert "exceed the cap" in found


async def test_a_machine_counts_once_when_its_claim_is_known(clock: LoopClock, plan: ClaimPlan) -> None:
    governor = Governor(LaunchLimits(price_per_hour=0.2 + plan.price), Open(), clock=clock)
    governor.written(governor.count(plan.price), "c000")
    assert governor.refusal(plan, a_pool_view(POOL), a_fleet(1)) is None
    unpriced = a_fleet(1, price=None)
    assert governor.refusal(plan, a_pool_view(POOL), unpriced) is None, "its planned price stands for it"


async def test_a_breakers_word_comes_first(clock: LoopClock, plan: ClaimPlan) -> None:
    governor = Governor(LaunchLimits(), Broken(), clock=clock)
    assert governor.refusal(plan, a_pool_view(POOL), a_fleet(0)) == "five in a row failed"
