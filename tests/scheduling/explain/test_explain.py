"""Why pods and nodes are where they are, and what else was possible at which price."""

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.units import PoolKey
from karpenter.scheduling import Demand, Options, Snapshot, solve
from karpenter.scheduling.explain import Alternative, Binding, Explanation, Offering, Plan, explain_node, explain_pod
from tests.builders import a_daemon, a_node_view, a_pod, a_snapshot
from tests.scheduling import worlds
from tests.scheduling.toys import on_demand, pods, toys

ZONE, TYPE = labels.ZONE, labels.INSTANCE_TYPE
WEB = {"app": "web"}
KEY = PoolKey("Provisioner", "default")
SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": WEB},
}


def a_plan(wanted: Iterable[Pod], **world: Any) -> Plan:
    """Return a plan for pods in a small world (arguments of `a_snapshot`)."""
    snapshot = a_snapshot(**{"types": toys(), "pools": [on_demand()], **world})
    demand = Demand.each(wanted)
    return Plan(snapshot, demand, solve(snapshot, demand), Options())


def explained(wanted: Iterable[Pod], **world: Any) -> Explanation:
    """Return the explanation of the first pod."""
    plan = a_plan(wanted, **world)
    return explain_pod(plan, plan.demand.pods[0])


def other(found: Explanation, dimension: str, name: str) -> Alternative:
    (alternative,) = [each for each in found.alternatives if (each.dimension, each.name) == (dimension, name)]
    return alternative


# --- new machines -----------------------------------------------------------------------------------------------------


def test_a_pod_on_a_new_machine_is_told_which_one_and_what_it_costs() -> None:
    found = explained([a_pod(cpu="3", memory="6Gi")])
    assert found.place is not None
    assert (found.place.name, found.place.is_new, found.place.instance_type) == ("default-1", True, "c.4")
    assert (found.place.price, dict(found.place.pods)) == (0.16, {"ReplicaSet default/owner": 1})
    assert found.why[0] == "there is no other node yet"
    assert "c.4 is the cheapest that holds one pod: 3 cpu, 6Gi memory" in found.why[1]


def test_other_types_are_told_with_their_prices_the_cheapest_first() -> None:
    found = explained([a_pod(cpu="3", memory="6Gi")])
    dearer = [each for each in found.alternatives if each.dimension == "type" and not each.why_not]
    assert [(each.name, each.offering.price) for each in dearer if each.offering] == [
        ("m.4", 0.2),
        ("r.4", 0.26),
        ("c.8", 0.32),
        ("m.8", 0.4),
    ]


def test_the_nearest_type_that_is_too_small_says_what_it_is_short_of() -> None:
    found = explained([a_pod(cpu="3", memory="6Gi")], daemons=[a_daemon(cpu="500m")])
    assert other(found, "type", "r.2").why_not == "has room for 1.5 of 3 cpu"


def test_a_cheaper_type_that_the_pool_keeps_out_is_named_with_the_requirement() -> None:
    pool = on_demand(requirements={labels.INSTANCE_CATEGORY: ["m"]})
    cheaper = other(explained([a_pod(cpu="3")], pools=[pool]), "type", "c.4")
    assert cheaper == Alternative(
        "type",
        "c.4",
        Offering(KEY, "c.4", "a", "on-demand", 0.16),
        f"the pool allows {labels.INSTANCE_CATEGORY} In [m]",
    )


def test_what_the_pods_themselves_keep_out_is_told_apart() -> None:
    found = explained([a_pod(cpu="3", node_selector={labels.INSTANCE_CATEGORY: "m"})])
    assert other(found, "type", "c.4").why_not == f"the pods ask for {labels.INSTANCE_CATEGORY} In [m]"


def test_every_other_capacity_type_has_its_price_or_says_who_keeps_it_out() -> None:
    spot = other(explained([a_pod()]), "capacity type", "spot")
    assert spot.offering is not None
    assert spot.offering.price == pytest.approx(0.012)
    assert spot.why_not == f"the pool allows {labels.CAPACITY_TYPE} In [on-demand]"


