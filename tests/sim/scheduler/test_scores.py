"""Points of the default profile."""

import pytest

from karpenter.model.core import Pod
from karpenter.sim.scheduler.nodeinfo import NodeInfo
from karpenter.sim.scheduler.podfacts import facts_of
from karpenter.sim.scheduler.scores import balanced_allocation, least_allocated, scaled, stretched
from tests.builders import a_node, a_pod
from tests.sim.scheduler.worlds import World


def an_empty_node(cpu: int, memory: int) -> NodeInfo:
    return NodeInfo("n1", allocatable={"cpu": cpu, "memory": memory, "pods": 110}, is_known=True)


def test_free_shares_of_cpu_and_memory_are_averaged() -> None:
    # 1 of 4 cores and 4 of 8 GiB taken: 75 and 50 points.
    assert least_allocated(facts_of(a_pod(cpu="1", memory="4Gi")), an_empty_node(4000, 8 * 2**30)) == 62


def test_a_pod_without_requests_is_scored_as_if_it_asked_for_a_little() -> None:
    facts = facts_of(a_pod(cpu=None, memory=None))
    assert (facts.scored_cpu, facts.scored_memory) == (100, 200 * 2**20)
    assert "cpu" not in facts.requests


@pytest.mark.parametrize(
    "cpu, memory, points",
    [("1", "2Gi", 75), ("2", "2Gi", 68), ("4", "0", 50)],
    ids=["as before", "a bit worse", "as bad as can be"],
)
def test_balance_is_what_the_pod_changes_in_it(cpu: str, memory: str, points: int) -> None:
    assert balanced_allocation(facts_of(a_pod(cpu=cpu, memory=memory)), an_empty_node(4000, 8 * 2**30)) == points


def test_a_pod_that_evens_out_a_node_is_worth_more() -> None:
    lopsided = an_empty_node(4000, 8 * 2**30)
    lopsided.requested = {"cpu": 2000}
    assert balanced_allocation(facts_of(a_pod(cpu="0", memory="4Gi")), lopsided) == 87


def test_balance_says_nothing_about_pods_that_request_nothing() -> None:
    assert balanced_allocation(facts_of(a_pod(cpu=None, memory=None)), an_empty_node(4000, 8 * 2**30)) == 0


def test_scaling_goes_by_the_largest_score() -> None:
    assert scaled([0, 5, 10]) == [0, 50, 100]
    assert scaled([0, 5, 10], fewer_is_better=True) == [100, 50, 0]
    assert scaled([0, 0]) == [0, 0]
    assert scaled([0, 0], fewer_is_better=True) == [100, 100]


def test_stretching_goes_from_the_least_to_the_most() -> None:
    assert stretched([-10, 0, 10]) == [0, 50, 100]
    assert stretched([-32, -31, -30]) == [0, 50, 100]
    assert stretched([5, 5]) == [0, 0]


def test_the_emptier_node_wins() -> None:
    world = World(a_node("n1"), a_node("n2"), bound=[a_pod("a", node="n1")])
    assert world.node_for(a_pod("b")) == "n2"


def test_a_discouraging_taint_outweighs_an_emptier_node() -> None:
    full = [a_pod("a", cpu="3", memory="12Gi", node="n1")]
    world = World(a_node("n1"), a_node("n2", taints=["a:PreferNoSchedule"]), bound=full)
    assert world.node_for(a_pod("b")) == "n1"


def preferring(weight: int, zone: str) -> dict:
    term = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}
    return {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "preference": term}]}
    }


def test_preferred_node_affinity_outweighs_an_emptier_node() -> None:
    world = World(a_node("n1", zone="a"), a_node("n2", zone="b"), bound=[a_pod("a", node="n1")])
    assert world.node_for(a_pod("b", affinity=preferring(1, "a"))) == "n1"


def test_equal_nodes_are_drawn_by_the_seed() -> None:
    def draws(seed: int) -> list[str | None]:
        world = World(a_node("n1"), a_node("n2"), a_node("n3"), seed=seed)
        return [world.node_for(a_pod(f"p{number}")) for number in range(20)]

    assert draws(1) == draws(1)
    assert set(draws(1)) == {"n1", "n2", "n3"}
    assert draws(1) != draws(2)


def test_a_pod_that_requests_nothing_fits_a_full_node() -> None:
    full: list[Pod] = [a_pod("a", cpu="4", memory="16Gi", node="node")]
    assert World(a_node(), bound=full).node_for(a_pod("b", cpu=None, memory=None)) == "node"
