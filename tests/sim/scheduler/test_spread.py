"""Pod topology spread, hard and soft."""

from collections import Counter

from karpenter.model.core import Node, Pod
from tests.builders import a_node, a_pod
from tests.sim.scheduler.worlds import World, WrittenSurroundings

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def rule(key: str = ZONE, *, skew: int = 1, soft: bool = False, **more: object) -> dict:
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway" if soft else "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }


def web(name: str, *rules: dict, node: str = "", **more: object) -> Pod:
    return a_pod(name, cpu="100m", memory="64Mi", labels={"app": "web"}, spread=rules, node=node, **more)


def three_zones() -> list[Node]:
    return [a_node("n1", zone="a"), a_node("n2", zone="b"), a_node("n3", zone="c")]


def test_pods_are_spread_evenly_over_zones() -> None:
    placed = World(*three_zones()).fill(web(f"p{number}", rule()) for number in range(9))
    assert Counter(placed.values()) == {"n1": 3, "n2": 3, "n3": 3}


def test_a_zone_that_is_full_stops_the_others_one_skew_later() -> None:
    nodes = [a_node("n1", zone="a", pods=1), a_node("n2", zone="b")]
    world = World(*nodes)
    placed = world.fill(web(f"p{number}", rule()) for number in range(5))
    assert Counter(placed.values()) == {"n1": 1, "n2": 2, None: 2}
    assert world.why_not(web("late", rule())) == (
        "0/2 nodes are available: 1 Too many pods, 1 node(s) didn't match pod topology spread constraints."
    )


def test_a_node_without_the_label_takes_no_such_pod() -> None:
    assert World(a_node("n1")).why_not(web("p", rule())) == (
        "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label)."
    )


def test_with_fewer_domains_than_wanted_each_takes_only_the_skew() -> None:
    world = World(*three_zones()[:2])
    placed = world.fill(web(f"p{number}", rule(minDomains=3)) for number in range(4))
    assert Counter(placed.values()) == {"n1": 1, "n2": 1, None: 2}


def test_domains_that_node_affinity_rules_out_do_not_count() -> None:
    only_ab = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a", "b"]}]}]
            }
        }
    }
    pods = [web(f"p{number}", rule(), affinity=only_ab) for number in range(4)]
    assert Counter(World(*three_zones()).fill(pods).values()) == {"n1": 2, "n2": 2}
    ignoring = [web(f"p{number}", rule(nodeAffinityPolicy="Ignore"), affinity=only_ab) for number in range(4)]
    assert Counter(World(*three_zones()).fill(ignoring).values()) == {"n1": 1, "n2": 1, None: 2}


def test_tainted_domains_count_unless_taints_are_honoured() -> None:
    nodes = [a_node("n1", zone="a"), a_node("n2", zone="b", taints=["x:NoSchedule"])]
    counting = [web(f"p{number}", rule()) for number in range(3)]
    assert Counter(World(*nodes).fill(counting).values()) == {"n1": 1, None: 2}
    honouring = [web(f"p{number}", rule(nodeTaintsPolicy="Honor")) for number in range(3)]
    assert Counter(World(*nodes).fill(honouring).values()) == {"n1": 3}


def test_match_label_keys_count_only_pods_of_the_same_revision() -> None:
    old = [a_pod(f"old{n}", labels={"app": "web", "rev": "1"}, cpu="1m", node="n1") for n in range(3)]
    world = World(*three_zones()[:2], bound=old)
    pods = [
        a_pod(f"p{n}", labels={"app": "web", "rev": "2"}, cpu="1m", spread=[rule(matchLabelKeys=["rev"])])
        for n in range(4)
    ]
    assert Counter(world.fill(pods).values()) == {"n1": 2, "n2": 2}


def test_pods_of_other_namespaces_and_terminating_ones_do_not_count() -> None:
    others = [
        web("far", node="n1", namespace="other"),
        web("leaving", node="n1", deleted="2023-11-14T22:13:20Z"),
    ]
    world = World(*three_zones()[:2], bound=others)
    assert Counter(world.fill([web("p0", rule()), web("p1", rule())]).values()) == {"n1": 1, "n2": 1}


def test_all_rules_must_hold() -> None:
    nodes = [a_node("n1", zone="a"), a_node("n2", zone="a"), a_node("n3", zone="b")]
    pods = [web(f"p{number}", rule(), rule(HOST)) for number in range(4)]
    placed = World(*nodes).fill(pods)
    assert Counter(placed.values()) == {"n1": 1, "n2": 1, "n3": 2}


def test_soft_rules_prefer_emptier_domains_but_place_anyway() -> None:
    nodes = [a_node("n1", zone="a", pods=1), a_node("n2", zone="b")]
    placed = World(*nodes).fill(web(f"p{number}", rule(soft=True)) for number in range(4))
    assert Counter(placed.values()) == {"n1": 1, "n2": 3}


def test_soft_rules_outweigh_an_emptier_node() -> None:
    bound = [web("a", node="n1"), a_pod("big", cpu="2", memory="8Gi", node="n2")]
    world = World(*three_zones()[:2], bound=bound)
    assert world.node_for(web("b", rule(soft=True))) == "n2"


def test_pods_of_a_service_without_rules_are_spread_by_default() -> None:
    service = WrittenSurroundings(services=[{"app": "web"}])
    bound = [*(web(f"a{number}", node="n1") for number in range(4)), a_pod("big", cpu="1", memory="4Gi", node="n2")]
    world = World(*three_zones()[:2], bound=bound, surroundings=service)
    assert world.node_for(web("b")) == "n2"
    alone = World(*three_zones()[:2], bound=bound)
    assert alone.node_for(web("b")) == "n1"
