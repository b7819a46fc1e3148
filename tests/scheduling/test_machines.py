"""Which machines are planned, and what a claim says of the others that would do."""

from collections import Counter
from dataclasses import replace

from karpenter.model import labels
from karpenter.scheduling import Options, Policy
from tests.builders import a_daemon, a_node_view, a_pod, a_pool, an_instance_type
from tests.scheduling.toys import FREE, machines, on_demand, pods, solved, toys


def test_the_heavier_pool_opens_the_node_although_the_lighter_is_cheaper() -> None:
    """TV-72, V40."""
    light, heavy = (
        on_demand("light", weight=10),
        on_demand("heavy", weight=50, requirements={labels.INSTANCE_CATEGORY: ["m"]}),
    )
    (plan,) = solved([a_pod()], pools=[light, heavy]).new_claims
    assert (plan.pool.name, plan.instance_type) == ("heavy", "m.2")


def test_among_pools_of_equal_weight_the_price_decides() -> None:
    pools = [on_demand("a", requirements={labels.INSTANCE_CATEGORY: ["m"]}), on_demand("b")]
    (plan,) = solved([a_pod()], pools=pools).new_claims
    assert (plan.pool.name, plan.instance_type) == ("b", "c.1")


def test_a_pod_too_large_for_the_heavy_pool_goes_to_the_light_one_and_nothing_of_the_heavy_leaks() -> None:
    """Case STICKY-POOL."""
    first = on_demand("pool1", weight=30, requirements={labels.INSTANCE_TYPE: ["c.8"]}, labels={"tier": "one"})
    second = on_demand("pool2", weight=20, requirements={labels.INSTANCE_TYPE: ["m.8"]})
    (plan,) = solved([a_pod(cpu="7", memory="17Gi")], pools=[first, second]).new_claims
    assert (plan.pool.name, plan.instance_type) == ("pool2", "m.8")
    assert "tier" not in plan.requirements


def test_pods_that_only_a_light_pool_can_serve_share_its_machine_with_others() -> None:
    """Case STUCK-CONSOL (a), as provisioning: one m.4 instead of a c.2 and an m.4."""
    small = on_demand("small", weight=10, requirements={labels.INSTANCE_TYPE: ["c.2"]})
    large = on_demand("large", weight=1, requirements={labels.INSTANCE_TYPE: ["m.4", "m.8"]})
    wanted = [a_pod("light", cpu="500m", memory="1Gi"), a_pod("fat", cpu="500m", memory="12Gi")]
    assert machines(solved(wanted, pools=[small, large])) == ["m.4"]


def test_two_small_machines_are_taken_where_they_are_cheaper_than_one_large() -> None:
    """Case CHEAPER-SET (b): one c.8 would cost 0.32."""
    types = toys(overhead={"cpu": "100m", "memory": "200Mi"})
    solution = solved([a_pod("a", cpu="3", memory="3Gi"), a_pod("b", cpu="1", memory="1Gi")], types=types)
    assert (machines(solution), round(solution.price, 2)) == (["c.2", "c.4"], 0.24)


def test_pods_of_different_proportions_are_split_where_that_is_cheaper() -> None:
    """Case CHEAPER-SET (c): one m.16 would cost 0.80."""
    wanted = [
        *pods(2, cpu="3", memory="2Gi", name="a"),
        *pods(2, cpu="1", memory="12Gi", name="b"),
        *pods(2, cpu="2", memory="4Gi", name="c"),
    ]
    assert solved(wanted, daemons=[a_daemon(cpu="200m", memory="300Mi")]).price <= 0.72


def test_pods_whose_proportions_complement_each_other_share_machines() -> None:
    """Apart they take a c.8 and an r.8 for 0.84; an m.16 holds both for 0.80."""
    wanted = [*pods(7, cpu="1", memory="1Gi", name="c"), *pods(7, cpu="1", memory="7Gi", name="r")]
    assert solved(wanted, options=FREE).price <= 0.80


