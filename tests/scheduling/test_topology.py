"""Where pods mind other pods: spread, affinity, anti-affinity and host ports, on nodes and on new machines."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.scheduling import Demand, NodeView, Options, Policy, Snapshot, Solution, solve
from tests.builders import a_daemon, a_node_view, a_pod
from tests.scheduling import crowds
from tests.scheduling.toys import machines, on_demand, pods, solved, toys
from tests.scheduling.verifier import breaches

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"app": "web"}
SELECT_WEB = {"matchLabels": WEB}


def spread(key: str, *, selects: Mapping[str, Any] = SELECT_WEB, **fields: Any) -> dict[str, Any]:
    constraint = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selects}
    return {**constraint, **fields}


def away(key: str, selects: Mapping[str, Any] = SELECT_WEB) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": selects}]}}


def near(key: str, selects: Mapping[str, Any] = SELECT_WEB) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": selects}]}}


def full_node(name: str, zone: str, holds: int) -> NodeView:
    """Return a node with `holds` web pods and no room for more."""
    bound = [a_pod(f"{name}-{at}", cpu="1", node=name, labels=WEB) for at in range(holds)]
    return a_node_view(name, cpu=str(holds), zone=zone, pods=bound)


def zones(solution: Solution) -> dict[str, int]:
    """Count the pods on new machines by zone."""
    return dict(Counter(plan.zone for plan in solution.new_claims for _ in plan.pods))


# --- spread -----------------------------------------------------------------------------------------------------------


def test_a_spread_goes_to_the_zones_that_have_fewest() -> None:
    """TV-75, V41."""
    nodes = [full_node("n1", "a", 2), full_node("n2", "b", 1), full_node("n3", "c", 1)]
    solution = solved([a_pod(labels=WEB, spread=[spread(labels.ZONE)])], nodes=nodes)
    assert set(zones(solution)) <= {"b", "c"}


def test_a_pod_that_its_own_spread_does_not_count_goes_where_fewest_are() -> None:
    """TV-77."""
    pool = on_demand(requirements={labels.ZONE: ["a", "b"]})
    nodes = [full_node("n1", "a", 1)]
    solution = solved([a_pod(spread=[spread(labels.ZONE)])], nodes=nodes, pools=[pool])
    assert zones(solution) == {"b": 1}


def test_replicas_are_levelled_over_all_zones_that_can_serve_them() -> None:
    solution = solved(pods(10, cpu="3", labels=WEB, spread=[spread(labels.ZONE)]), types=toys("c.4"))
    assert sorted(zones(solution).values()) == [3, 3, 4]


def test_zones_where_the_pool_launches_nothing_are_no_domains() -> None:
    pool = on_demand(requirements={labels.ZONE: ["a", "b"]})
    assert zones(solved(pods(4, labels=WEB, spread=[spread(labels.ZONE)]), pools=[pool])) == {"a": 2, "b": 2}


def test_pods_that_a_spread_only_counts_are_levelled_with_those_that_state_it() -> None:
    wanted = [*pods(4, name="other", labels=WEB), *pods(4, name="own", labels=WEB, spread=[spread(labels.ZONE)])]
    assert sorted(zones(solved(wanted)).values()) == [2, 3, 3]


def test_a_pool_that_lists_values_of_a_label_of_its_own_makes_each_of_them_a_domain() -> None:
    """TV-87, SCH-8."""
    pool = on_demand(requirements={"capacity-spread": ["1", "2", "3", "4", "5"]})
    solution = solved(pods(10, labels=WEB, spread=[spread("capacity-spread")]), pools=[pool])
    values = Counter(
        next(iter(plan.requirements["capacity-spread"].values)) for plan in solution.new_claims for _ in plan.pods
    )
    assert values == {"1": 2, "2": 2, "3": 2, "4": 2, "5": 2}


def test_a_spread_over_hosts_caps_every_machine() -> None:
    """V43: the least count is 0, because one more machine is always possible."""
    there = a_node_view("n", cpu="8", pods=[a_pod("b", cpu="1", node="n", labels=WEB)])
    solution = solved([a_pod(labels=WEB, spread=[spread(labels.HOSTNAME)])], nodes=[there])
    assert len(solution.new_claims) == 1


def test_three_replicas_over_two_zones_and_over_hosts_are_all_placed() -> None:
    """Case MIN-DOMAINS."""
    pool = on_demand(requirements={labels.ZONE: ["a", "b"]})
    constraints = [
        spread(labels.ZONE, minDomains=2, matchLabelKeys=["revision"]),
        spread(labels.HOSTNAME, matchLabelKeys=["revision"]),
    ]
    solution = solved(pods(3, labels={**WEB, "revision": "1"}, spread=constraints), pools=[pool])
    assert len(solution.new_claims) == 3
    assert sorted(zones(solution).values()) == [1, 2]


def test_a_spread_that_matches_label_keys_counts_only_pods_of_the_same_revision() -> None:
    """S-36."""
    old = [a_pod(f"old-{at}", cpu="100m", node="n", labels={**WEB, "revision": "1"}) for at in range(5)]
    there = a_node_view("n", cpu="1", zone="a", pods=old)
    constraint = spread(labels.ZONE, matchLabelKeys=["revision"])
    wanted = pods(3, cpu="3", labels={**WEB, "revision": "2"}, spread=[constraint])
    assert zones(solved(wanted, nodes=[there])) == {"a": 1, "b": 1, "c": 1}


def test_a_spread_that_wants_more_domains_than_there_are_counts_the_missing_ones_as_empty() -> None:
    """V42, TV-76: at most one pod fits each of the three zones."""
    constraint = spread(labels.ZONE, minDomains=4)
    solution = solved(pods(4, cpu="3", labels=WEB, spread=[constraint]))
    assert zones(solution) == {"a": 1, "b": 1, "c": 1}
    assert len(solution.unschedulable) == 1


def test_a_soft_spread_over_hosts_is_not_looked_at_when_the_policy_says_ignore() -> None:
    """Case PREFER (d)."""
    constraints = [spread(labels.ZONE), spread(labels.HOSTNAME, whenUnsatisfiable="ScheduleAnyway")]
    wanted = pods(100, cpu="100m", memory="64Mi", labels=WEB, spread=constraints)
    solution = solved(wanted, options=Options(Policy(preferences="Ignore")))
    assert len(solution.new_claims) <= 9
    assert sorted(zones(solution).values()) == [33, 33, 34]


def test_when_a_limit_cuts_a_spread_short_what_is_placed_is_still_level() -> None:
    pool = on_demand(limits={"nodes": "4"})
    solution = solved(pods(9, cpu="3", labels=WEB, spread=[spread(labels.ZONE)]), types=toys("c.4"), pools=[pool])
    assert sorted(zones(solution).values()) == [1, 1, 2]


# --- affinity ---------------------------------------------------------------------------------------------------------


def test_pods_that_repel_each_other_get_a_machine_each() -> None:
    """TV-78."""
    assert len(solved(pods(3, labels=WEB, affinity=away(labels.HOSTNAME))).new_claims) == 3


def test_pods_that_repel_each_other_share_machines_with_anybody_else() -> None:
    wanted = [*pods(3, cpu="500m", labels=WEB, affinity=away(labels.HOSTNAME)), *pods(3, cpu="500m", name="other")]
    assert machines(solved(wanted)) == ["c.1"] * 3


def test_a_bound_pod_that_repels_newcomers_keeps_them_off_its_node() -> None:
    """SCH-44."""
    there = a_node_view("n", cpu="8", pods=[a_pod("b", cpu="1", node="n", affinity=away(labels.HOSTNAME))])
    assert len(solved([a_pod(labels=WEB)], nodes=[there]).new_claims) == 1


def test_a_node_without_the_label_of_a_rule_of_distance_takes_pods_that_found_no_domain() -> None:
    """A rule over a label says nothing about nodes that lack it, whoever states it and whoever it means."""
    wanted = [a_pod(f"p{at}", cpu="100m", labels=WEB, affinity=away("rack")) for at in range(3)]
    nodes = [a_node_view("bare", cpu="4"), a_node_view("racked", cpu="4", labels={"rack": "1"})]
    assert len(solved(wanted, nodes=nodes, pools=[]).placements) == 3
    meant = a_pod("meant", cpu="100m", labels=WEB, node_selector={"kubernetes.io/hostname": "bare"})
    assert solved([*wanted, meant], nodes=nodes, pools=[]).placements[meant.metadata.key] == "bare"


def test_a_spread_or_company_needs_a_node_with_its_label() -> None:
    for rule in ({"spread": [spread("rack")]}, {"affinity": near("rack")}):
        assert solved([a_pod(labels=WEB, **rule)], nodes=[a_node_view("bare", cpu="4")], pools=[]).placements == {}


def test_of_pods_that_repel_each_other_by_zone_one_fits_each_zone() -> None:
    solution = solved(pods(4, labels=WEB, affinity=away(labels.ZONE)))
    assert zones(solution) == {"a": 1, "b": 1, "c": 1}
    assert len(solution.unschedulable) == 1


def test_pods_that_want_each_other_by_zone_begin_where_they_can_and_stay_together() -> None:
    """V44."""
    pool = on_demand(requirements={labels.ZONE: ["b"]})
    assert zones(solved(pods(6, cpu="3", labels=WEB, affinity=near(labels.ZONE)), pools=[pool])) == {"b": 6}
    assert list(zones(solved(pods(6, cpu="3", labels=WEB, affinity=near(labels.ZONE)))).values()) == [6]


def test_a_pod_follows_the_company_that_is_bound_already() -> None:
    solution = solved([a_pod(affinity=near(labels.ZONE))], nodes=[full_node("n", "c", 1)])
    assert zones(solution) == {"c": 1}


def test_a_pod_does_not_follow_company_that_is_leaving() -> None:
    leaving = a_pod("old", labels=WEB, node="n", deleted="2023-11-14T22:13:00Z")
    node = a_node_view("n", cpu="8", zone="b", pods=[leaving])
    for key in (labels.ZONE, labels.HOSTNAME):
        assert solved([a_pod(affinity=near(key))], nodes=[node]).placements == {}


def test_a_pod_that_is_leaving_keeps_others_away_until_it_is_gone() -> None:
    leaving = a_pod("old", labels=WEB, node="n", affinity=away(labels.HOSTNAME), deleted="2023-11-14T22:13:00Z")
    node = a_node_view("n", cpu="8", pods=[leaving])
    (plan,) = solved([a_pod(labels=WEB)], nodes=[node]).new_claims
    assert len(plan.pods) == 1


def test_a_pod_follows_company_that_is_placed_with_it() -> None:
    wanted = [a_pod("follower", affinity=near(labels.HOSTNAME)), a_pod("leader", labels=WEB)]
    solution = solved(wanted)
    assert len(set(solution.placements.values())) == 1
    assert len(solution.placements) == 2


def test_pods_that_want_each_other_on_one_host_get_a_machine_that_holds_them_all() -> None:
    assert machines(solved(pods(6, labels=WEB, affinity=near(labels.HOSTNAME)))) == ["c.8"]


def test_a_pod_whose_company_is_nowhere_stays_pending() -> None:
    assert solved([a_pod(affinity=near(labels.ZONE))]).placements == {}


@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_pods_that_wait_for_each_other_stay_pending(key: str) -> None:
    first = a_pod("first", labels={"app": "a"}, affinity=near(key, {"matchLabels": {"app": "b"}}))
    second = a_pod("second", labels={"app": "b"}, affinity=near(key, {"matchLabels": {"app": "a"}}))
    assert solved([first, second]).placements == {}


# --- ports ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other, together",
    [
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, False),
        ({"hostPort": 80, "protocol": "UDP"}, True),
        ({"hostPort": 81}, True),
    ],
)
def test_pods_that_want_one_host_port_do_not_share_a_machine(other: Mapping[str, Any], together: bool) -> None:
    """TV-82."""
    wanted = [a_pod("one", cpu="100m", ports=[{"hostPort": 80}]), a_pod("two", cpu="100m", ports=[other])]
    assert (len(solved(wanted).new_claims) == 1) == together


def test_a_port_that_a_daemon_takes_is_free_on_no_new_machine() -> None:
    """S-22."""
    daemon = a_daemon(ports=[{"hostPort": 9100}])
    assert solved([a_pod(ports=[{"hostPort": 9100}])], daemons=[daemon]).placements == {}


# --- laws -------------------------------------------------------------------------------------------------------------


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(crowds.snapshots(), crowds.pod_lists())
def test_every_plan_keeps_every_rule_about_other_pods(snapshot: Snapshot, wanted: tuple[Pod, ...]) -> None:
    for options in (Options(), Options(Policy(preferences="Ignore"))):
        demand = Demand.each(wanted)
        assert breaches(snapshot, demand, solve(snapshot, demand, options), options) == []
