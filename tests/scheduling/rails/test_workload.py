"""The share of one workload's replicas that one node may hold."""

from collections import Counter

from karpenter.model.core import Pod
from karpenter.scheduling import Options, Policy
from tests.builders import a_node_view, a_pod, an_owner
from tests.scheduling.toys import on_demand, pods, solved, toys

HASH = {"pod-template-hash": "7d4"}


def replicas(count: int, name: str = "web", hash_: str = "7d4") -> list[Pod]:
    owner = an_owner("ReplicaSet", name)
    return pods(count, cpu="1", name=name, labels={"pod-template-hash": hash_}, owner=owner)


def largest(solution, name: str = "web") -> int:
    """Return the most pods of a workload on one new machine."""
    return max(sum(pod.metadata.name.startswith(name) for pod in plan.pods) for plan in solution.new_claims)


def options(share: float, **policy) -> Options:
    return Options(Policy(workload_share=share, **policy))


def test_one_node_holds_no_more_than_the_share_of_a_workload() -> None:
    assert largest(solved(replicas(8), types=toys("c.8"), options=options(0.25))) == 2


def test_by_default_one_node_may_hold_them_all() -> None:
    assert largest(solved(replicas(8), types=toys("c.8"))) == 8


def test_one_replica_is_always_allowed() -> None:
    solution = solved(replicas(3), types=toys("c.8"), options=options(0.1))
    assert (largest(solution), len(solution.new_claims)) == (1, 3)


def test_workloads_share_machines_with_each_other() -> None:
    both = [*replicas(4), *replicas(4, "db", "9c1")]
    solution = solved(both, types=toys("c.8"), options=options(0.5))
    assert (largest(solution), largest(solution, "db"), len(solution.new_claims)) == (2, 2, 2)


def test_replicas_that_run_count() -> None:
    pool = on_demand()
    running = [a_pod(f"web-old-{at}", node="n", labels=HASH, owner=an_owner("ReplicaSet", "web")) for at in range(2)]
    node = a_node_view("n", pool=pool, cpu="8", memory="32Gi", pods=running)
    solution = solved(replicas(2), types=toys("c.8"), nodes=[node], pools=[pool], options=options(0.5))
    assert Counter(solution.placements.values()) == {"default-1": 2}


def test_a_limit_on_nodes_goes_before_the_share() -> None:
    pool = on_demand(limits={"nodes": "1"})
    assert largest(solved(replicas(8), types=toys("c.8"), pools=[pool], options=options(0.25))) == 8


def test_rails_off_turns_the_share_off() -> None:
    assert largest(solved(replicas(8), types=toys("c.8"), options=options(0.25, rails=False))) == 8
