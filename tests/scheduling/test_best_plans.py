"""Plans for few pods under all constraints at once, against the best of all plans there are."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from random import Random
from statistics import mean

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.scheduling import ClaimPlan, Demand, PoolView, Snapshot, Solution, solve
from tests.builders import a_pod, a_pool, a_snapshot
from tests.scheduling.medleys import a_make
from tests.scheduling.missed import own_machines, with_pods
from tests.scheduling.toys import FREE, toys
from tests.scheduling.verifier import breaches

SEEDS = (0, 2, 4, 5, 7, 9, 10)
"""Instances of which all pods can be placed."""


def test_plans_cost_little_more_than_the_best_there_is_and_the_bound_no_more() -> None:
    gaps = []
    for seed in SEEDS:
        snapshot, pods = an_instance(Random(seed))
        best = best_price(snapshot, pods)
        assert best is not None
        solution = solve(snapshot, Demand.each(pods), FREE)
        assert solution.unschedulable == ()
        assert solution.lower_bound is not None
        assert solution.lower_bound <= best + 1e-9 <= solution.price + 2e-9
        gaps.append(solution.price / best - 1)
    assert mean(gaps) <= 0.05


def an_instance(rng: Random) -> tuple[Snapshot, list[Pod]]:
    """Draw three or four pods of two makes, and a pool of few types in two zones."""
    makes = [{**a_make(rng), "nominated": "", "requests": {}} for _ in range(2)]
    count = rng.randint(3, 4)
    pods = [a_pod(f"p{at}", namespace="shop", **makes[at % 2]) for at in range(count)]
    pool = a_pool(requirements={labels.CAPACITY_TYPE: ["on-demand"], labels.ZONE: ["a", "b"]})
    return a_snapshot(pools=[PoolView(pool, toys("c.2", "c.4", "m.4"))]), pods


def best_price(snapshot: Snapshot, pods: Sequence[Pod]) -> float | None:
    """Return what the cheapest sound plan for all pods costs; None when there is none."""
    demand = Demand.each(pods)
    for plans in sorted(_plans(snapshot, pods), key=lambda plans: sum(plan.price for plan in plans)):
        placements = {pod.metadata.key: plan.name for plan in plans for pod in plan.pods}
        if not breaches(snapshot, demand, Solution(plans, placements), FREE):
            return sum(plan.price for plan in plans)
    return None


def _plans(snapshot: Snapshot, pods: Sequence[Pod]) -> Iterator[tuple[ClaimPlan, ...]]:
    """Yield every way to share the pods out over machines, with every offering for each."""
    (view,) = snapshot.pools
    for blocks in _partitions(list(pods)):
        ways = [
            [replace(with_pods(own, *others), name=f"new-{at}") for own in own_machines(snapshot, view, first)]
            for at, (first, *others) in enumerate(blocks)
        ]
        yield from product(*ways)


def _partitions(pods: list[Pod]) -> Iterator[list[list[Pod]]]:
    if not pods:
        yield []
        return
    first, *others = pods
    for blocks in _partitions(others):
        yield [[first], *blocks]
        for at, block in enumerate(blocks):
            yield [*blocks[:at], [first, *block], *blocks[at + 1 :]]
