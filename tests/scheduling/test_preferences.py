"""Preferences about other pods: kept while something can keep them, given up in their order, and what they cost."""

from dataclasses import replace
from typing import Any

import msgspec

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.nodepool import NodePool
from karpenter.scheduling import Demand, Options, Policy, solve
from karpenter.scheduling.pricing import prices_of_preferences
from tests.builders import a_node_view, a_pod, a_snapshot
from tests.scheduling.toys import machines, on_demand, pods, solved, toys

WEB = {"app": "web"}
IGNORE = Options(Policy(preferences="Ignore"))
HOST, ZONE = labels.HOSTNAME, labels.ZONE


def term(key: str, selector: dict[str, str] = WEB) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": selector}}


def preferred(side: str, *weighted: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    entries = [{"weight": weight, "podAffinityTerm": entry} for weight, entry in weighted]
    return {side: {"preferredDuringSchedulingIgnoredDuringExecution": entries}}


def apart(*weighted: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    return preferred("podAntiAffinity", *weighted)


def spread(key: str, when: str = "ScheduleAnyway") -> dict[str, Any]:
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": {"matchLabels": WEB}}


class Journal:
    """A reporter that remembers what was given up."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, int]] = []

    def placed(self, pods, place) -> None:
        pass

    def rejected(self, refused) -> None:
        pass

    def relaxed(self, pods, preference: str) -> None:
        self.entries.append((preference, len(pods)))

    def progress(self, phase, done, total) -> None:
        pass


def given_up(wanted: list[Pod], **world: Any) -> list[tuple[str, int]]:
    """Return the preferences given up while solving, in order, each with the number of pods."""
    journal = Journal()
    world = {"pools": [on_demand()], "types": toys(), **world}
    solve(a_snapshot(**world), Demand.each(wanted), reporter=journal)
    return journal.entries


# --- cases ------------------------------------------------------------------------------------------------------------


def test_a_soft_spread_keeps_nodes_apart_only_under_respect() -> None:
    """PREFER (a), as far as one solve goes: four pods that would have to move to a node with four of their kind."""
    there = pods(4, name="there", cpu="500m", labels=WEB, node="n2", spread=[spread(HOST)])
    node = a_node_view("n2", cpu="4", memory="8Gi", pods=there)
    moved = pods(4, name="moved", cpu="500m", memory="512Mi", labels=WEB, spread=[spread(HOST)])
    assert machines(solved(moved, nodes=[node], options=IGNORE)) == []
    assert len(machines(solved(moved, nodes=[node]))) == 4


def test_ten_pods_that_would_rather_be_apart() -> None:
    """PREFER (b)."""
    wanted = pods(10, cpu="250m", memory="256Mi", labels=WEB, affinity=apart((1, term(HOST))))
    ignored = solved(wanted, options=IGNORE)
    assert len(ignored.new_claims) <= 3
    assert ignored.price <= 0.16
    respected = solved(wanted)
    assert machines(respected) == ["c.1"] * 10
    prices = prices_of_preferences(a_snapshot(pools=[on_demand()], types=toys()), Demand.each(wanted), Options())
    assert (round(prices.respected.price, 2), round(prices.ignored.price, 2)) == (0.40, 0.12)


def test_a_hard_and_a_soft_spread_together() -> None:
    """PREFER (d)."""
    wanted = pods(100, cpu="100m", memory="64Mi", labels=WEB, spread=[spread(ZONE, "DoNotSchedule"), spread(HOST)])
    solution = solved(wanted, options=IGNORE)
    assert len(solution.new_claims) <= 9
    count = dict.fromkeys("abc", 0)
    for plan in solution.new_claims:
        count[plan.zone] += len(plan.pods)
    assert max(count.values()) - min(count.values()) <= 1


# --- order ------------------------------------------------------------------------------------------------------------


def test_company_falls_before_distance_and_distance_before_labels_whatever_the_weights() -> None:
    """TV-71, S-25."""
    label = {"weight": 10, "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["x"]}]}}
    wish = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [label]},
        **preferred("podAffinity", (1, term(ZONE, {"app": "none"}))),
        **apart((50, term(ZONE, {"app": "db"}))),
    }
    everywhere = [
        a_node_view(zone, zone=zone, cpu="1", pods=[a_pod(f"db-{zone}", labels={"app": "db"}, node=zone)])
        for zone in "abc"
    ]
    assert [words for words, _ in given_up([a_pod(affinity=wish)], nodes=everywhere)] == [
        f"preferred pod affinity over {ZONE}",
        f"preferred pod anti-affinity over {ZONE}",
        f"preferred node affinity {ZONE} In [x]",
    ]


def test_only_copies_that_find_no_place_give_a_preference_up() -> None:
    wanted = pods(5, labels=WEB, affinity=apart((1, term(ZONE))))
    assert given_up(wanted) == [(f"preferred pod anti-affinity over {ZONE}", 2)]
    assert solved(wanted).unschedulable == ()


def test_the_heavier_distance_falls_first_and_the_other_stays() -> None:
    wish = apart((10, term(ZONE)), (1, term(HOST)))
    wanted = pods(6, cpu="100m", memory="64Mi", labels=WEB, affinity=wish)
    assert given_up(wanted) == [(f"preferred pod anti-affinity over {ZONE}", 3)]
    assert len(solved(wanted).new_claims) == 6


def test_preferred_company_is_kept_where_there_is_room() -> None:
    db = a_node_view("n1", zone="b", cpu="1", pods=[a_pod("db", labels={"app": "db"}, node="n1")])
    wish = preferred("podAffinity", (1, term(ZONE, {"app": "db"})))
    (plan,) = solved([a_pod(affinity=wish)], nodes=[db]).new_claims
    assert plan.zone == "b"


def test_a_preference_of_others_keeps_nobody_out() -> None:
    shy = pods(3, name="shy", cpu="100m", labels={"app": "shy"}, affinity=apart((1, term(ZONE))))
    assert solved([*shy, a_pod("web", labels=WEB)]).unschedulable == ()


def test_soft_rules_are_not_looked_at_when_the_policy_says_ignore() -> None:
    """V49, S-27."""
    wish = apart((1, term(HOST)))
    assert (
        len(solved(pods(4, cpu="100m", labels=WEB, affinity=wish, spread=[spread(ZONE)]), options=IGNORE).new_claims)
        == 1
    )


# --- pools ------------------------------------------------------------------------------------------------------------


def pool_says(policy: str, **fields: Any) -> NodePool:
    """Return a pool with a preference policy of its own."""
    pool = on_demand(**fields)
    annotated = msgspec.structs.replace(pool.metadata, annotations={labels.PREFERENCE_POLICY: policy})
    return replace(pool, metadata=annotated)


def test_a_pool_may_have_a_policy_of_its_own() -> None:
    wanted = pods(4, cpu="100m", memory="64Mi", labels=WEB, affinity=apart((1, term(HOST))))
    assert len(solved(wanted, pools=[pool_says("Ignore")]).new_claims) == 1
    assert len(solved(wanted, pools=[pool_says("Respect")], options=IGNORE).new_claims) == 4
    assert len(solved(wanted, pools=[pool_says("nonsense")]).new_claims) == 4


def test_pools_that_cannot_serve_a_pod_have_no_say_in_its_preferences() -> None:
    wanted = pods(4, cpu="100m", memory="64Mi", labels=WEB, affinity=apart((1, term(HOST))))
    tainted = pool_says("Respect", name="tainted", taints=["dedicated=x:NoSchedule"])
    assert len(solved(wanted, pools=[pool_says("Ignore"), tainted]).new_claims) == 1


# --- prices -----------------------------------------------------------------------------------------------------------


def test_every_kept_preference_has_its_price() -> None:
    """PREFER (a): "kept 0.16 $/h to honour"."""
    soft = pods(
        4, cpu="1", memory="1Gi", labels=WEB, spread=[spread(HOST)], affinity=apart((1, term(ZONE, {"app": "x"})))
    )
    prices = prices_of_preferences(
        a_snapshot(pools=[on_demand()], types=toys("c.4", "c.8")), Demand.each(soft), Options()
    )
    assert [(entry.words, entry.pods, round(entry.price, 2)) for entry in prices.preferences] == [
        (f"preferred topology spread over {HOST}", 4, 0.48),
        (f"preferred pod anti-affinity over {ZONE}", 4, 0.0),
    ]


def test_a_preference_that_nothing_could_keep_costs_nothing() -> None:
    label = {"weight": 1, "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["x"]}]}}
    wish = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [label]}}
    snapshot = a_snapshot(pools=[on_demand()], types=toys())
    (found,) = prices_of_preferences(snapshot, Demand.each([a_pod(affinity=wish)]), Options()).preferences
    assert (found.pods, found.given_up, found.price) == (1, 1, 0.0)