def test_a_zone_that_a_spread_rules_out_says_so() -> None:
    """Three replicas over three zones, each has to be where it is."""
    found = explained(pods(3, cpu="3", labels=WEB, spread=[SPREAD]))
    assert found.place is not None
    zone = found.place.zone
    others = [each for each in found.alternatives if each.dimension == "zone"]
    assert {each.name for each in others} == {"a", "b", "c"} - {zone}
    assert {each.why_not for each in others} == {f"topology spread over {ZONE} keeps the pods to {zone}"}


def test_a_zone_that_a_preference_rules_out_says_so() -> None:
    wish = {"weight": 1, "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}}
    found = explained([a_pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}})])
    assert other(found, "zone", "a").why_not == f"preferred node affinity {ZONE} In [b] keeps the pods to b"


def test_other_types_are_priced_where_the_rules_about_other_pods_leave_them() -> None:
    found = explained(pods(3, cpu="3", labels=WEB, spread=[SPREAD]))
    assert found.place is not None
    places = {each.offering.zone for each in found.alternatives if each.dimension == "type" and each.offering}
    assert places == {found.place.zone}


def test_other_pools_have_their_best_offer_or_a_reason() -> None:
    pools = [
        on_demand(),
        on_demand("tainted", taints=["dedicated:NoSchedule"]),
        on_demand("large", requirements={TYPE: ["m.16"]}),
        on_demand("tiny", requirements={TYPE: ["c.1"]}),
    ]
    found = explained([a_pod(cpu="3")], pools=pools)
    assert other(found, "pool", "Provisioner tainted").why_not == "not all tolerate its taint dedicated:NoSchedule"
    assert other(found, "pool", "Provisioner tiny").why_not == "none of its types that can be had holds them together"
    large = other(found, "pool", "Provisioner large").offering
    assert large == Offering(PoolKey("Provisioner", "large"), "m.16", "a", "on-demand", 0.8)


def test_pools_of_more_weight_that_did_not_serve_are_named() -> None:
    found = explained([a_pod(cpu="3")], pools=[on_demand(), on_demand("first", weight=9, requirements={TYPE: ["c.1"]})])
    assert found.why[1] == "pools of more weight (Provisioner first) do not serve them"


# --- nodes that are there ---------------------------------------------------------------------------------------------


def test_a_pod_on_a_node_that_is_there_is_told_what_a_new_one_would_cost() -> None:
    found = explained([a_pod()], nodes=[a_node_view("n1")])
    assert found.place is not None
    assert (found.place.name, found.place.is_new) == ("n1", False)
    assert found.why == (
        "it is there and has room: that costs nothing more",
        "a new node for this pod alone would be c.1 on-demand in a of Provisioner default, $0.0400 an hour",
    )


def test_nodes_that_do_not_take_a_pod_say_why_those_with_one_reason_together() -> None:
    nodes = [
        a_node_view("full-1", pods=pods(4, node="full-1")),
        a_node_view("full-2", pods=pods(3, node="full-2")),
        a_node_view("gpu", taints=["gpu:NoSchedule"]),
        a_node_view("else", zone="b"),
    ]
    found = explained([a_pod(cpu="2", node_selector={ZONE: "a"})], nodes=nodes)
    assert [(each.nodes, each.code, each.message) for each in found.other_nodes] == [
        (("full-2", "full-1"), "InsufficientResources", "1 cpu left on full-2, 2 asked for"),
        (("else",), "LabelMismatch", f"asks for {ZONE} In [a], has b"),
        (("gpu",), "TaintNotTolerated", "does not tolerate gpu:NoSchedule"),
    ]


def test_room_that_other_pods_of_the_plan_take_is_told_apart() -> None:
    wanted = [a_pod("late", cpu="3"), a_pod("first", cpu="3", priority=9)]
    found = explained(wanted, nodes=[a_node_view("n1")])
    (out,) = found.other_nodes
    assert (out.code, out.message) == (
        "RoomTaken",
        "other pods of the plan take its room: 1 cpu left on n1, 3 asked for",
    )


