"""Plans against a default scheduler: what is planned, and what it costs once pods are bound where the scheduler likes.

Twice: by the solver's own trials, and up to a thousand pods by the embedded scheduler, which shares no code with them
and goes pod by pod. Half of the runs have all nodes there before the first pod, in the others they come one by one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec
from rich.table import Table

from benchmarks.inputs import Scenario
from benchmarks.races import races
from karpenter.model.core import Node, Pod
from karpenter.scheduling import Demand, Options, Solution, solve
from tests.e2e.nodes import node_of_plan
from tests.sim.scheduler.worlds import World

RACES: Final = (
    "aws-deploy50-1000",
    "aws-deploy50-10000",
    "aws-zonalspread-1000",
    "aws-zonalspread-10000",
    "aws-diverse-1000",
    "aws-diverse-10000",
)
SIMULATED_UP_TO: Final = 1000
_SEEDS: Final = range(2)


def table(inputs: Path | None) -> Table:
    """Measure everything."""
    found = Table(title="Second wave after a default scheduler bound the pods, in percent of the planned price")
    for heading in ("input", "planned $/h", "by trials", "pod by pod"):
        found.add_column(heading, justify="left" if heading == "input" else "right", no_wrap=True)
    for race, _ in races(inputs, RACES):
        found.add_row(*_row(race))
    return found


def _row(race: Scenario) -> tuple[str, ...]:
    """Return name, planned price and second waves of a race under the default policy."""
    options = Options()
    solution = solve(race.snapshot, Demand.each(race.pods), options)
    simulated = "–"
    if len(race.pods) <= SIMULATED_UP_TO:
        simulated = _percent(_second_wave(race, solution, options), solution)
    return race.name, f"{solution.price:.1f}", _percent(solution.second_wave, solution), simulated


def _percent(price: float, solution: Solution) -> str:
    return f"{100 * price / max(solution.price, 1e-9):.1f}"


def _second_wave(race: Scenario, solution: Solution, options: Options) -> float:
    """Return the mean USD per hour of machines for pods that the embedded scheduler leaves over."""
    nodes = _nodes(race, solution)
    pods = [pod for plan in solution.new_claims for pod in plan.pods]
    prices = []
    for seed in _SEEDS:
        for left in (_together(nodes, pods, seed), _in_turn(nodes, pods, seed)):
            wave = solve(race.snapshot, Demand.each(left), replace(options, rounds=0)) if left else Solution()
            prices.append(wave.price)
    return sum(prices) / len(prices)


def _nodes(race: Scenario, solution: Solution) -> list[Node]:
    views = {view.pool.key: view for view in race.snapshot.pools}
    types = {kind.name: kind for view in race.snapshot.pools for kind in view.instance_types}
    made = (node_of_plan(plan, views[plan.pool].pool, types[plan.instance_type]) for plan in solution.new_claims)
    return [msgspec.convert(node, Node, strict=False) for node in made]


def _together(nodes: Iterable[Node], pods: Sequence[Pod], seed: int) -> list[Pod]:
    world = World(*nodes, seed=seed)
    left, before = random.Random(seed).sample(pods, len(pods)), len(pods) + 1
    while len(left) < before:
        before = len(left)
        left = _unbound(world, left)
    return left


def _in_turn(nodes: Sequence[Node], pods: Sequence[Pod], seed: int) -> list[Pod]:
    dice = random.Random(seed)
    world = World(seed=seed)
    left = dice.sample(pods, len(pods))
    for node in dice.sample(nodes, len(nodes)):
        world.cache.set_node(node)
        left = _unbound(world, left)
    return left


def _unbound(world: World, pods: Sequence[Pod]) -> list[Pod]:
    bound = world.fill(pods)
    return [pod for pod in pods if bound[pod.metadata.name] is None]
