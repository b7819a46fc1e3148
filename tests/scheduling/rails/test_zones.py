"""The zones of a pool's machines: shares, what they may cost, and what the claim says."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType
from karpenter.model.requirements import Requirement
from karpenter.scheduling import Demand, Options, Policy, Snapshot, Solution, solve
from karpenter.scheduling.policy import FlexibilityRails
from karpenter.scheduling.rails.zones import Quote, zones_of
from tests.builders import a_node_view, a_pod, a_pool, a_snapshot, an_instance_type
from tests.scheduling import worlds
from tests.scheduling.railchecker import rail_breaches, zone_shares
from tests.scheduling.toys import FREE, on_demand, pods, solved, toys
from tests.scheduling.verifier import breaches


def priced(kind: InstanceType, **by_zone: float) -> InstanceType:
    """Return a type whose prices in some zones are multiplied."""
    return replace(
        kind,
        offerings=tuple(replace(o, price=o.price * by_zone.get(o.zone, 1.0)) for o in kind.offerings),
    )


def zones(solution: Solution) -> Counter[str]:
    return Counter(plan.zone for plan in solution.new_claims)


def test_a_hundred_plain_machines_over_three_zones_are_a_third_each() -> None:
    assert sorted(zones(solved(pods(100, cpu="3"), types=toys("c.4"))).values()) == [33, 33, 34]


def test_the_claim_is_for_the_planned_zone_only() -> None:
    solution = solved(pods(6, cpu="3"), types=toys("c.4"))
    assert all(plan.requirements[labels.ZONE].values == {plan.zone} for plan in solution.new_claims)


def test_without_rails_the_cloud_may_choose_the_zone() -> None:
    (plan,) = solved([a_pod(cpu="3")], types=toys("c.4"), options=FREE).new_claims
    assert plan.requirements[labels.ZONE].values == {"a", "b", "c"}


def test_a_zone_that_is_a_little_cheaper_holds_no_more_than_its_share() -> None:
    cheap = priced(*toys("c.4"), a=0.99)
    assert zones(solved(pods(100, cpu="3"), types=[cheap])) == {"a": 45, "b": 28, "c": 27}


def test_levelling_ends_where_it_has_cost_its_share_of_the_price() -> None:
    """Elsewhere a machine costs a tenth more: 2 % of the price pay for 20 of a hundred."""
    assert zones(solved(pods(100, cpu="3"), types=[priced(*toys("c.4"), b=1.1, c=1.1)]))["a"] == 80


def test_of_two_zones_one_holds_three_fifths_at_most() -> None:
    pool = on_demand(requirements={labels.ZONE: ["a", "b"]})
    solution = solved(pods(100, cpu="3"), types=[priced(*toys("c.4"), a=0.99)], pools=[pool])
    assert zones(solution) == {"a": 60, "b": 40}


def test_what_runs_counts_for_the_shares() -> None:
    pool = on_demand()
    nodes = [
        a_node_view(f"n{at}", pool=pool, zone="a", cpu="4", pods=[a_pod(f"b{at}", cpu="4", node=f"n{at}")])
        for at in range(10)
    ]
    solution = solved(pods(10, cpu="3"), types=[priced(*toys("c.4"), a=0.99)], pools=[pool], nodes=nodes)
    assert "a" not in zones(solution)


def test_a_machine_of_another_type_may_be_cheaper_in_another_zone() -> None:
    """Spot prices differ by type and zone: b costs as much as a, with the other type."""
    types = [priced(*toys("c.4"), b=2.0, c=2.0), priced(*toys("m.4"), a=1.6, b=0.8, c=0.8)]
    solution = solved(pods(30, cpu="3"), types=types)
    planned = {(plan.instance_type, plan.zone) for plan in solution.new_claims}
    assert planned == {("c.4", "a"), ("m.4", "b"), ("m.4", "c")}
    assert solution.price == pytest.approx(30 * 0.16)


def test_pods_that_are_bound_to_a_zone_stay_there_and_the_others_keep_away() -> None:
    bound = pods(10, cpu="3", name="bound", node_selector={labels.ZONE: "a"})
    assert zones(solved([*bound, *pods(20, cpu="3")], types=toys("c.4"))) == {"a": 10, "b": 10, "c": 10}


def test_a_pool_that_asks_for_values_of_zones_keeps_its_claims_open() -> None:
    """S-46: minValues of the zone."""
    wanted = Requirement.of(labels.ZONE, "Exists", min_values=2)
    pool = a_pool(requirements=[Requirement.of(labels.CAPACITY_TYPE, "In", ["on-demand"]), wanted])
    (plan,) = solved([a_pod(cpu="3")], types=toys("c.4"), pools=[pool]).new_claims
    assert len(plan.requirements[labels.ZONE].values) == 3


def test_a_zone_without_capacity_is_left_out_when_pods_are_planned_anew() -> None:
    short = an_instance_type("c.4", cpu="4", memory="8Gi", price=0.16, unavailable=[("a", "on-demand")])
    assert zones(solved(pods(10, cpu="3"), types=[short])) == {"b": 5, "c": 5}


def spot_pool(count: int, types, **world):
    return solved(pods(count, cpu="3"), types=types, pools=[a_pool()], **world)


def test_no_type_in_one_zone_is_more_than_a_quarter_of_a_pools_spot() -> None:
    solution = spot_pool(12, toys("c.4", "m.4"))
    decks = Counter((plan.instance_type, plan.zone) for plan in solution.new_claims)
    assert max(decks.values()) <= 3
    assert zones(solution) == {"a": 4, "b": 4, "c": 4}


def test_fewer_than_eight_spot_machines_may_be_all_alike() -> None:
    assert {plan.instance_type for plan in spot_pool(7, toys("c.4", "m.4")).new_claims} == {"c.4"}


def test_spot_that_runs_counts_for_the_share() -> None:
    pool = a_pool()
    nodes = [
        a_node_view(f"n{at}", pool=pool, zone="a", cpu="4", instance_type="c.4", capacity_type="spot",
                    pods=[a_pod(f"b{at}", cpu="4", node=f"n{at}")])
        for at in range(9)
    ]  # fmt: skip
    wanted = pods(3, cpu="3", node_selector={labels.ZONE: "a"})
    solution = solved(wanted, types=toys("c.4", "m.4"), pools=[pool], nodes=nodes)
    assert {plan.instance_type for plan in solution.new_claims} == {"m.4"}


def test_a_pool_of_one_spot_type_launches_it_all_the_same() -> None:
    assert {plan.instance_type for plan in spot_pool(12, toys("c.4")).new_claims} == {"c.4"}


def test_a_type_that_has_its_share_is_not_listed_either() -> None:
    solution = spot_pool(12, toys("c.4", "m.4"))
    late = [plan for plan in solution.new_claims if plan.instance_type == "m.4"]
    assert late
    assert all("c.4" not in plan.instance_types for plan in late)


@settings(max_examples=15)
@given(worlds.snapshots(), worlds.pod_lists(most_copies=9))
def test_all_rails_hold_on_any_world(snapshot: Snapshot, wanted: tuple[Pod, ...]) -> None:
    policy = Policy(flexibility=FlexibilityRails(spot_share_from=3, spot_types=3))
    demand, options = Demand.each(wanted), Options(policy)
    solution = solve(snapshot, demand, options)
    assert breaches(snapshot, demand, solution, options) == []
    assert rail_breaches(snapshot, wanted, solution, policy) == []
    assert solve(snapshot, demand, options) == solution


prices = st.lists(st.sampled_from([1.0, 1.0, 1.01, 1.3, np.inf]), min_size=3, max_size=3).filter(
    lambda row: min(row) < np.inf
)


@settings(max_examples=50)
@given(st.lists(st.tuples(prices, st.sampled_from([2.0, 4.0, 16.0])), min_size=1, max_size=30))
def test_levelling_costs_no_more_than_it_may(machines: list[tuple[list[float], float]]) -> None:
    quotes = {at: Quote(np.array(price), np.full(3, cores)) for at, (price, cores) in enumerate(machines)}
    chosen = zones_of(quotes, np.zeros(3), share=0.45, most_cost=0.02)
    least = sum(float(quote.price.min()) for quote in quotes.values())
    assert sum(float(quotes[row].price[zone]) for row, zone in chosen.items()) <= least * 1.02 + 1e-9


def test_all_that_costs_the_same_is_within_the_shares() -> None:
    snapshot = a_snapshot(types=toys("c.1", "c.4", "c.8"), pools=[on_demand()])
    solution = solve(snapshot, Demand.each([*pods(60, cpu="3"), *pods(40, cpu="900m", name="s")]))
    assert max(zone_shares(snapshot, solution, snapshot.pools[0]).values()) <= 0.45
