"""The largest node: caps by pool, what gets more all the same, and bare metal."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.scheduling import Demand, Options, Policy, Snapshot, Solution, solve
from karpenter.scheduling.policy import SizeRails
from tests.builders import a_node_view, a_pod, a_snapshot, an_instance_type
from tests.scheduling import worlds
from tests.scheduling.railchecker import rail_breaches
from tests.scheduling.test_lower_bound import proven
from tests.scheduling.toys import FREE, machines, on_demand, pods, solved, toys
from tests.scheduling.verifier import breaches

LARGE = (*toys(), an_instance_type("c.96", cpu="96", memory="192Gi", pods=700, price=3.84))
TIGHT = Policy(size=SizeRails(vcpu=4, least_vcpu=2))


def cores(solution: Solution) -> list[int]:
    """Return the vCPU of the planned machines, by their names."""
    return sorted(int(plan.instance_type.rpartition(".")[2]) for plan in solution.new_claims)


def test_a_small_pool_has_no_machine_beyond_16_vcpu() -> None:
    assert cores(solved(pods(64), types=toys("c.16", "c.32"))) == [16, 16, 16, 16]


def test_a_pool_that_is_asked_for_more_may_have_larger_machines_up_to_a_tenth_of_that() -> None:
    assert cores(solved(pods(320, cpu="1"), types=toys("c.16", "c.32"))) == [32] * 10


def test_no_machine_is_beyond_64_vcpu_however_large_the_pool_is() -> None:
    types = [
        an_instance_type(f"c.{n}", cpu=str(n), memory=f"{n}Gi", price=n / 25 - n * n / 10_000) for n in (16, 64, 96)
    ]
    assert set(cores(solved(pods(960, memory="512Mi"), types=types))) == {64}


def test_what_runs_counts_for_the_share_of_the_pool() -> None:
    pool = on_demand()
    nodes = [
        a_node_view(f"n{at}", pool=pool, cpu="32", memory="64Gi", pods=[a_pod(f"b{at}", cpu="32", node=f"n{at}")])
        for at in range(9)
    ]
    assert cores(solved(pods(32), types=toys("c.16", "c.32"), nodes=nodes, pools=[pool])) == [32]


def test_a_pod_that_needs_more_gets_the_smallest_size_that_holds_it_and_others_use_what_is_left() -> None:
    wanted = [a_pod("huge", cpu="20"), *pods(12)]
    solution = solved(wanted, types=LARGE)
    assert machines(solution) == ["c.32"]
    assert [len(plan.pods) for plan in solution.new_claims] == [13]


def test_a_pool_of_large_machines_only_launches_these() -> None:
    """The rail chooses among what a pool has; it never keeps a pod pending."""
    assert machines(solved([a_pod()], types=LARGE[-1:])) == ["c.96"]


def test_rails_off_takes_the_size_that_is_cheapest() -> None:
    types = [an_instance_type(f"c.{n}", cpu=str(n), memory=f"{n}Gi", price=n / 25 - n * n / 10_000) for n in (16, 96)]
    assert machines(solved(pods(96, memory="512Mi"), types=types, options=FREE)) == ["c.96"]


def metal(price: float, cpu: str = "8"):
    return an_instance_type("x.metal", cpu=cpu, memory="32Gi", price=price, labels={labels.INSTANCE_SIZE: "metal"})


def test_bare_metal_is_planned_only_if_nothing_else_fits() -> None:
    types = [*toys("c.4"), metal(0.01)]
    assert machines(solved(pods(2), types=types)) == ["c.4"]
    assert machines(solved([a_pod(cpu="7")], types=types)) == ["x.metal"]


def test_bare_metal_is_planned_like_the_others_when_the_policy_says_so() -> None:
    options = Options(Policy(size=SizeRails(metal=True)))
    assert machines(solved(pods(2), types=[*toys("c.4"), metal(0.01)], options=options)) == ["x.metal"]


def test_a_limit_on_nodes_makes_the_rail_give_way_before_a_pod_stays_pending() -> None:
    assert machines(solved(pods(30), types=toys("c.16", "c.32"), pools=[on_demand(limits={"nodes": "1"})])) == ["c.32"]


def test_the_bound_heeds_the_cap() -> None:
    """A third of the price on one machine of 96 vCPU: no plan under the rail can have it, and the bound knows."""
    types = [*toys("c.16"), an_instance_type("c.96", cpu="96", memory="192Gi", price=1.28)]
    world = a_snapshot(types=types, pools=[on_demand()])
    railed, free = proven(world, Demand.each(pods(96)), Options()), proven(world, Demand.each(pods(96)), FREE)
    assert (railed.lower_bound, free.lower_bound) == pytest.approx((3.84, 1.28))


def test_the_bound_allows_others_on_the_machine_of_a_pod_that_needs_more() -> None:
    types = [*toys("c.16"), an_instance_type("c.96", cpu="96", memory="192Gi", price=1.28)]
    world = a_snapshot(types=types, pools=[on_demand()])
    solution = proven(world, Demand.each([a_pod("huge", cpu="70"), *pods(26)]), Options())
    assert (solution.price, solution.lower_bound) == pytest.approx((1.28, 1.28))


@settings(max_examples=15)
@given(worlds.snapshots(), worlds.pod_lists())
def test_the_cap_holds_and_keeps_nobody_pending(snapshot: Snapshot, wanted: tuple[Pod, ...]) -> None:
    demand, options = Demand.each(wanted), Options(TIGHT)
    solution = solve(snapshot, demand, options)
    assert breaches(snapshot, demand, solution, options) == []
    assert rail_breaches(snapshot, wanted, solution, TIGHT) == []
    free = solve(snapshot, demand, replace(options, policy=replace(TIGHT, rails=False)))
    assert len(solution.unschedulable) == len(free.unschedulable)


@settings(max_examples=15)
@given(worlds.snapshots(limited=True), worlds.pod_lists())
def test_bounds_under_the_cap_are_proven(snapshot: Snapshot, wanted: tuple[Pod, ...]) -> None:
    proven(snapshot, Demand.each(wanted), Options(replace(TIGHT, node_fee=0.0)))
