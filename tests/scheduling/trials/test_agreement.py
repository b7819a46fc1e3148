"""Trials against the embedded scheduler, which goes pod by pod and shares no code with them."""

from collections.abc import Sequence
from random import Random

import msgspec
import pytest

from karpenter.model.core import Node, Pod
from karpenter.scheduling import Demand, Options, Policy, Solution, never
from karpenter.scheduling.solver import _attempt
from karpenter.scheduling.trials import prospect
from tests.builders import a_snapshot
from tests.e2e.nodes import node_of_plan
from tests.scheduling.toys import on_demand, pods, toys
from tests.sim.scheduler.worlds import World

FULL = Options(Policy(fill=1.0, node_fee=0.0, rails=False))


def of_sizes(*sizes: tuple[str, int]) -> list[Pod]:
    return [pod for cpu, count in sizes for pod in pods(count, cpu=cpu, name=f"cpu{cpu}", owner=None)]


@pytest.mark.parametrize(
    "wanted",
    [of_sizes(("4", 6), ("2", 6), ("1", 12)), of_sizes(("5", 12), ("3", 12)), of_sizes(("1", 64))],
    ids=["three sizes", "two sizes", "one size"],
)
def test_as_many_pods_find_no_room_as_with_the_embedded_scheduler(wanted: list[Pod]) -> None:
    snapshot = a_snapshot(types=toys("c.8"), pools=[on_demand()])
    attempt = _attempt(snapshot, Demand.each(wanted), FULL, stop=never, reporter=None)
    nodes = nodes_of(attempt.solution)
    found = [left(nodes, wanted, seed, in_turn=in_turn) for seed in range(8) for in_turn in (False, True)]
    expected = prospect(attempt.work, attempt.solution, node_fee=0.0).left
    assert expected == pytest.approx(sum(found) / len(found), abs=1.0)


def nodes_of(solution: Solution) -> list[Node]:
    types = {kind.name: kind for kind in toys()}
    made = (node_of_plan(plan, on_demand(), types[plan.instance_type]) for plan in solution.new_claims)
    return [msgspec.convert(node, Node, strict=False) for node in made]


def left(nodes: Sequence[Node], wanted: Sequence[Pod], seed: int, *, in_turn: bool) -> int:
    """Return how many pods the embedded scheduler leaves without a node."""
    dice = Random(seed)
    world, waiting = World(seed=seed), dice.sample(wanted, len(wanted))
    for part in [[node] for node in dice.sample(nodes, len(nodes))] if in_turn else [nodes]:
        for node in part:
            world.cache.set_node(node)
        bound = world.fill(waiting)
        waiting = [pod for pod in waiting if bound[pod.metadata.name] is None]
    return len(waiting)
