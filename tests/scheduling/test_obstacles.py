"""How other pods keep a pod pending, said with counts by domain, the port and who holds it."""

from typing import Any

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.scheduling import Solution
from tests.builders import a_daemon, a_node_view, a_pod
from tests.scheduling.toys import on_demand, pods, solved, why

WEB = {"app": "web"}
HOST, ZONE = labels.HOSTNAME, labels.ZONE


def term(key: str, selector: dict[str, str] = WEB) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": selector}}


def required(side: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {side: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def spread(key: str = ZONE, **more: Any) -> dict[str, Any]:
    rule = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {**rule, "labelSelector": {"matchLabels": WEB}, **more}


def reason(solution: Solution) -> tuple[str, str]:
    """Return code and message of the one reason that all refused pods have."""
    found = {(reason.code, reason.message) for entry in solution.unschedulable for reason in entry.reasons}
    (only,) = found
    return only


def test_a_spread_that_cannot_be_kept_shows_the_counts_of_every_domain() -> None:
    there = a_node_view("n", zone="d", cpu="1", pods=pods(1, node="n", cpu="1"))
    wanted = pods(4, cpu="100m", labels=WEB, spread=[spread()])
    code, message = reason(solved(wanted, nodes=[there]))
    assert code == "TopologySpread"
    assert "skew of 1: a has 1, b has 1, c has 1, d has 0" in message


def test_too_few_domains_are_named() -> None:
    """TV-76, V42."""
    code, message = reason(solved(pods(4, cpu="100m", labels=WEB, spread=[spread(minDomains=4)])))
    assert code == "TopologySpread"
    assert "fewer than the 4 asked for (minDomains)" in message


def test_domains_that_the_spread_allows_but_nothing_serves_are_named() -> None:
    there = a_node_view("n", zone="d", cpu="1", pods=pods(1, node="n", cpu="1"))
    code, message = reason(solved(pods(4, cpu="100m", labels=WEB, spread=[spread()]), nodes=[there]))
    assert code == "TopologySpread"
    assert "it allows d, but nothing can take it there" in message


def test_distance_that_no_domain_leaves_shows_who_is_where() -> None:
    code, message = reason(solved(pods(4, labels=WEB, affinity=required("podAntiAffinity", term(ZONE)))))
    assert code == "PodAntiAffinity"
    assert "a has 1, b has 1, c has 1" in message


def test_pods_that_keep_it_out_are_told_from_those_it_keeps_away_from() -> None:
    loner = required("podAntiAffinity", term(ZONE))
    nodes = [a_node_view(z, zone=z, pods=[a_pod(f"l-{z}", node=z, affinity=loner)]) for z in "abc"]
    code, message = reason(solved([a_pod(labels=WEB)], nodes=nodes))
    assert code == "KeptOffByPods"
    assert "keeps it out of a, b, c" in message


def test_company_that_is_nowhere_is_said_to_be() -> None:
    code, message = reason(solved([a_pod(affinity=required("podAffinity", term(ZONE)))]))
    assert code == "PodAffinity"
    assert "there is none at all" in message


def test_company_on_full_hosts_is_said_to_be_there() -> None:
    db = a_node_view("n", cpu="1", pods=[a_pod("db", node="n", cpu="1", labels=WEB)])
    code, message = reason(solved([a_pod(affinity=required("podAffinity", term(HOST)))], nodes=[db]))
    assert code == "PodAffinity"
    assert "1 have one, none of them has room" in message


def port(number: int = 80, **more: Any) -> list[dict[str, Any]]:
    return [{"hostPort": number, **more}]


def test_a_port_and_its_holder_are_named() -> None:
    holder = a_pod("holder", node="n", ports=port())
    solution = solved([a_pod(ports=port())], pools=[], nodes=[a_node_view("n", pods=[holder])])
    assert ("HostPortTaken", "host port 80/TCP is taken by default/holder on n") in why(solution)


def test_a_daemon_s_port_on_every_new_node_is_named() -> None:
    daemon = a_daemon("exporter", namespace="kube-system", ports=port(9100, hostIP="10.0.0.1"))
    code, message = reason(solved([a_pod(ports=port(9100, hostIP="10.0.0.1"))], daemons=[daemon]))
    assert code == "HostPortTaken"
    assert "9100/TCP of 10.0.0.1 is taken on every new node by kube-system/exporter" in message


def test_limits_are_named_before_what_they_keep_from_evening_out() -> None:
    pool = on_demand(limits={"nodes": "1"})
    wanted: list[Pod] = pods(2, labels=WEB, affinity=required("podAntiAffinity", term(HOST)))
    code, _ = reason(solved(wanted, pools=[pool]))
    assert code == "LimitExceeded"
