"""Pool limits hold exactly within one batch, whatever the cloud picks of what a claim allows."""

from dataclasses import replace
from random import Random

import pytest

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.units import PoolKey
from karpenter.scheduling import Options, PoolView, Reason
from tests.builders import a_pod, an_instance_type, parse_resources
from tests.scheduling.toys import FREE, machines, on_demand, pods, solved, toys, unplaced, why


def vcpus(*sizes: int) -> list:
    return [an_instance_type(f"t.{size}", cpu=str(size), memory=f"{2 * size}Gi", price=0.04 * size) for size in sizes]


def limited(usage: dict[str, str], **limits: str) -> PoolView:
    return PoolView(on_demand(limits=limits), tuple(vcpus(4, 8, 16, 32)), usage=parse_resources(usage))


def test_types_that_are_larger_than_what_the_limit_leaves_are_dropped() -> None:
    """TV-83: of 4, 8, 16 and 32 vCPU, 10 left allow 4 and 8."""
    (plan,) = solved([a_pod()], pools=[limited({"cpu": "990"}, cpu="1000")], options=FREE).new_claims
    assert plan.instance_types == ("t.4", "t.8")


def test_when_every_type_exceeds_the_limit_the_reason_says_so() -> None:
    """TV-83, SCH-26."""
    (refused,) = solved([a_pod()], pools=[limited({"cpu": "998"}, cpu="1000")]).unschedulable
    assert refused.reasons == (
        Reason(
            PoolKey("Provisioner", "default"),
            "pool",
            "LimitExceeded",
            "limit of 1000 cpu leaves no room: 998 in use or planned, and the smallest type that would do, t.4, adds 4",
        ),
    )


def test_usage_equal_to_the_limit_leaves_nothing() -> None:
    """SCH-28."""
    assert why(solved([a_pod()], pools=[limited({"cpu": "1000"}, cpu="1000")]))[0][0] == "LimitExceeded"


def test_a_machine_may_use_the_limit_up_exactly() -> None:
    assert machines(solved([a_pod()], pools=[limited({"cpu": "996"}, cpu="1000")])) == ["t.4"]


def test_every_machine_of_the_batch_counts() -> None:
    solution = solved(pods(5, cpu="3"), pools=[on_demand(limits={"cpu": "12"})], types=toys("c.4"))
    assert (machines(solution), len(solution.unschedulable)) == (["c.4"] * 3, 2)


def test_the_number_of_nodes_is_a_limit_within_the_batch() -> None:
    """V47, upstream issues 2657 and 2915: two claims would be created there."""
    solution = solved(pods(2, cpu="3"), pools=[on_demand(limits={"nodes": "1"})], types=toys("c.4"))
    assert (machines(solution), len(solution.unschedulable)) == (["c.4"], 1)


def test_v46_machines_are_chosen_so_that_both_pods_are_served_within_the_limit_at_once() -> None:
    """Upstream counts the largest type that the first claim could become, 8, and lets the second pod wait."""
    term = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    wanted = pods(2, cpu="3", labels={"app": "x"}, affinity=apart)
    plans = solved(wanted, pools=[on_demand(limits={"cpu": "8"})], types=toys("c.4", "c.8")).new_claims
    assert [plan.instance_types for plan in plans] == [("c.4",), ("c.4",)]


def test_memory_is_a_limit_like_any_other() -> None:
    solution = solved(pods(3, cpu="3"), pools=[on_demand(limits={"memory": "16Gi"})], types=toys("c.4"))
    assert (machines(solution), len(solution.unschedulable)) == (["c.4"] * 2, 1)


def test_what_one_pool_may_not_launch_another_does() -> None:
    first = on_demand("first", limits={"cpu": "4"}, weight=10)
    second = on_demand("second")
    solution = solved(pods(2, cpu="3"), pools=[first, second], types=toys("c.4"))
    assert sorted(plan.pool.name for plan in solution.new_claims) == ["first", "second"]


def test_as_many_pods_as_possible_are_placed_under_a_limit_on_nodes() -> None:
    """Cheapest first would fill the two nodes with c.1 and leave pods pending."""
    solution = solved(pods(8), pools=[on_demand(limits={"nodes": "2"})])
    assert solution.unschedulable == ()


def test_as_many_pods_as_possible_are_placed_under_a_limit_on_cpu() -> None:
    """Pods are short of memory here: c.2 and m.2 take as much of the limit, but an r.2 holds four times the pods."""
    solution = solved(pods(8, cpu="100m", memory="3500Mi"), pools=[on_demand(limits={"cpu": "4"})])
    assert solution.unschedulable == ()


def test_claims_list_larger_types_only_as_far_as_the_limit_bears_it_for_all_of_them() -> None:
    """The verifier adds up the largest types of all claims."""
    solution = solved(
        pods(4, cpu="3500m"), pools=[on_demand(limits={"cpu": "24"}, requirements={labels.INSTANCE_CATEGORY: ["c"]})]
    )
    assert solution.unschedulable == ()


def test_when_limits_leave_somebody_pending_it_is_the_least_important() -> None:
    wanted = [*pods(2, cpu="3", name="low", priority=1), *pods(2, cpu="2500m", name="high", priority=9)]
    solution = solved(wanted, pools=[on_demand(limits={"cpu": "8"})], types=toys("c.4"))
    assert {entry.pod.metadata.name for entry in solution.unschedulable} == {"low-0", "low-1"}


def test_a_solve_launches_no_more_nodes_than_it_may_over_all_pools() -> None:
    """Eight pods on two nodes: larger machines than the cheapest per pod, and one limit for both pools."""
    pools = [on_demand("one"), on_demand("two", weight=5)]
    solution = solved(pods(8), pools=pools, options=replace(FREE, max_nodes=2))
    assert len(solution.new_claims) <= 2
    assert solution.unschedulable == ()


def test_what_the_most_nodes_cannot_hold_stays_pending_and_says_why() -> None:
    solution = solved(pods(3, cpu="3"), types=toys("c.4"), options=replace(FREE, max_nodes=2))
    assert (machines(solution), why(solution)) == (
        ["c.4"] * 2,
        [("MaxNodesReached", "as many new nodes are planned as may be launched at once")],
    )


def test_no_node_at_all_may_be_asked_for() -> None:
    assert solved(pods(2), options=replace(FREE, max_nodes=0)).new_claims == ()


@pytest.mark.parametrize("seed", [18, 45, 52])
def test_more_effort_never_places_fewer_pods(seed: int) -> None:
    rng = Random(seed)
    batch = [pod for at in range(rng.randint(3, 6)) for pod in _kind(rng, at)]
    pool = on_demand(limits={"cpu": rng.choice(("16", "24", "32"))})
    first, more = (solved(batch, pools=[pool], options=Options(rounds=rounds)) for rounds in (0, 20))
    assert len(unplaced(more)) <= len(unplaced(first))


def _kind(rng: Random, at: int) -> list[Pod]:
    """Draw pods of one make, some of them spread over zones."""
    labels = {"app": f"kind{at}"}
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    return pods(
        rng.randint(3, 14),
        name=f"kind{at}",
        cpu=rng.choice(("100m", "500m", "700m", "1", "1500m", "3")),
        memory=rng.choice(("128Mi", "1Gi", "3Gi", "6Gi")),
        labels=labels,
        spread=[spread] if rng.random() < 0.4 else [],
    )