def test_a_claim_lists_every_type_that_would_do_cheapest_first() -> None:
    (plan,) = solved([a_pod(cpu="3")], options=FREE).new_claims
    assert plan.instance_types == ("c.4", "m.4", "r.4", "c.8", "m.8", "r.8", "c.16", "m.16", "g.8", "c.32")
    assert (plan.instance_type, plan.price, plan.worst_price) == ("c.4", 0.16, 1.28)
    assert plan.requirements[labels.INSTANCE_TYPE].values == frozenset(plan.instance_types)


def test_a_claim_lists_no_more_types_than_the_options_allow() -> None:
    (plan,) = solved([a_pod(cpu="3")], options=replace(FREE, max_instance_types=3)).new_claims
    assert plan.instance_types == ("c.4", "m.4", "r.4")


def test_spot_is_planned_where_the_pool_allows_both_and_it_is_cheaper() -> None:
    (plan,) = solved([a_pod()], pools=[a_pool()]).new_claims
    assert (plan.capacity_type, plan.price) == ("spot", 0.012)
    assert plan.requirements[labels.CAPACITY_TYPE].values == frozenset({"spot", "on-demand"})


def test_an_offering_without_capacity_is_neither_planned_nor_counted_as_a_price() -> None:
    types = [an_instance_type("c.1", cpu="1", memory="2Gi", price=0.04, unavailable=[(zone, "spot") for zone in "abc"])]
    (plan,) = solved([a_pod()], types=types, pools=[a_pool()]).new_claims
    assert (plan.capacity_type, plan.price) == ("on-demand", 0.04)


def test_machines_of_equal_price_are_dealt_out_over_the_zones() -> None:
    solution = solved(pods(100, cpu="3"), types=toys("c.4"))
    zones = Counter(plan.zone for plan in solution.new_claims)
    assert sorted(zones.values()) == [33, 33, 34]


def test_what_a_pool_has_already_counts_when_zones_are_dealt_out() -> None:
    pool = on_demand()
    nodes = [
        a_node_view(f"n{at}", pool=pool, zone="a", cpu="4", pods=[a_pod(f"b{at}", cpu="4", node=f"n{at}")])
        for at in range(2)
    ]
    solution = solved(pods(4, cpu="3"), types=toys("c.4"), pools=[pool], nodes=nodes)
    assert Counter(plan.zone for plan in solution.new_claims) == {"b": 2, "c": 2}


def test_a_cheaper_zone_is_taken_before_the_others() -> None:
    plain = an_instance_type("c.4", cpu="4", memory="8Gi", price=0.16)
    cheap = tuple(
        replace(offer, price=0.1) if (offer.zone, offer.capacity_type) == ("c", "on-demand") else offer
        for offer in plain.offerings
    )
    solution = solved(pods(3, cpu="3"), types=[replace(plain, offerings=cheap)])
    assert {plan.zone for plan in solution.new_claims} == {"c"}


def test_the_rails_cap_pods_per_node() -> None:
    types = [an_instance_type("wide", cpu="64", memory="256Gi", pods=737, price=1.0)]
    assert len(solved(pods(250, cpu="100m", memory="64Mi"), types=types).new_claims) == 3
    assert len(solved(pods(250, cpu="100m", memory="64Mi"), types=types, options=FREE).new_claims) == 1


def test_the_fee_of_a_node_prefers_one_large_machine_to_equal_small_ones() -> None:
    assert machines(solved(pods(8), types=toys("c.1", "c.8"))) == ["c.8"]
    dear = Options(Policy(node_fee=1.0))
    assert machines(solved(pods(9), types=toys("c.8", "c.16"), options=dear)) == ["c.16"]


def test_claims_have_names_of_their_own() -> None:
    taken = a_node_view("default-1", cpu="1", pods=[a_pod("b", node="default-1")])
    solution = solved(pods(2, cpu="3"), types=toys("c.4"), nodes=[taken])
    assert sorted(plan.name for plan in solution.new_claims) == ["default-2", "default-3"]
