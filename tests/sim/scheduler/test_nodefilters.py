"""Filters that look at one node alone, and their words."""

import pytest

from karpenter.model.core import ContainerPort, Pod
from tests.builders import a_container, a_node, a_pod
from tests.sim.scheduler.worlds import World


def test_a_pod_goes_where_it_fits() -> None:
    assert World(a_node("small", cpu="2"), a_node("large", cpu="8")).node_for(a_pod(cpu="4")) == "large"


def test_pods_already_there_leave_less_room() -> None:
    world = World(a_node("n1", cpu="4"), bound=[a_pod("a", cpu="3", node="n1")])
    assert world.why_not(a_pod("b", cpu="2")) == "0/1 nodes are available: 1 Insufficient cpu."


def test_every_resource_that_is_short_is_named() -> None:
    pod = a_pod(cpu="8", memory="64Gi", requests={"nvidia.com/gpu": "1"})
    assert World(a_node()).why_not(pod) == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu."
    )


def test_the_number_of_pods_is_a_resource() -> None:
    world = World(a_node("n1", pods=1), bound=[a_pod("a", cpu="100m", node="n1")])
    assert world.why_not(a_pod("b", cpu="100m")) == "0/1 nodes are available: 1 Too many pods."


def test_init_containers_sidecars_and_overhead_count() -> None:
    pod = a_pod(
        containers=[a_container(cpu="1")],
        init_containers=[a_container("sidecar", cpu="1", restart_policy="Always"), a_container("init", cpu="2500m")],
        overhead={"cpu": "100m"},
    )
    assert World(a_node(cpu="3600m")).node_for(pod) == "node"
    assert World(a_node(cpu="3500m")).node_for(pod) is None


def test_a_cordoned_node_takes_only_pods_that_tolerate_it() -> None:
    world = World(a_node(unschedulable=True))
    assert world.why_not(a_pod()) == "0/1 nodes are available: 1 node(s) were unschedulable."
    tolerant = a_pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    assert world.node_for(tolerant) == "node"


def test_the_first_untolerated_taint_is_named_with_its_value() -> None:
    world = World(a_node(taints=["a=1:NoSchedule", "b=2:NoExecute"]))
    pod = a_pod(tolerations=[{"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"}])
    assert world.why_not(pod) == "0/1 nodes are available: 1 node(s) had untolerated taint {b: 2}."


def test_a_taint_that_only_discourages_keeps_nobody_away() -> None:
    assert World(a_node(taints=["a=1:PreferNoSchedule"])).node_for(a_pod()) == "node"


def test_nodes_are_counted_per_reason_in_sorted_order() -> None:
    world = World(a_node("n1", taints=["a:NoSchedule"]), a_node("n2", taints=["a:NoSchedule"]), a_node("n3", cpu="1"))
    assert world.place(a_pod(cpu="2")).message == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: }. "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def test_a_node_selector_must_match() -> None:
    world = World(a_node("n1", zone="a"), a_node("n2", zone="b"))
    assert world.node_for(a_pod(node_selector={"topology.kubernetes.io/zone": "b"})) == "n2"
    assert world.why_not(a_pod(node_selector={"disk": "ssd"})) == (
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
    )


def required(*terms: dict) -> dict:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def expression(key: str, operator: str, *values: str) -> dict:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    "term, matches",
    [
        (expression("size", "In", "4", "8"), True),
        (expression("size", "In", "8"), False),
        (expression("size", "NotIn", "8"), True),
        (expression("other", "NotIn", "8"), True),
        (expression("size", "Exists"), True),
        (expression("other", "Exists"), False),
        (expression("other", "DoesNotExist"), True),
        (expression("size", "Gt", "3"), True),
        (expression("size", "Gt", "4"), False),
        (expression("size", "Lt", "5"), True),
        (expression("size", "Lt", "many"), False),
        (expression("other", "Lt", "5"), False),
        ({}, False),
    ],
    ids=str,
)
def test_each_operator_of_node_affinity(term: dict, matches: bool) -> None:
    world = World(a_node(labels={"size": "4"}))
    assert (world.node_for(a_pod(affinity=required(term))) == "node") is matches


def test_one_of_several_node_affinity_terms_is_enough() -> None:
    affinity = required(expression("size", "In", "1"), expression("size", "In", "4"))
    assert World(a_node(labels={"size": "4"})).node_for(a_pod(affinity=affinity)) == "node"


def test_the_node_named_by_a_field_selector_is_the_only_one() -> None:
    affinity = required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]})
    world = World(a_node("n1"), a_node("n2", cpu="1"))
    assert world.node_for(a_pod(affinity=affinity)) == "n2"
    assert world.why_not(a_pod(cpu="2", affinity=affinity)) == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def listening(name: str, *, ip: str = "", port: int = 80, protocol: str = "TCP", node: str = "") -> Pod:
    ports = [ContainerPort(container_port=port, host_port=port, host_ip=ip, protocol=protocol)]
    return a_pod(name, cpu="100m", ports=ports, node=node)


@pytest.mark.parametrize(
    "other, fits",
    [
        (listening("b"), False),
        (listening("b", ip="10.0.0.1"), False),
        (listening("b", port=81), True),
        (listening("b", protocol="UDP"), True),
    ],
    ids=["same", "one address of all", "other port", "other protocol"],
)
def test_a_host_port_is_taken_once_a_node(other: Pod, fits: bool) -> None:
    world = World(a_node("n1"), bound=[listening("a", node="n1")])
    assert (world.node_for(other) == "n1") is fits


def test_two_addresses_may_share_a_host_port() -> None:
    world = World(a_node("n1"), bound=[listening("a", ip="10.0.0.1", node="n1")])
    assert world.node_for(listening("b", ip="10.0.0.2")) == "n1"
    assert world.why_not(listening("c")) == (
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."
    )
