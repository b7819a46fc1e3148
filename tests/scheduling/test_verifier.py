"""The verifier itself: it finds every planted breach and has nothing against sound plans."""

import pytest

from karpenter.model import core, labels
from karpenter.model.core import Pod
from karpenter.model.meta import ObjectMeta
from karpenter.scheduling import Demand, NodeView, Snapshot, Solution, Volumes
from tests.builders import a_daemon, a_node_view, a_pod, a_snapshot
from tests.scheduling.stores import a_csi_node, a_storage_class, a_volume, a_volume_claim, using, volumes_of
from tests.scheduling.verifier import breaches

WEB = {"app": "web"}
SELECTS_WEB = {"matchLabels": WEB}
CROWD = "example.com/crowd"


def verdict(nodes: list[NodeView], places: dict[str, list[Pod]], **world) -> list[str]:
    """Judge a plan that puts pods on existing nodes."""
    snapshot: Snapshot = a_snapshot(nodes=nodes, **world)
    demand = Demand.each(pod for pods in places.values() for pod in pods)
    where = {pod.metadata.key: name for name, pods in places.items() for pod in pods}
    return breaches(snapshot, demand, Solution(placements=where))


def zones(*names: str, **fields) -> list[NodeView]:
    """Return a node of eight cores in each zone, named like it."""
    return [a_node_view(name, zone=name, cpu="8", memory="64Gi", **fields) for name in names]


def web(count: int, *, name: str = "web", **fields) -> list[Pod]:
    return [a_pod(f"{name}-{at}", cpu="100m", labels=WEB, **fields) for at in range(count)]


def spread(key: str = labels.ZONE, *, skew: int = 1, selector=SELECTS_WEB, **more) -> dict:
    when = {"whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {"maxSkew": skew, "topologyKey": key, **when, **more}


def term(key: str = labels.ZONE, selector=SELECTS_WEB, **more) -> dict:
    return {"topologyKey": key, "labelSelector": selector, **more}


def near(*terms: dict) -> dict:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def apart(*terms: dict) -> dict:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


# --- spread -----------------------------------------------------------------------------------------------------------


def test_an_uneven_spread_is_found() -> None:
    pods = web(3, spread=[spread()])
    assert len(verdict(zones("a", "b"), {"a": pods})) == 3
    assert verdict(zones("a", "b"), {"a": pods[:2], "b": pods[2:]}) == []


def test_pods_that_a_spread_only_counts_break_it_too() -> None:
    owner, others = web(1, spread=[spread()]), web(2, name="plain")
    assert len(verdict(zones("a", "b"), {"a": [*owner, *others]})) == 1
    assert verdict(zones("a", "b"), {"a": [*owner], "b": others}) == []


def test_bound_pods_count_and_terminating_ones_do_not() -> None:
    pods = web(1, spread=[spread()])
    staying = zones("a", pods=web(2, name="old", node="a")) + zones("b")
    leaving = zones("a", pods=web(2, name="old", node="a", deleted="2023-11-14T22:10:00Z")) + zones("b")
    assert len(verdict(staying, {"a": pods})) == 1
    assert verdict(leaving, {"a": pods}) == []


def test_nodes_that_the_pod_may_not_use_count_only_when_the_policy_says_so() -> None:
    pods = web(2, spread=[spread()], node_selector={labels.ZONE: "a"})
    everywhere = web(2, spread=[spread(nodeAffinityPolicy="Ignore")], node_selector={labels.ZONE: "a"})
    assert verdict(zones("a", "b"), {"a": pods}) == []
    assert len(verdict(zones("a", "b"), {"a": everywhere})) == 2


def test_tainted_nodes_count_unless_the_policy_honours_taints() -> None:
    nodes = [*zones("a"), *zones("b", taints=["dedicated=x:NoSchedule"])]
    assert len(verdict(nodes, {"a": web(2, spread=[spread()])})) == 2
    assert verdict(nodes, {"a": web(2, spread=[spread(nodeTaintsPolicy="Honor")])}) == []


def test_too_few_domains_make_the_least_count_zero() -> None:
    pods = web(4, spread=[spread(minDomains=3)])
    assert len(verdict(zones("a", "b"), {"a": pods[:2], "b": pods[2:]})) == 4
    assert verdict(zones("a", "b"), {"a": pods[:1], "b": pods[1:2]}) == []


def test_a_node_without_one_of_the_keys_counts_for_none_of_them() -> None:
    both = [spread(skew=1), spread(CROWD, skew=5)]
    nodes = [*zones("a", labels={CROWD: "1"}), *zones("b")]
    assert verdict(nodes, {"a": web(2, spread=both)}) == []
    assert "may lack a label" in verdict(nodes, {"b": web(1, spread=both)})[0]


def test_match_label_keys_narrow_what_is_counted() -> None:
    rule = spread(matchLabelKeys=["revision"])
    old = [a_pod(f"old-{at}", cpu="100m", labels={**WEB, "revision": "1"}, node="a") for at in range(2)]
    new = [a_pod("new", cpu="100m", labels={**WEB, "revision": "2"}, spread=[rule])]
    assert verdict([*zones("a", pods=old), *zones("b")], {"a": new}) == []


# --- affinity and anti-affinity ---------------------------------------------------------------------------------------


def test_two_that_keep_apart_are_found_together_whoever_says_so() -> None:
    pods = web(2, affinity=apart(term()))
    assert len(verdict(zones("a", "b"), {"a": pods})) == 2
    assert verdict(zones("a", "b"), {"a": pods[:1], "b": pods[1:]}) == []
    loner = web(1, name="loner", affinity=apart(term(selector={"matchLabels": {"app": "db"}})), node="a")
    assert len(verdict(zones("a", pods=loner), {"a": [a_pod("db", labels={"app": "db"})]})) == 1


def test_namespaces_decide_whom_a_term_means() -> None:
    other = [a_pod("other", cpu="100m", labels=WEB, namespace="shop", node="a")]
    nodes = [*zones("a", pods=other)]
    assert verdict(nodes, {"a": web(1, affinity=apart(term()))}) == []
    assert len(verdict(nodes, {"a": web(1, affinity=apart(term(namespaces=["shop"])))})) == 1
    assert len(verdict(nodes, {"a": web(1, affinity=apart(term(namespaceSelector={})))})) == 1
    chosen = {"matchLabels": {"team": "x"}}
    shop = {"shop": core.Namespace(ObjectMeta(name="shop", labels={"team": "x"}))}
    assert len(verdict(nodes, {"a": web(1, affinity=apart(term(namespaceSelector=chosen)))}, namespaces=shop)) == 1


def test_a_pod_without_its_company_is_found() -> None:
    db = [a_pod("db", cpu="100m", labels={"app": "db"}, node="b")]
    nodes = [*zones("a"), *zones("b", pods=db)]
    wants_db = web(1, affinity=near(term(selector={"matchLabels": {"app": "db"}})))
    assert len(verdict(nodes, {"a": wants_db})) == 1
    assert verdict(nodes, {"b": wants_db}) == []


def test_company_that_is_going_is_none() -> None:
    db = [a_pod("db", cpu="100m", labels={"app": "db"}, node="a", deleted="2023-11-14T22:10:00Z")]
    wants_db = web(1, affinity=near(term(selector={"matchLabels": {"app": "db"}})))
    assert len(verdict(zones("a", pods=db), {"a": wants_db})) == 1


def test_the_first_of_its_kind_may_be_alone_but_not_while_others_are_elsewhere() -> None:
    pods = web(2, affinity=near(term()))
    assert verdict(zones("a", "b"), {"a": pods[:1]}) == []
    assert verdict(zones("a", "b"), {"a": pods}) == []
    assert len(verdict(zones("a", "b"), {"a": pods[:1], "b": pods[1:]})) == 2


def test_one_companion_has_to_be_meant_by_all_terms() -> None:
    half = [a_pod("half", cpu="100m", labels={"app": "db"}, node="a"), a_pod("other", labels={"tier": "x"}, node="a")]
    both = near(term(selector={"matchLabels": {"app": "db"}}), term(selector={"matchLabels": {"tier": "x"}}))
    assert len(verdict(zones("a", pods=half), {"a": web(1, affinity=both)})) == 1


def test_pods_that_wait_for_each_other_are_a_deadlock() -> None:
    one = a_pod("one", cpu="100m", labels={"app": "one"}, affinity=near(term(selector={"matchLabels": {"app": "two"}})))
    two = a_pod("two", cpu="100m", labels={"app": "two"}, affinity=near(term(selector={"matchLabels": {"app": "one"}})))
    assert len(verdict(zones("a"), {"a": [one, two]})) == 2


# --- ports ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other, clashes",
    [
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 81}, False),
    ],
)
def test_host_ports_clash_by_address_port_and_protocol(other: dict, clashes: bool) -> None:
    """TV-82."""
    pods = [a_pod("one", ports=[{"hostPort": 80}]), a_pod("two", ports=[other])]
    assert bool(verdict(zones("a"), {"a": pods})) is clashes