def test_a_node_with_room_in_another_domain_says_which_rule_decided() -> None:
    nodes = [a_node_view("na", zone="a"), a_node_view("nb", zone="b", pods=[a_pod("w", node="nb", labels=WEB)])]
    found = explained([a_pod(labels=WEB, spread=[SPREAD])], nodes=nodes)
    assert found.place is not None
    assert found.place.zone != "b"
    out = {name: (each.code, each.message) for each in found.other_nodes for name in each.nodes}
    assert out["nb"] == ("OtherDomain", f"topology spread over {ZONE} has it in {found.place.zone}")


def test_a_node_with_room_as_well_says_so() -> None:
    found = explained([a_pod()], nodes=[a_node_view("n1"), a_node_view("n2")])
    assert [(each.nodes, each.code) for each in found.other_nodes] == [(("n2",), "AlsoRoom")]


def test_a_pod_that_runs_already_is_told_that_it_stays() -> None:
    running = a_pod("old", node="n1")
    plan = a_plan([a_pod()], nodes=[a_node_view("n1", pods=[running])])
    found = explain_pod(plan, running)
    assert found.place is not None
    assert found.place.name == "n1"
    assert found.why == ("it runs there already, and a plan for pending pods moves nobody",)


# --- demands and refusals ---------------------------------------------------------------------------------------------


def test_what_binds_a_pod_is_told_with_the_counts_of_every_domain() -> None:
    found = explained(pods(4, cpu="100m", labels=WEB, spread=[SPREAD], node_selector={labels.ARCH: "amd64"}))
    assert found.place is not None
    one, other_, last = (found.bindings[0], found.bindings[1], len(found.bindings))
    assert one == Binding("NodeRequirement", labels.ARCH, f"asks for a node with {labels.ARCH} In [amd64]")
    assert (other_.code, last) == ("TopologySpread", 2)
    assert other_.message.startswith(f"topology spread over {ZONE}, maxSkew 1: a has ")
    assert other_.message.endswith(f"; it is in {found.place.zone}")


def test_a_pod_without_a_place_has_its_reasons() -> None:
    found = explained([a_pod(cpu="70")])
    assert (found.place, found.alternatives) == (None, ())
    assert [reason.code for reason in found.reasons] == ["InsufficientResources"]


def test_a_pod_that_cannot_be_read_has_that_as_its_reason() -> None:
    found = explained([a_pod(cpu="two")])
    assert (found.place, [reason.code for reason in found.reasons]) == (None, ["InvalidPod"])


# --- nodes ------------------------------------------------------------------------------------------------------------


def test_a_planned_node_lists_its_workloads_and_what_is_left() -> None:
    found = explain_node(a_plan(pods(3, cpu="1"), pools=[on_demand(requirements={TYPE: ["c.4"]})]), "default-1")
    assert found.place is not None
    assert dict(found.place.pods) == {"ReplicaSet default/owner": 3}
    assert found.left["cpu"] == 1000


def test_a_node_that_is_there_says_what_the_plan_brings_it() -> None:
    plan = a_plan([a_pod()], nodes=[a_node_view("n1"), a_node_view("n2")])
    assert explain_node(plan, "n1").why == ("the plan puts 1 pod there: room that is there costs nothing more",)
    assert explain_node(plan, "n2").why == ("the plan puts no pod there",)


def test_a_node_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(KeyError):
        explain_node(a_plan([a_pod()]), "gone")


# --- laws -------------------------------------------------------------------------------------------------------------


@settings(max_examples=int(os.environ.get("SOLVER_EXAMPLES", "20")))
@given(worlds.snapshots(limited=True), worlds.pod_lists())
def test_everything_in_a_plan_can_be_explained(snapshot: Snapshot, wanted: tuple[Pod, ...]) -> None:
    demand, options = Demand.each(wanted), Options(rounds=0)
    plan = Plan(snapshot, demand, solve(snapshot, demand, options), options)
    for pod in wanted:
        found = explain_pod(plan, pod)
        place = plan.solution.placements.get(pod.metadata.key)
        assert (found.place.name if found.place else None) == place
        assert bool(found.reasons) == (place is None)
        assert place not in {name for each in found.other_nodes for name in each.nodes}
    for name in (*plan.claims, *(view.name for view in snapshot.nodes if not view.is_deleting)):
        assert explain_node(plan, name).place is not None