def test_the_port_of_a_daemon_is_taken_even_before_it_runs() -> None:
    daemons = [a_daemon(ports=[{"hostPort": 9100}])]
    assert len(verdict(zones("a"), {"a": [a_pod(ports=[{"hostPort": 9100}])]}, daemons=daemons)) == 1


# --- volumes ----------------------------------------------------------------------------------------------------------


def test_a_pod_away_from_its_volume_is_found() -> None:
    volumes = volumes_of(a_volume_claim(volume="pv"), a_volume(zone="b"))
    assert len(verdict(zones("a", "b"), {"a": [using("pod", "data")]}, volumes=volumes)) == 1
    assert verdict(zones("a", "b"), {"b": [using("pod", "data")]}, volumes=volumes) == []


@pytest.mark.parametrize(
    "volumes",
    [
        volumes_of(),
        volumes_of(a_volume_claim(volume="gone")),
        volumes_of(a_volume_claim(storage_class=None)),
        volumes_of(a_volume_claim(storage_class="none-such")),
        volumes_of(a_volume_claim(phase="Lost", volume="pv"), a_volume(zone="a")),
        volumes_of(a_volume_claim(), a_storage_class(mode="Immediate")),
        volumes_of(a_volume_claim(), a_storage_class(topologies=[{labels.ZONE: ["b"]}])),
    ],
)
def test_claims_that_cannot_be_used_there_are_found(volumes: Volumes) -> None:
    assert len(verdict(zones("a"), {"a": [using("pod", "data")]}, volumes=volumes)) == 1


def test_more_volumes_than_a_node_attaches_are_found_and_shared_ones_count_once() -> None:
    nodes = zones("a", csi=a_csi_node("a", 2))
    volumes = volumes_of(*map(a_volume_claim, ("one", "two", "three")))
    sharing = [using("p", "one", "two"), using("q", "one")]
    assert verdict(nodes, {"a": sharing}, volumes=volumes) == []
    assert len(verdict(nodes, {"a": [*sharing, using("r", "three")]}, volumes=volumes)) == 1
